"""The offsets of the source as JSON, in Spark's offset log and its progress reports.

`{"__consumer_offsets": {"partition": next offset}, "leader_epochs": {"partition": epoch}, "cluster_id": "id"}`.
Those of the job have no cluster, because its manifest names it.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final, Self

TOPIC: Final = "__consumer_offsets"
_EPOCHS: Final = "leader_epochs"
_CLUSTER: Final = "cluster_id"


@dataclasses.dataclass(frozen=True, slots=True)
class SourceOffsets:
    """The end of a batch: the next offset per partition, and the leader epoch whose log had so many offsets.

    A partition has no epoch if its broker reports none (before 2.1), or if an earlier version wrote the offsets.
    """

    positions: Mapping[int, int]
    epochs: Mapping[int, int] = dataclasses.field(default_factory=dict)
    cluster_id: str | None = None

    def epochs_other_than(self, current: Mapping[int, int]) -> dict[int, int]:
        """Return the epochs of partitions with another leader epoch in `current`."""
        return {each: epoch for each, epoch in self.epochs.items() if current.get(each, epoch) != epoch}

    def are_past(self, positions: Mapping[int, int]) -> bool:
        """Return whether these offsets reach all of the positions."""
        return all(self.positions.get(partition, -1) >= position for partition, position in positions.items())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document as Spark's Python sources exchange it."""
        named = {TOPIC: self.positions, **({_EPOCHS: self.epochs} if self.epochs else {})}
        texts: dict[str, Any] = {
            name: {str(key): number for key, number in sorted(some.items())} for name, some in named.items()
        }
        return texts if self.cluster_id is None else {**texts, _CLUSTER: self.cluster_id}

    @classmethod
    def of_json(cls, read: Mapping[str, Any]) -> Self:
        """Return the offsets of a JSON document. Raises ValueError, TypeError and AttributeError."""
        positions, epochs = (
            {int(partition): number for partition, number in read.get(name, {}).items()} for name in (TOPIC, _EPOCHS)
        )
        return cls(positions, epochs, read.get(_CLUSTER))

    @classmethod
    def of_text(cls, text: str | None) -> Self:
        """Return the offsets of a text; none of None or an empty text. Raises as `of_json`."""
        return cls.of_json(json.loads(text)) if text else cls({})
