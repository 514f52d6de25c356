"""The sandbox's broker is real, restarts quickly with its data, and removes temporary files."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sandbox.kafka.broker import Broker, BrokerError
from sandbox.kafka.broker_properties import properties_text
from sandbox.kafka.topics import create_topics
from sandbox.ports import accepts, free_port_pair
from sandbox.waiting import eventually

if TYPE_CHECKING:
    from tests.conftest import MakeBroker


def quiet(bootstrap: str, **more: str) -> dict[str, str]:
    """Return a client configuration without librdkafka's messages about a dead broker."""
    return {"bootstrap.servers": bootstrap, "log_level": "0", **more}


def test_given_properties_have_precedence() -> None:
    """Properties of a test replace those of the sandbox, and the listener is on loopback only."""
    text = properties_text(Path("/d"), (1, 2), {"num.io.threads": "9"})
    rows = dict(line.split("=", 1) for line in text.splitlines())
    assert rows["num.io.threads"] == "9"
    assert rows["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2"


def test_ports_are_free_and_different() -> None:
    """Both ports can have a listener at the same time."""
    one, other = free_port_pair()
    with socket.create_server(("127.0.0.1", one)), socket.create_server(("127.0.0.1", other)):
        assert accepts(one)
    assert not accepts(one)


def test_missing_class_in_the_log_is_an_error(tmp_path: Path) -> None:
    """The log of a broker is checked for missing classes: without a jar, a broker fails only when it needs the jar."""
    broker = Broker(tmp_path)
    broker.log.write_text("INFO started\nERROR java.lang.NoClassDefFoundError: org/apache/kafka/Remote\n")
    with pytest.raises(BrokerError, match=r"a jar is missing .* org/apache/kafka/Remote"):
        broker.check_log()


@pytest.mark.kafka
def test_data_and_address_survive_stop_and_kill(make_broker: MakeBroker) -> None:
    """Records, committed offsets and the address are the same after a stop and after a kill."""
    broker = make_broker()
    address = broker.bootstrap
    create_topics(address, {"kept": 1})
    producer = Producer(quiet(address, acks="all"))
    producer.produce("kept", b"one")
    assert producer.flush(30) == 0
    consumer = Consumer(quiet(address, **{"group.id": "keeper"}))
    kept = TopicPartition("kept", 0, 1)
    eventually(lambda: consumer.commit(offsets=[kept], asynchronous=False))

    for end in (broker.stop, broker.kill):
        end()
        assert not broker.running
        assert not accepts(broker.port)
        broker.start()
        assert broker.bootstrap == address
        assert eventually(lambda: consumer.get_watermark_offsets(kept, timeout=30)) == (0, 1)
        assert eventually(lambda: consumer.committed([kept], timeout=30))[0].offset == 1
    consumer.close()


@pytest.mark.kafka
def test_paused_broker_answers_when_resumed(make_broker: MakeBroker) -> None:
    """A paused broker runs without answers. A resumed broker answers pending requests."""
    broker = make_broker(offsets_partitions=7)
    admin = AdminClient(quiet(broker.bootstrap))
    assert admin.list_topics(timeout=30).brokers
    broker.pause()
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=0.3)
    assert broker.running
    broker.resume()
    assert admin.list_topics(timeout=30).brokers


@pytest.mark.kafka
def test_offsets_topic_has_the_given_number_of_partitions(make_broker: MakeBroker) -> None:
    """The offsets topic is created when a group needs it, with the given number of partitions."""
    broker = make_broker(offsets_partitions=7)
    admin = AdminClient(quiet(broker.bootstrap))
    assert "__consumer_offsets" not in admin.list_topics(timeout=30).topics
    consumer = Consumer(quiet(broker.bootstrap, **{"group.id": "first"}))
    eventually(lambda: consumer.committed([TopicPartition("nowhere", 0)], timeout=30))
    consumer.close()
    assert len(admin.list_topics(timeout=30).topics["__consumer_offsets"].partitions) == 7


@pytest.mark.kafka
def test_temporary_folder_is_removed_and_given_folder_stays(make_broker: MakeBroker, tmp_path: Path) -> None:
    """A temporary folder is removed on close; a folder of the caller keeps data and log."""
    temporary = make_broker()
    temporary.close()
    assert not temporary.folder.exists()
    given = make_broker(folder=tmp_path / "given")
    given.close()
    assert (tmp_path / "given" / "data" / "meta.properties").exists()
    assert given.log.exists()


@pytest.mark.kafka
def test_broker_that_cannot_start_shows_its_log(make_broker: MakeBroker) -> None:
    """An invalid property gives one error that quotes the broker's log."""
    with pytest.raises(BrokerError, match=r"num\.io\.threads"):
        make_broker(properties={"num.io.threads": "none"})
