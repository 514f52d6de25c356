"""A monitor with exactly the ACLs of `lagwarden acls`, and groups that have stopped before transaction markers."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import TopicPartition

from exporters.page.verdict_section import group_commands
from sandbox.kafka.broker import create_topics
from sandbox.kafka.tools import CONSUMER_GROUPS, ToolError, run_tool, table_rows
from stream.cli.acls import acl_commands
from stream.cluster.transport.client import Cluster
from stream.config.kafka_login import login_from_options
from stream.config.loader import load
from stream.config.options import Config
from stream.health.verdict import SEVERITY, Severity, Verdict
from stream.service.wiring import page_links
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.verdicts.columns import unreadable_tails
from tests.integration.failures.secured_broker import PLAIN_LOGIN, SecuredBroker, login
from tests.integration.ticks import Monitor, write
from tests.integration.traffic import commit, consumer, join_and_commit, make_topic
from tests.support.processes import LIMIT, patience
from tests.support.producers import patient_producer

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(patience(300))]

_ACLS: Final = "org.apache.kafka.tools.AclCommand"
_USER: Final = "lagwarden"
_PASSWORD: Final = "lagwarden-secret"  # noqa: S105 -- of a test user


def script(broker: SecuredBroker) -> list[str]:
    """Return the lines of the script that `lagwarden acls` prints."""
    return acl_commands(f"User:{_USER}", broker.bootstrap)


def grant(command: str) -> None:
    """Run one line of the script with Kafka's own tool."""
    run_tool(_ACLS, *shlex.split(command)[1:])


@pytest.fixture
def broker() -> Iterator[SecuredBroker]:
    """Start a broker with two topics, run the script, and begin no transaction."""
    with SecuredBroker({_USER: _PASSWORD}) as started:
        create_topics(started.bootstrap, {"marked": 1})
        make_topic(started.bootstrap, "plain", 1)
        commit(started.bootstrap, "first", "plain", {0: 0})
        for line in script(started):
            if not line.startswith("#"):
                grant(line)
        yield started


def with_login(broker: SecuredBroker) -> Config:
    """Return the configuration of a monitor that logs in."""
    return load(flags={"kafka.bootstrap_servers": broker.sasl, **login(_USER, _PASSWORD)})


@pytest.fixture
def monitor(broker: SecuredBroker) -> Iterator[Monitor]:
    """Start a monitor that logs in, with a clock that only its ticks move."""
    kafka = with_login(broker).kafka
    with Cluster(kafka.bootstrap_servers, login_from_options(kafka)) as cluster:
        cluster.connect(LIMIT)
        made = Monitor(cluster)
        made.lookups = LookupScheduler(cluster, clock=lambda: made.now)
        yield made


@pytest.mark.long
def test_the_commands_on_the_page_of_a_group_log_in(
    broker: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's tool accepts the commands with their properties file, and cannot connect without it."""
    links = page_links(with_login(broker))
    assert links.command_config is not None
    jaas = f'{PLAIN_LOGIN} username="{_USER}" password="{_PASSWORD}";'
    lines = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", f"sasl.jaas.config={jaas}")
    (tmp_path / links.command_config).write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    row = {"group": "first", "kind": "classic"}
    _, describe, reset = (
        shlex.split(command)[1:] for _, command in group_commands(row, links.bootstrap_servers, links.command_config)
    )
    for words in (describe, reset):
        assert [row["TOPIC"] for row in table_rows(run_tool(CONSUMER_GROUPS, *words))] == ["plain"]
    _, without_login, _ = (shlex.split(command)[1:] for _, command in group_commands(row, links.bootstrap_servers))
    with pytest.raises(ToolError):
        run_tool(CONSUMER_GROUPS, *without_login)


def test_stopped_group_is_found_without_the_right_if_no_transaction_exists(
    broker: SecuredBroker, monitor: Monitor
) -> None:
    """All unread offsets are records if there is no `__transaction_state`."""
    for offset in range(6):
        commit(broker.bootstrap, "halts", "plain", {0: offset})
    for _ in range(12):
        monitor.tick()
    assert (monitor.lag("halts", "plain"), monitor.verdict("halts", "plain")) == (5, Verdict.STOPPED)


def test_group_before_a_marker_is_unknown_until_the_right_to_read_is_granted(
    broker: SecuredBroker, monitor: Monitor
) -> None:
    """The verdict is never critical and names the missing right. With the right the group is caught up."""
    producer = patient_producer(broker.bootstrap, "marks")
    shown: list[Verdict] = []

    def tick() -> Verdict:
        monitor.tick()
        shown.append(monitor.verdict("rests", "marked"))
        return shown[-1]

    with consumer(broker.bootstrap, "rests", isolation_level="read_committed") as member:
        join_and_commit(member, "marked", {0: 0})
        for _ in range(5):
            write(producer, "marked", 3)
            producer.commit_transaction(LIMIT)
            last = max(record.offset() for record in member.consume(3, LIMIT))
            member.commit(offsets=[TopicPartition("marked", 0, last + 1)], asynchronous=False)
        for _ in range(12):
            tick()
        assert (monitor.lag("rests", "marked"), shown[-1]) == (1, Verdict.UNKNOWN)
        finding = monitor.result.row_finding(monitor.row("rests", "marked"))
        assert "no right to Read topic marked" in finding.sentence
        assert "Grant Read on topic marked" in finding.next_step
        counted = unreadable_tails(monitor.result.window.inputs.tails).to_pylist()
        assert counted == [{"reason": "not_authorized", "partitions": 2}]

        (reading,) = (line for line in script(broker) if "TRANSACTIONAL_TOPIC" in line)
        grant(reading.removeprefix("# ").replace("TRANSACTIONAL_TOPIC", "marked"))
        for _ in range(70):
            if tick() is Verdict.CAUGHT_UP:
                break
        assert (monitor.lag("rests", "marked"), shown[-1]) == (0, Verdict.CAUGHT_UP)
    assert {SEVERITY[verdict] for verdict in shown} <= {Severity.FINE, Severity.UNKNOWN}
