"""The parameters of the source of deltas, as the driver passes them to Spark's Python processes.

Nothing heavy is imported here: see `delta_source`.
"""

from __future__ import annotations

import base64
import dataclasses
import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stream.groups.placement import EVERY_GROUP, InstancePart, Placement

if TYPE_CHECKING:
    from stream.config.kafka_login import KafkaLogin
    from stream.spark.batch_plan import ReadRange


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How each process connects. `login` names the places of its secrets and contains none."""

    bootstrap_servers: tuple[str, ...]
    login: KafkaLogin
    request_timeout: float


@dataclasses.dataclass(frozen=True, slots=True)
class FoldedRanges:
    """Ranges that were folded and counted before the query started: its first batch begins with them."""

    ends: Mapping[int, int]
    """The end per partition."""
    tasks: tuple[tuple[tuple[ReadRange, ...], str], ...]
    """The ranges of each task, and the file with their deltas (`offsets_reading`)."""
    epochs: Mapping[int, int]
    """The leader epochs of the logs when they had these ends, where known."""


@dataclasses.dataclass(frozen=True, slots=True)
class TopicReading:
    """The parameters of a read of the topic, by the job or for a table.

    Spark prints and stores them, so there are no secrets among them.
    """

    access: ClusterAccess
    starts: Mapping[int, int]
    """The offset per partition from which a fresh query reads."""
    tasks: int
    """The maximum number of tasks of a micro-batch."""
    most_offsets: int
    """The maximum number of offsets of a micro-batch."""
    limit: float
    """Seconds without progress after which a task fails."""
    part: InstancePart = dataclasses.field(default=EVERY_GROUP, kw_only=True)
    """The partitions that this instance reads, also of those that are added to the topic."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReadingOptions(TopicReading):
    """The parameters of the job's source."""

    placement: Placement
    slot_ms: int
    keep_slots: int
    progress_address: tuple[str, int, str] | None
    """Host, port and token of the `ProgressReceiver` of the driver; None: no progress reports."""
    folded: FoldedRanges | None = None

    def to_text(self) -> str:
        """Return the options as text, for `of_text`. Raises TypeError if the login holds a secret itself."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def of_text(cls, text: str) -> ReadingOptions:
        """Return the options from the text that `to_text` returned; only the driver writes it."""
        read: ReadingOptions = pickle.loads(base64.b64decode(text))  # noqa: S301 -- written by the driver
        return read
