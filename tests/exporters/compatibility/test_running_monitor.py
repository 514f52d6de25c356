"""The values under the names of the other exporters at a running monitor, on a broker with groups of several kinds.

They are compared with what each exporter's rules make of the brokers' own answers at the same time; programs of the
exporters are not needed for it (`exporter_rules`).
"""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from bench.kminion import binary
from exporters.compatibility.migration_pages import generated
from exporters.compatibility.peers import PEER_BY_NAME
from sandbox.kafka.broker import Broker
from sandbox.waiting import wait_until
from tests.exporters.compatibility import exporter_rules
from tests.exporters.compatibility.exporter_programs import BY_ADMIN_API, VARIABLES, running_exporter
from tests.exporters.compatibility.exporter_rules import ClusterAnswers, DescribedGroup, read_answers
from tests.exporters.compatibility.peer_world import NAMES
from tests.exporters.compatibility.running_world import DELETED, PeerWorld
from tests.exporters.exposition_text import Series, parsed
from tests.integration.traffic import offsets_ends
from tests.support.monitor import Monitor

pytestmark = [pytest.mark.chart, pytest.mark.long, pytest.mark.timeout(900)]

CLUSTER: Final = "my-cluster"
"""The cluster that the rule of kafka-lag-exporter names."""
SETTINGS: Final = {
    "metrics.compatibility": ",".join(NAMES),
    "metrics.compatibility_cluster": CLUSTER,
    "cluster.interval": "5s",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """The broker with its groups, and the monitor, both running."""

    broker: Broker
    world: PeerWorld
    monitor: Monitor


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    broker = Broker(properties={"broker.rack": "europe-west1-b"})
    folder = tmp_path_factory.mktemp("running")
    with broker, PeerWorld(broker.bootstrap) as world, Monitor(broker.bootstrap, folder, SETTINGS) as monitor:
        yield Running(broker, world, monitor.wait_ready())


class Excuse(NamedTuple):
    """A difference that the migration page names with these words: the metrics, and which series of them differ."""

    peer: str
    metrics: str
    words: str
    applies: Callable[[ClusterAnswers, Mapping[str, str]], bool]


def _topic(labels: Mapping[str, str]) -> str:
    return labels.get("topic", labels.get("topic_name", ""))


def _place(labels: Mapping[str, str]) -> tuple[str, int]:
    return _topic(labels), int(labels.get("partition", labels.get("partition_id", "")))


def _group(answers: ClusterAnswers, labels: Mapping[str, str]) -> DescribedGroup:
    names = ("group", "consumergroup", "consumer_group", "group_id")
    return answers.groups[next(labels[name] for name in names if name in labels)]


def _is_unread(answers: ClusterAnswers, labels: Mapping[str, str]) -> bool:
    return _place(labels) not in answers.read


def _is_not_read_whole(answers: ClusterAnswers, labels: Mapping[str, str]) -> bool:
    topic = _topic(labels)
    return any((topic, number) not in answers.read for number in answers.topics[topic])


def _has_no_commit(answers: ClusterAnswers, labels: Mapping[str, str]) -> bool:
    return _place(labels) not in _group(answers, labels).commits


def _has_unowned(answers: ClusterAnswers, labels: Mapping[str, str]) -> bool:
    group = _group(answers, labels)
    owned = {place for member in group.members for place in member.owned}
    unowned = set(group.commits) - owned if owned else set()
    return any(labels.get("topic", topic) == topic for topic, _ in unowned)


def _is_modern(answers: ClusterAnswers, labels: Mapping[str, str]) -> bool:
    return _group(answers, labels).is_modern


_READ_ONLY: Final = "Only partitions that a group reads."
_KMINION: Final = "kminion_kafka_consumer_group"
_LAG_EXPORTER: Final = "kafka_consumergroup_group"
_ZERO: Final = "writes 0 for partitions of the topic without a commit"
EXCUSES: Final = (
    Excuse("kafka_exporter", r"kafka_topic_partition_(current|oldest)_offset", _READ_ONLY, _is_unread),
    Excuse("kafka_exporter", "kafka_consumergroup_members", "writes 0 for groups of the new protocol", _is_modern),
    Excuse(
        "kafka_lag_exporter",
        rf"{_LAG_EXPORTER}_(offset|lag|max_lag|sum_lag|topic_sum_lag)",
        "With partitions that no member owns, which kafka-lag-exporter leaves out",
        _has_unowned,
    ),
    Excuse(
        "kafka_lag_exporter",
        rf"{_LAG_EXPORTER}_(offset|lag)",
        "Groups of the new protocol (KIP-848) have their members here",
        _is_modern,
    ),
    Excuse("kminion", r"kminion_kafka_topic_partition_(high|low)_water_mark", _READ_ONLY, _is_unread),
    Excuse(
        "kminion",
        r"kminion_kafka_topic_(high|low)_water_mark_sum",
        "Only topics of which groups read all partitions.",
        _is_not_read_whole,
    ),
    Excuse(
        "kminion",
        "kminion_kafka_topic_info",
        "Empty for a topic that no group reads",
        lambda answers, labels: _topic(labels) not in {topic for topic, _ in answers.read},
    ),
    Excuse(
        "kminion",
        rf"{_KMINION}_(info|members|empty_members|topic_members|topic_assigned_partitions)",
        "KMinion has no series for groups of the new protocol (KIP-848).",
        _is_modern,
    ),
    Excuse("burrow_exporter", "kafka_burrow_topic_partition_offset", _READ_ONLY, _is_unread),
    Excuse(
        "burrow_exporter", "kafka_burrow_partition_(lag|current_offset)", f"burrow_exporter {_ZERO}", _has_no_commit
    ),
    Excuse("burrow_exporter", "kafka_burrow_partition_max_offset", "writes 0 with version 3", lambda *_: True),
    Excuse("burrow", "burrow_kafka_consumer_partition_lag", f"Burrow {_ZERO}", _has_no_commit),
    Excuse("burrow", "burrow_kafka_topic_partition_offset", _READ_ONLY, _is_unread),
)


def differences(peer: str, wanted: Series, shown: Series, answers: ClusterAnswers) -> tuple[list[str], set[Excuse]]:
    """Return the differing series that no excuse is about, as text, and the excuses that were needed."""
    found, used = [], set()
    for key in sorted(wanted.keys() | shown.keys(), key=str):
        if wanted.get(key) != shown.get(key):
            name, labels = key[0], dict(key[1])
            excuses = {
                each
                for each in EXCUSES
                if each.peer == peer and re.fullmatch(each.metrics, name) and each.applies(answers, labels)
            }
            used |= excuses
            if not excuses:
                found.append(f"{name}{labels}: the exporter {wanted.get(key)}, lagwarden {shown.get(key)}")
    return found, used


def test_each_difference_is_on_the_migration_page() -> None:
    """The migration page of an exporter has the words of each excused difference."""
    assert [each.words for each in EXCUSES if each.words not in generated(PEER_BY_NAME[each.peer])] == []


UNKNOWN_LABELS: Final = {"cluster_version", "controller_id", "coordinator_id", "is_controller"}
"""Labels that lagwarden does not know, or that mean something else with KRaft (docs/migration/kminion.md)."""


NOT_COMPARED: Final = {
    "kafka_exporter": set(),
    "kafka_lag_exporter": {"kafka_consumergroup_group_lag_seconds", "kafka_consumergroup_group_max_lag_seconds"},
    "kminion": {"kminion_kafka_consumer_group_offset_commits_total"},
    "burrow_exporter": {"kafka_burrow_partition_status", "kafka_burrow_status"},
    "burrow": {
        "burrow_kafka_consumer_status",
        "burrow_kafka_consumer_current_offset",
        "burrow_kafka_topic_partition_status",
    },
}
"""Metrics for which `exporter_rules` has no rule."""


def wanted_series(peer: str, answers: ClusterAnswers) -> Series:
    """Return the series of an exporter by its rules."""
    if peer in {"kafka_exporter", "kminion"}:
        return getattr(exporter_rules, peer)(answers)  # type: ignore[no-any-return]
    return getattr(exporter_rules, peer)(answers, CLUSTER)  # type: ignore[no-any-return]


def shown_series(peer: str, text: str, names: set[str]) -> Series:
    """Return lagwarden's series under the names of an exporter, without the labels that it does not know."""
    own = {metric.name for metric in PEER_BY_NAME[peer].metrics} & names
    return {
        (name, frozenset((key, value) for key, value in labels if key not in UNKNOWN_LABELS)): value
        for (name, labels), value in parsed(text).items()
        if name in own
    }


def test_values_are_those_of_the_exporters_rules(running: Running) -> None:
    """Every series has the value of the exporter's rules, except the differences on its page, each of which occurs."""
    running.world.move()
    running.monitor.wait_ticks(3)
    running.world.stand_still()
    running.monitor.wait_read(offsets_ends(running.broker.bootstrap))
    answers = read_answers(running.broker.bootstrap, running.broker.data)
    assert DELETED not in answers.groups

    def compare() -> tuple[list[str], set[Excuse]]:
        text = running.monitor.get("/metrics").text
        found, used = [], set()
        for peer in NAMES:
            wanted = wanted_series(peer, answers)
            names = {name for name, _ in wanted}
            assert {metric.name for metric in PEER_BY_NAME[peer].metrics} - names == NOT_COMPARED[peer]
            shown = shown_series(peer, text, names)
            of_peer = differences(peer, wanted, shown, answers)
            found += of_peer[0]
            used |= of_peer[1]
        return found, used

    # The facts about the cluster follow with the next poll.
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not compare()[0], "the same series", limit=20, pause=1)
    found, used = compare()
    assert not found, "\n".join(found)
    assert [each for each in EXCUSES if each not in used] == []


@pytest.mark.parametrize("peer", BY_ADMIN_API)
def test_the_rules_are_those_of_the_program(peer: str, running: Running, tmp_path: Path) -> None:
    """The program of an exporter has exactly the series that its rules compute from the brokers' answers."""
    program = binary(VARIABLES[peer])
    if program is None:
        pytest.skip(f"{VARIABLES[peer]} is not set")
    running.world.stand_still()
    wanted = wanted_series(peer, read_answers(running.broker.bootstrap, running.broker.data))
    names = {name for name, _ in wanted}
    with running_exporter(peer, program, running.broker.bootstrap, tmp_path) as exporter:

        def different() -> list[str]:
            shown = shown_series(peer, exporter.metrics(), names)
            keys = sorted(wanted.keys() | shown.keys(), key=str)
            return [f"{key}: {wanted.get(key)}, {shown.get(key)}" for key in keys if wanted.get(key) != shown.get(key)]

        with contextlib.suppress(TimeoutError):
            wait_until(lambda: not different(), "the same series", limit=60, pause=1)
        found = different()
    assert not found, "\n".join(found)
