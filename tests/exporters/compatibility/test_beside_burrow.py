"""The programs of Burrow and burrow_exporter as references: the same groups on one real broker, the same responses.

The tests need the binaries of both, see `exporter_programs.VARIABLES`. What lagwarden shows otherwise on purpose is on
the migration pages.
"""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from bench.kminion import binary
from bench.service import get
from exporters.compatibility.peers import PEER_BY_NAME
from sandbox.kafka.broker import Broker
from sandbox.waiting import wait_until
from tests.exporters.compatibility import exporter_rules
from tests.exporters.compatibility.exporter_programs import (
    VARIABLES,
    RunningExporter,
    running_burrow,
    running_burrow_exporter,
)
from tests.exporters.compatibility.exporter_rules import INTERNAL, read_answers
from tests.exporters.compatibility.running_world import MODERN, MOVING, REWINDING, STORED, PeerWorld
from tests.exporters.exposition_text import Series, parsed
from tests.integration.traffic import offsets_ends
from tests.support.monitor import Monitor

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

CLUSTER: Final = "my-cluster"
SETTINGS: Final = {"metrics.compatibility": "burrow,burrow_exporter", "metrics.compatibility_cluster": CLUSTER}
TICKS: Final = 15
"""Enough for windows of ten commits, at most one of each second."""
OWN_GROUP: Final = f"burrow-{CLUSTER}"
"""A group that exists only in Burrow: its own progress in the offsets topic."""
GROUPS: Final = sorted(STORED | {MOVING, MODERN, "left"})
PATHS: Final = (
    "",
    *(f"/{CLUSTER}{path}" for path in ("", "/nothing", "/topic", "/topic/orders", "/topic/nothing", "/consumer")),
    *(f"/{CLUSTER}/topic/{topic}/consumers" for topic in ("orders", "nothing")),
    *(f"/{CLUSTER}/consumer/nothing{path}" for path in ("", "/status", "/lag")),
    *(f"/other{path}" for path in ("", "/topic", "/topic/orders", "/topic/orders/consumers", "/consumer")),
    *(f"/other/consumer/{MOVING}{path}" for path in ("", "/status")),
)
"""The paths below /v3/kafka that are not about one group, and those of what does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class Beside:
    """Burrow and a monitor that have read the same groups."""

    broker: Broker
    monitor: Monitor
    burrow: RunningExporter


def program(exporter: str) -> Path:
    """Return the path of a binary; skip the test without one."""
    found = binary(VARIABLES[exporter])
    if found is None:
        pytest.skip(f"{VARIABLES[exporter]} is not set")
    return found


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """Yield Burrow and a monitor beside groups that have committed for some seconds and stand still."""
    burrow_program = program("burrow")
    folder = tmp_path_factory.mktemp("beside")
    with (
        Broker() as broker,
        PeerWorld(broker.bootstrap) as world,
        Monitor(broker.bootstrap, folder, SETTINGS) as monitor,
        running_burrow(burrow_program, broker.bootstrap, CLUSTER, folder) as burrow,
    ):
        monitor.wait_ready()
        wait_until(lambda: MOVING in burrow.metrics(), "Burrow to read the offsets topic")
        world.move()
        monitor.wait_ticks(TICKS)
        world.stand_still()
        monitor.wait_read(offsets_ends(broker.bootstrap))
        yield Beside(broker, monitor, burrow)


def response(port: int, path: str) -> tuple[int, Any]:
    """Return status and JSON of a response."""
    status, body = get(port, path)
    return status, json.loads(body)


def without_own(body: dict[str, Any]) -> dict[str, Any]:
    """Return a response about the cluster with sorted lists, without Burrow's own group and topics that none reads."""
    if "topics" in body:
        read = {"orders", "payments", "shop-activity", "trimmed"}
        body["topics"] = sorted(read.intersection(body["topics"]))
    if "consumers" in body:
        body["consumers"] = sorted(set(body["consumers"]) - {OWN_GROUP})
    if "module" in body:
        for name in ("client-profile", "topic-refresh"):
            del body["module"][name]
    return body


@pytest.mark.parametrize("path", ["/v3/nothing", *(f"/v3/kafka{path}" for path in PATHS)])
def test_responses_about_the_cluster_are_those_of_burrow(beside: Beside, path: str) -> None:
    """Status code and body are equal. Lists in Burrow have no order; it also lists topics that no group reads."""
    (status, body), (own_status, own_body) = (response(each.port, path) for each in (beside.burrow, beside.monitor))
    assert (own_status, without_own(own_body)) == (status, without_own(body))


def comparable(group: str, value: Any) -> Any:
    """Return a response about a group without what differs on purpose.

    Burrow has the time at which it read a commit. Of commits within a second, it keeps the time of the first one;
    lagwarden has the last commit of each tick. So of two and more commits, only the last offset is compared.
    """
    if isinstance(value, list):
        return [comparable(group, each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: comparable(group, each) for name, each in value.items() if name not in {"request", "observedAt"}}
    if "offsets" in found:
        commits = [each for each in found["offsets"] if each is not None]
        # Burrow keeps the window of a partition that once had an owner.
        found["offsets"] = commits if len(commits) < 2 else [len(commits), commits[-1]["offset"]]
    if "start" in found:
        if found["end"] is None:
            # Burrow counts one commit where it has an owner and no commit.
            found["complete"] = 0
        elif found["start"] != found["end"]:
            found |= {"start": "", "end": found["end"]["offset"]}
    if "owner" in found and group == MODERN:
        # Burrow does not read the members of the new protocol.
        found |= {"owner": "", "client_id": ""}
    if "partitions" in found:
        found["partitions"].sort(key=lambda each: (each["topic"], each["partition"]))
    return found


def equal_in_the_end(own: Callable[[], Any], reference: Callable[[], Any]) -> None:
    """Compare two values until they are equal: both programs follow with a delay of seconds."""
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: own() == reference(), "the same values", limit=60, pause=1)
    assert own() == reference()


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("path", ["", "/status", "/lag"])
def test_responses_about_a_group_are_those_of_burrow(beside: Beside, group: str, path: str) -> None:
    """Windows, lags, owners and statuses of every partition are equal, and the status of the group."""

    def shown(port: int) -> Any:
        status, body = response(port, f"/v3/kafka/{CLUSTER}/consumer/{group}{path}")
        return status, comparable(group, body)

    equal_in_the_end(lambda: shown(beside.monitor.port), lambda: shown(beside.burrow.port))


def test_the_groups_have_windows_of_every_kind(beside: Beside) -> None:
    """The comparison is about a full window, a window of one commit, a partition without one, and several statuses."""
    bodies = [response(beside.burrow.port, f"/v3/kafka/{CLUSTER}/consumer/{group}/lag")[1] for group in GROUPS]
    partitions = [each for body in bodies for each in body["status"]["partitions"]]
    assert {each["complete"] for each in partitions if each["end"]} == {0.1, 1}
    assert any(each["end"] is None for each in partitions)
    assert {"OK", "STOP"} <= {each["status"] for each in partitions}
    assert {body["status"]["group"] for body in bodies} >= {MOVING, REWINDING}


def of_read_topics(found: Series) -> Series:
    """Return the series without those of topics that no group reads, and of Burrow's own group."""
    ignored = {("topic", topic) for topic in (*INTERNAL, "unread")}
    ignored |= {(label, OWN_GROUP) for label in ("group", "consumer_group")}
    return {(name, labels): value for (name, labels), value in found.items() if not labels & ignored}


def series(text: str, peer: str) -> Series:
    """Return the series of a scrape under an exporter's names."""
    own = {metric.name for metric in PEER_BY_NAME[peer].metrics}
    return {key: value for key, value in of_read_topics(parsed(text)).items() if key[0] in own}


@pytest.mark.parametrize("peer", ["burrow", "burrow_exporter"])
def test_the_rules_are_those_of_the_program(peer: str, beside: Beside, tmp_path: Path) -> None:
    """Each program has exactly the series that its rules compute from the brokers' answers."""
    answers = read_answers(beside.broker.bootstrap, beside.broker.data)
    wanted = of_read_topics(getattr(exporter_rules, peer)(answers, CLUSTER))
    names = {name for name, _ in wanted}
    with contextlib.ExitStack() as stack:
        shown = beside.burrow
        if peer == "burrow_exporter":
            shown = stack.enter_context(running_burrow_exporter(program(peer), beside.burrow.port, tmp_path))
        equal_in_the_end(
            lambda: {key: value for key, value in series(shown.metrics(), peer).items() if key[0] in names},
            lambda: wanted,
        )


def test_statuses_in_the_metrics_are_those_of_burrow(beside: Beside) -> None:
    """Burrow's own metrics of statuses, and of complete windows, have the same series with the same values."""
    names = {"burrow_kafka_consumer_status", "burrow_kafka_consumer_current_offset"}
    names.add("burrow_kafka_topic_partition_status")

    def statuses(text: str) -> Series:
        return {key: value for key, value in series(text, "burrow").items() if key[0] in names}

    equal_in_the_end(lambda: statuses(beside.monitor.get("/metrics").text), lambda: statuses(beside.burrow.metrics()))
    assert {name for name, _ in statuses(beside.burrow.metrics())} == names


def test_burrow_exporter_reads_lagwarden_as_it_reads_burrow(beside: Beside, tmp_path: Path) -> None:
    """The program has the same series at lagwarden's paths and at Burrow's, with statuses."""
    found = program("burrow_exporter")
    with (
        running_burrow_exporter(found, beside.burrow.port, tmp_path) as of_burrow,
        running_burrow_exporter(found, beside.monitor.port, tmp_path) as of_monitor,
    ):

        def shown(exporter: RunningExporter) -> Series:
            return series(exporter.metrics(), "burrow_exporter")

        wait_until(lambda: any("status" in name for name, _ in shown(of_burrow)), "the first scrape of Burrow")
        equal_in_the_end(lambda: shown(of_monitor), lambda: shown(of_burrow))
