"""A recorded run: the capture of its offsets topic, and the groups as Kafka's tools showed them after each round.

With it today's replay is compared with the whole run in a second, without a broker. The expected transitions are not
recorded: they are in the histories.
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
    from stream.offline.rows import LogRow, Origin, TopicAndPartition

ROWS: Final = "lives.avro"
SCENES: Final = "lives.json.gz"


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedRound:
    """All groups after a round: the last offset of each partition of the offsets topic, and the comparisons."""

    number: int | None
    last: dict[TopicAndPartition, int]
    topics: TopicNames
    comparisons: list[GroupComparison]


class HistoryRecorder:
    """Records a run that `replay` observes; pass `record` to the runner as its `after_comparison`."""

    def __init__(self, replay: ReplayObserver) -> None:
        self._replay = replay
        self._rounds: list[dict[str, Any]] = []

    def record(self, comparisons: Sequence[GroupComparison]) -> None:
        """Record what the tools showed, and the last offsets of the log that the replay has read."""
        replay = self._replay
        self._rounds.append(
            {
                "number": comparisons[0].number,
                "last": [[topic, partition, last] for (topic, partition), last in replay.last.items()],
                "topics": {topic_id.hex(): name for topic_id, name in replay.topics.names.items()},
                "scenes": {
                    each.history: {
                        "group": each.group,
                        "official": each.official and dataclasses.asdict(each.official),
                    }
                    for each in comparisons
                },
            }
        )

    def write(self, folder: Path, origin: Origin) -> None:
        """Write both files; existing ones are replaced."""
        rows = folder / ROWS
        rows.unlink(missing_ok=True)
        with CaptureWriter(rows, origin) as capture:
            for row in self._replay.rows:
                capture.write(row)
        # Without a time in the gzip header, the same run gives the same bytes.
        text = json.dumps(self._rounds, separators=(",", ":")).encode()
        (folder / SCENES).write_bytes(gzip.compress(text, mtime=0))


def recorded_rounds(folder: Path, histories: Sequence[GroupHistory]) -> Iterator[tuple[RecordedRound, list[LogRow]]]:
    """Return each round with the rows since the previous one, and with what these histories expect after it."""
    known = {history.name: history for history in histories}
    rows = list(CaptureFile(folder / ROWS).rows())
    previous: Mapping[TopicAndPartition, int] = {}
    for recorded in json.loads(gzip.decompress((folder / SCENES).read_bytes())):
        last = {(topic, partition): offset for topic, partition, offset in recorded["last"]}
        found = RecordedRound(
            recorded["number"],
            last,
            TopicNames({bytes.fromhex(topic_id): name for topic_id, name in recorded["topics"].items()}),
            [_comparison(known[name], recorded["number"], group) for name, group in recorded["scenes"].items()],
        )
        yield found, [row for row in rows if previous.get(row.place, -1) < row.offset <= last.get(row.place, -1)]
        previous = last


def faults(recorded: RecordedRound, observed: Mapping[str, ObservedGroup]) -> list[str]:
    """Return a line per difference between the observed groups and the recorded round."""
    return [
        f"{each.history}, {each.description}: {fault}"
        for each in recorded.comparisons
        for fault in each.faults(observed.get(each.group, ObservedGroup(None, ())))
    ]


def _comparison(history: GroupHistory, number: int | None, recorded: Mapping[str, Any]) -> GroupComparison:
    official = recorded["official"]
    return GroupComparison(
        history.name,
        recorded["group"],
        number,
        history.describe(number),
        history.found_after(number),
        None if official is None else _facts(official),
    )


def _facts(recorded: Mapping[str, Any]) -> GroupFacts:
    offsets = recorded["offsets"]
    return GroupFacts(
        **{
            **recorded,
            "members": tuple(
                MemberFacts(**{**member, "assignment": _places(member["assignment"])}) for member in recorded["members"]
            ),
            "offsets": offsets if offsets is None else tuple((tuple(place), offset) for place, offset in offsets),
        }
    )


def _places(recorded: Sequence[Sequence[Any]] | None) -> tuple[tuple[str, int], ...] | None:
    return None if recorded is None else tuple((topic, partition) for topic, partition in recorded)
