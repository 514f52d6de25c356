"""The output of the official dump tool for index and state files; `decoders.log.dump.output` calls it.

Each function yields the items of standard output and appends the lines of standard error to `complaints`. As in the
tool, an index is compared with its segment.

Source: org.apache.kafka.tools.DumpLogSegments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoders.log.dump.items import DumpItem
from decoders.log.errors import Damaged, LogError
from decoders.log.index import OffsetIndex, TimeIndex, read_aborted
from decoders.log.segment import Segment
from decoders.log.state_files import read_producer_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from decoders.log.frames import LogBatch

_MAX_SEQUENCE = 0x7FFFFFFF


def dump_offset_index(path: Path, complaints: list[str], *, only_sanity: bool, only_verify: bool) -> Iterator[DumpItem]:
    """Dump an `.index` and report entries that are not the last offset of their batch."""
    index = OffsetIndex.read(path, _base_offset(path))
    if not index.raw:
        yield DumpItem("empty_index", {"path": str(path)})
        return
    if only_sanity:
        yield from _sanity_result(path, index.fault(), complaints)
        return
    _add_rest_fault(index, complaints)
    mismatches: dict[int, int] = {}
    with _segment_of(path) as segment:
        for entry in index.entries:
            batch = _first_batch(segment, entry.position)
            if batch is None:
                complaints.append(f"No batch at position {entry.position} of {segment.path}")
            elif batch.last_offset != entry.offset:
                mismatches[entry.offset] = batch.last_offset
            if not only_verify:
                yield DumpItem("offset_index_entry", {"offset": entry.offset, "position": entry.position})
    if mismatches:
        complaints.append(f"Mismatches in :{path.absolute()}")
        complaints += [
            f"  Index offset: {indexed}, log offset: {mismatches[indexed]}"
            for indexed in sorted(mismatches, reverse=True)
        ]


def dump_time_index(path: Path, complaints: list[str], *, only_sanity: bool, only_verify: bool) -> Iterator[DumpItem]:
    """Dump a `.timeindex` and report entries with no batch or with another largest timestamp."""
    index = TimeIndex.read(path, _base_offset(path))
    if only_sanity:
        yield from _sanity_result(path, index.fault(), complaints)
        return
    _add_rest_fault(index, complaints)
    offsets = OffsetIndex.read(path.with_suffix(".index"), index.base_offset)
    wrong: list[str] = []
    missing: list[str] = []
    with _segment_of(path) as segment:
        for entry in index.entries:
            batch = _batch_ending_from(segment, offsets.position_before(entry.offset), entry.offset)
            if batch is None or batch.last_offset != entry.offset:
                found = -1 if batch is None else batch.last_offset
                missing.append(f"Indexed offset: {entry.offset}, found log offset: {found}")
            elif (largest := _largest_timestamp(batch)) != entry.timestamp:
                wrong.append(f"  Index timestamp: {entry.timestamp}, log timestamp: {largest}")
            if not only_verify:
                yield DumpItem("time_index_entry", {"timestamp": entry.timestamp, "offset": entry.offset})
    if wrong:
        complaints += [f"Found timestamp mismatch in :{path.absolute()}", *wrong]
    if missing:
        complaints += ["The following indexed offsets are not found in the log.", *missing]


def dump_aborted(path: Path, complaints: list[str]) -> Iterator[DumpItem]:
    """Dump a `.txnindex`."""
    entries, fault = read_aborted(path)
    for entry in entries:
        fields = {
            "version": entry.version,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        yield DumpItem("aborted_transaction", fields)
    if fault:
        complaints.append(str(fault))


def dump_producers(path: Path, complaints: list[str]) -> Iterator[DumpItem]:
    """Dump a producer `.snapshot`."""
    entries = read_producer_snapshot(path)
    if isinstance(entries, LogError):
        complaints.append(str(entries))
        return
    for entry in entries:
        first_offset = entry.current_transaction_first_offset
        fields = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": None if first_offset < 0 else first_offset,
            "lastTimestamp": entry.timestamp,
        }
        if entry.last_offset >= 0:
            fields |= {
                "firstSequence": _sequence_before(entry.last_sequence, entry.offset_delta),
                "lastSequence": entry.last_sequence,
                "lastOffset": entry.last_offset,
                "offsetDelta": entry.offset_delta,
                "timestamp": entry.timestamp,
            }
        yield DumpItem("producer", fields)


def _base_offset(path: Path) -> int:
    return int(path.name.partition(".")[0])


def _segment_of(path: Path) -> Segment:
    return Segment(path.with_suffix(".log"), _base_offset(path))


def _add_rest_fault(index: OffsetIndex | TimeIndex, complaints: list[str]) -> None:
    """Report what follows the valid entries; the tool stops there and says nothing."""
    if fault := index.rest_fault():
        complaints.append(str(fault))


def _sanity_result(path: Path, fault: LogError | None, complaints: list[str]) -> Iterator[DumpItem]:
    if fault is None:
        yield DumpItem("sane_index", {"path": str(path)})
    else:
        complaints.append(str(fault))


def _first_batch(segment: Segment, position: int) -> LogBatch | None:
    return next(iter(segment.batches(position, verify=False)), None)


def _batch_ending_from(segment: Segment, position: int, offset: int) -> LogBatch | None:
    return next((batch for batch in segment.batches(position, verify=False) if batch.last_offset >= offset), None)


def _largest_timestamp(batch: LogBatch) -> int:
    try:
        return max((record.timestamp for record in batch.records()), default=-1)
    except Damaged:
        return -1


def _sequence_before(sequence: int, steps: int) -> int:
    return sequence - steps if sequence >= steps else _MAX_SEQUENCE - (steps - sequence) + 1
