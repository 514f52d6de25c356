"""The sandbox's broker: real, quick to come back, and gone when it should be."""

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
    """Give a client's configuration that keeps librdkafka's complaints about a dead broker out of the output."""
    return {"bootstrap.servers": bootstrap, "log_level": "0", **more}


def test_own_properties_win() -> None:
    """A test's properties replace the sandbox's, and the listener is on loopback only."""
    text = properties_text(Path("/d"), (1, 2), {"num.io.threads": "9"})
    rows = dict(line.split("=", 1) for line in text.splitlines())
    assert rows["num.io.threads"] == "9"
    assert rows["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2"


def test_ports_are_free_and_different() -> None:
    """Both ports can be listened on at once."""
    one, other = free_port_pair()
    with socket.create_server(("127.0.0.1", one)), socket.create_server(("127.0.0.1", other)):
        assert accepts(one)
    assert not accepts(one)


def test_missing_class_in_the_log_is_an_error(tmp_path: Path) -> None:
    """A broker that lacks a jar works until it must replicate: its log is read, not only its port."""
    broker = Broker(tmp_path)
    broker.log.write_text("INFO started\nERROR java.lang.NoClassDefFoundError: org/apache/kafka/Remote\n")
    with pytest.raises(BrokerError, match=r"a jar is missing .* org/apache/kafka/Remote"):
        broker.check_log()


@pytest.mark.kafka
def test_data_and_address_survive_stop_and_kill(make_broker: MakeBroker) -> None:
    """Records and committed offsets are there again, at the same address, after a stop and after a kill."""
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
    """A paused broker is alive and silent; resumed, it answers what was asked meanwhile."""
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
def test_offsets_topic_has_the_partitions_asked_for(make_broker: MakeBroker) -> None:
    """The number of offsets partitions is the test's choice, and the topic exists only once a group needs it."""
    broker = make_broker(offsets_partitions=7)
    admin = AdminClient(quiet(broker.bootstrap))
    assert "__consumer_offsets" not in admin.list_topics(timeout=30).topics
    consumer = Consumer(quiet(broker.bootstrap, **{"group.id": "first"}))
    eventually(lambda: consumer.committed([TopicPartition("nowhere", 0)], timeout=30))
    consumer.close()
    assert len(admin.list_topics(timeout=30).topics["__consumer_offsets"].partitions) == 7


@pytest.mark.kafka
def test_own_folder_goes_and_given_folder_stays(make_broker: MakeBroker, tmp_path: Path) -> None:
    """A temporary folder is removed with its broker; a folder of the caller keeps data and log."""
    temporary = make_broker()
    temporary.close()
    assert not temporary.folder.exists()
    given = make_broker(folder=tmp_path / "mine")
    given.close()
    assert (tmp_path / "mine" / "data" / "meta.properties").exists()
    assert given.log.exists()


@pytest.mark.kafka
def test_broker_that_cannot_start_shows_its_log(make_broker: MakeBroker) -> None:
    """A faulty property ends in one error that quotes the broker's own words."""
    with pytest.raises(BrokerError, match=r"num\.io\.threads"):
        make_broker(properties={"num.io.threads": "none"})
