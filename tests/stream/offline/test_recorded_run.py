"""A replay of a recorded run finds what Kafka's own tools showed of each group, and the transitions of its history.

Real clients took 27 groups of every kind through joins, departures, upgrades, removals and expiry on a real broker, in
rounds; `sandbox.scenarios` of revision 4030c865 recorded it. After each round `lives.json.gz` has the last offset of
each partition, the topics, and per group what the tools showed (null: they do not know the group) and the transitions.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from stream.groups.driver_state import DriverState
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.expiry.causes import cause_of
from stream.groups.membership.memberships import SIMPLE
from stream.offline.capture import CaptureFile
from stream.offline.replay import ROWS_PER_BATCH, Replay
from stream.offline.rows import LogRow
from tests.stream.offline.captures import RECORDED

ROUNDS: Final = json.loads(gzip.decompress(RECORDED.with_name("lives.json.gz").read_bytes()))
RETENTION: Final = OffsetsRetention(60_000, 2_000, "broker")


class ContinuedReplay:
    """A replay that is continued round by round. The cause of a removal is determined when it is first seen."""

    def __init__(self, rows_at_once: int) -> None:
        self._replay = Replay()
        self._rows_at_once = rows_at_once
        self._names: dict[bytes, str] = {}
        self._causes: dict[tuple[str, int], str] = {}

    def read(self, rows: Iterable[LogRow], topics: dict[str, str]) -> dict[str, dict[str, Any]]:
        """Read rows, and return what is known of every group so far, in the form of the recording."""
        # Also of deleted topics: members may still have them assigned.
        self._names |= {bytes.fromhex(topic_id): name for topic_id, name in topics.items()}
        self._replay.read(rows, self._rows_at_once)
        state, exists = self._replay.driver_state, set(topics.values()).__contains__
        found = {}
        for name, history in state.columns().histories.items():
            for each in history.transitions:
                if each.removal is not None:
                    cause = cause_of(each.removal, RETENTION, exists)
                    self._causes.setdefault((name, each.position), cause.value)
            transitions = [
                [each.type.value, each.joined, each.left, self._causes.get((name, each.position))]
                for each in history.transitions
            ]
            known = None if history.died is not None else facts(state, name, history.state, self._names)
            found[name] = {"official": known, "transitions": transitions}
        return found


def facts(state: DriverState, group: str, shown_state: str | None, names: dict[bytes, str]) -> dict[str, Any]:
    """Return a group as the recording has it."""
    columns = state.columns()
    known = columns.memberships.get(group)
    kind = SIMPLE if known is None else known.kind
    places = zip(columns.topic.to_pylist(), columns.partition.tolist(), strict=True)
    rows = zip(columns.group.to_pylist(), places, columns.runs.spans.last_offset.tolist(), strict=True)
    return {
        # For Kafka's tools a group without a membership is a classic one.
        "kind": "classic" if kind == SIMPLE else kind,
        "state": shown_state,
        "offsets": sorted([list(place), offset] for name, place, offset in rows if name == group),
        "strategy": None if known is None else known.protocol,
        "group_epoch": None if known is None else known.group_epoch,
        "assignment_epoch": None if known is None else known.assignment_epoch,
        "members": [
            {
                "member_id": member.member_id,
                "client_id": member.client_id,
                "host": member.client_host,
                "instance_id": member.instance_id,
                # The tool for streams groups shows tasks, not the partitions that they read.
                "assignment": None
                if kind == "streams"
                else [[topic, number] for topic, numbers in member.assignment for number in numbers],
            }
            for member in state.members(group, names)
        ],
    }


def differences(found: Any, official: Any) -> Iterator[str]:
    """Yield each value that differs; a field that one side does not show (None) is no difference."""
    if isinstance(found, dict) and isinstance(official, dict):
        for name in found.keys() & official.keys():
            if None not in (found[name], official[name]):
                yield from (f"{name} {text}" for text in differences(found[name], official[name]))
    elif isinstance(found, list) and isinstance(official, list) and len(found) == len(official):
        for ours, theirs in zip(found, official, strict=True):
            yield from differences(ours, theirs)
    elif found != official:
        yield f"found {found!r}, the tool shows {official!r}"


def test_replay_of_the_recorded_run_finds_what_was_recorded() -> None:
    """Transitions are exactly the recorded ones after each round; states, members and offsets are the tool's.

    A replay by one record, by seven or at once gives every group the same history and the same facts.
    """
    rows = list(CaptureFile(RECORDED.with_name("lives.avro")).rows())
    whole, *others = (ContinuedReplay(size) for size in (ROWS_PER_BATCH, 1, 7))
    previous: dict[tuple[str, int], int] = {}
    wrong = []
    for each in ROUNDS:
        last = {(topic, partition): offset for topic, partition, offset in each["last"]}
        fresh = [row for row in rows if previous.get(row.place, -1) < row.offset <= last.get(row.place, -1)]
        found = whole.read(fresh, each["topics"])
        assert [other.read(fresh, each["topics"]) for other in others] == [found, found]
        for group, recorded in each["groups"].items():
            ours = found.get(group, {"official": None, "transitions": []})
            wrong += [
                f"round {each['round']}, {group}: {text}"
                for text in differences(ours["official"], recorded["official"])
            ]
            if ours["transitions"] != recorded["transitions"]:
                wrong.append(f"round {each['round']}, {group}: {ours['transitions']}")
        previous = last
    assert wrong == []


def test_the_recorded_run_has_every_transition_and_cause() -> None:
    """The groups have every transition, with every cause that a healthy cluster can show."""
    groups = ROUNDS[-1]["groups"].values()
    covered = {(what, cause) for group in groups for what, _, _, cause in group["transitions"]}
    without_cause = {"created", "rebalanced", "emptied", "reborn", "converted"}
    causes = {"expired", "deleted", "topic deleted"}
    assert covered == {(what, None) for what in without_cause} | {
        (end, cause) for end in ("forgotten", "dead") for cause in causes
    }
