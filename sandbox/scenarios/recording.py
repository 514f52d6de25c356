"""A play on record: its capture of the offsets topic, and beside it what the tools said in each scene.

With it the whole play can be held against the replay of today's code in a second, without a broker. What must be found
is not on record: that stands in the scenarios.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
from typing import TYPE_CHECKING, Any, Final

from sandbox.scenarios.comparison import GroupComparison, ObservedGroup
from sandbox.scenarios.official import GroupFacts, MemberFacts
from sandbox.scenarios.replay_observer import TopicNames
from stream.offline.capture import CaptureFile, CaptureWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sandbox.scenarios.history import GroupHistory
    from sandbox.scenarios.replay_observer import ReplayObserver
    from stream.offline.rows import Origin, TopicAndPartition, TopicRow

ROWS: Final = "lives.avro"
SCENES: Final = "lives.json.gz"


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedRound:
    """All groups after a round: the last offset of each partition of the offsets topic, and the scenes."""

    number: int | None
    last: dict[TopicAndPartition, int]
    topics: TopicNames
    scenes: list[GroupComparison]


class HistoryRecorder:
    """Takes down a play that `replayed` watches; give `note` to the play as its `after_look`."""

    def __init__(self, replayed: ReplayObserver) -> None:
        self._replayed = replayed
        self._looks: list[dict[str, Any]] = []

    def note(self, scenes: Sequence[GroupComparison]) -> None:
        """Take down what the tools said, and how far the log had come."""
        seen = self._replayed
        self._looks.append(
            {
                "number": scenes[0].number,
                "last": [[topic, partition, last] for (topic, partition), last in seen.last.items()],
                "topics": {topic_id.hex(): name for topic_id, name in seen.topics.names.items()},
                "scenes": {
                    scene.scenario: {
                        "group": scene.group,
                        "official": scene.official and dataclasses.asdict(scene.official),
                    }
                    for scene in scenes
                },
            }
        )

    def write(self, folder: Path, origin: Origin) -> None:
        """Write both files anew."""
        rows = folder / ROWS
        rows.unlink(missing_ok=True)
        with CaptureWriter(rows, origin) as capture:
            for row in self._replayed.rows:
                capture.write(row)
        # Without a time in its header, the same play makes the same bytes.
        text = json.dumps(self._looks, separators=(",", ":")).encode()
        (folder / SCENES).write_bytes(gzip.compress(text, mtime=0))


def recorded_rounds(folder: Path, scenarios: Sequence[GroupHistory]) -> Iterator[tuple[RecordedRound, list[TopicRow]]]:
    """Give each look with the rows that came since the one before, and the scenes as these scenarios want them."""
    known = {scenario.name: scenario for scenario in scenarios}
    rows = list(CaptureFile(folder / ROWS).rows())
    before: Mapping[TopicAndPartition, int] = {}
    for told in json.loads(gzip.decompress((folder / SCENES).read_bytes())):
        last = {(topic, partition): offset for topic, partition, offset in told["last"]}
        look = RecordedRound(
            told["number"],
            last,
            TopicNames({bytes.fromhex(topic_id): name for topic_id, name in told["topics"].items()}),
            [_scene(known[name], told["number"], of) for name, of in told["scenes"].items()],
        )
        yield look, [row for row in rows if before.get(row.place, -1) < row.offset <= last.get(row.place, -1)]
        before = last


def faults(look: RecordedRound, found: Mapping[str, ObservedGroup]) -> list[str]:
    """Say everything that is wrong with what was found of all groups at this look."""
    return [
        f"{scene.scenario}, {scene.story}: {fault}"
        for scene in look.scenes
        for fault in scene.faults(found.get(scene.group, ObservedGroup(None, ())))
    ]


def _scene(scenario: GroupHistory, number: int | None, told: Mapping[str, Any]) -> GroupComparison:
    official = told["official"]
    return GroupComparison(
        scenario.name,
        told["group"],
        number,
        scenario.story(number),
        scenario.found_after(number),
        None if official is None else _facts(official),
    )


def _facts(told: Mapping[str, Any]) -> GroupFacts:
    offsets = told["offsets"]
    return GroupFacts(
        **{
            **told,
            "members": tuple(
                MemberFacts(**{**member, "assignment": _places(member["assignment"])}) for member in told["members"]
            ),
            "offsets": offsets if offsets is None else tuple((tuple(place), offset) for place, offset in offsets),
        }
    )


def _places(told: Sequence[Sequence[Any]] | None) -> tuple[tuple[str, int], ...] | None:
    return None if told is None else tuple((topic, partition) for topic, partition in told)
