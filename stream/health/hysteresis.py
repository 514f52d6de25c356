"""From what the rules find at each tick to what is shown: a verdict must last to be believed, and to be withdrawn.

A pure state machine per row. A sick verdict is shown after its rule found the row for as many ticks in a row as the
rule asks (`Rule.confirm`), withdrawn after three ticks without any, and replaced by another sick one after two. A row
that is sick of changing faults is shown so as soon as it has been sick for one tick more than the fault of the moment
asks. Thus input that alternates never makes the shown verdict alternate. "ok" and "caught up" take turns at once.

The state packs into a few bytes per row and unpacks after a restart, so that what was shown before stays, "ok" as well
as "stopped", until the rules have seen enough to say something else.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.health.rules import RULES
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.health.columns import Codes, Flags, Ints
    from stream.health.inputs import HealthInputs

WITHDRAW: Final = 3
"""Ticks without a finding until a sick verdict is withdrawn."""
CHANGE: Final = 2
"""Ticks until one sick verdict takes the place of another, or a notice is shown or withdrawn."""
UNDECIDED: Final = -1
"""Instead of a code: the row cannot be judged at this tick, and what is shown stays."""
FORMAT: Final = 2
_UNKNOWN: Final = CODE[Verdict.UNKNOWN]

_CONFIRM: Final = np.ones(len(VERDICTS), np.int16)
for _rule in RULES:
    _CONFIRM[CODE[_rule.verdict]] = _rule.confirm
_NAME: Final = pa.dictionary(pa.int32(), pa.string())
_PACKED: Final = pa.schema(
    [
        ("group", _NAME),
        ("topic", _NAME),
        ("partition", pa.int32()),
        ("shown", _NAME),
        ("since", pa.int64()),
        ("candidate", _NAME),
        ("candidate_since", pa.int64()),
        ("candidate_ticks", pa.int16()),
        ("sick_ticks", pa.int16()),
        ("well_ticks", pa.int16()),
    ]
)


@dataclasses.dataclass(frozen=True, slots=True)
class ShownVerdicts:
    """What is shown of each row; one element per row."""

    verdict: Codes
    since: Ints
    """When the rules first found it, of the findings that led to its being shown (ms)."""
    candidate: Codes
    """What the rules found last."""
    candidate_since: Ints
    candidate_ticks: Ints
    """For how many ticks in a row."""
    sick_ticks: Ints
    """For how many ticks in a row they found anything sick, and for how many anything else."""
    well_ticks: Ints

    def __len__(self) -> int:
        return len(self.verdict)


def initial_state(rows: int, now: int) -> ShownVerdicts:
    """Give the state of rows that have never been judged."""
    # An array of its own for each column: `unpack` writes into them.
    unknown, unfound = (np.full(rows, _UNKNOWN, np.int8) for _ in range(2))
    since, since_found = (np.full(rows, now, np.int64) for _ in range(2))
    return ShownVerdicts(unknown, since, unfound, since_found, *(np.zeros(rows, np.int64) for _ in range(3)))


def advance(before: ShownVerdicts, found: Codes, now: int) -> ShownVerdicts:
    """Take in what the rules found at one tick (codes, or `UNDECIDED`)."""
    held = found == UNDECIDED
    candidate = np.where(held, before.candidate, found).astype(np.int8)
    again = candidate == before.candidate
    ticks = np.where(held, before.candidate_ticks, np.where(again, before.candidate_ticks + 1, 1))
    since = np.where(held | (again & (before.candidate_ticks > 0)), before.candidate_since, now)
    is_sick = SEVERITIES[candidate] >= Severity.WARNING
    sick = np.where(held, before.sick_ticks, np.where(is_sick, before.sick_ticks + 1, 0))
    well = np.where(held, before.well_ticks, np.where(is_sick, 0, before.well_ticks + 1))
    changes = ~held & (candidate != before.verdict) & _believed(before.verdict, candidate, ticks, sick, well)
    return ShownVerdicts(
        verdict=np.where(changes, candidate, before.verdict).astype(np.int8),
        since=np.where(changes, since, before.since),
        candidate=candidate,
        candidate_since=since,
        candidate_ticks=ticks,
        sick_ticks=sick,
        well_ticks=well,
    )


def _believed(shown: Codes, candidate: Codes, ticks: Ints, sick: Ints, well: Ints) -> Flags:
    """Tell where the candidate has lasted long enough to take the place of what is shown."""
    was, is_ = SEVERITIES[shown], SEVERITIES[candidate]
    was_sick, is_sick = was >= Severity.WARNING, is_ >= Severity.WARNING
    confirm = _CONFIRM[candidate]
    raises = is_sick & ~was_sick & ((ticks >= confirm) | (sick > confirm))
    replaces = is_sick & was_sick & (ticks >= CHANGE)
    withdraws = ~is_sick & was_sick & (well >= WITHDRAW)
    odd = (was == Severity.NOTICE) | (is_ == Severity.NOTICE) | (is_ == Severity.UNKNOWN)
    quiet = ~is_sick & ~was_sick & (~odd | (shown == _UNKNOWN) | (ticks >= CHANGE))
    believed: Flags = raises | replaces | withdraws | quiet
    return believed


def align(before: ShownVerdicts, keys_before: Ints, keys: Ints, now: int) -> ShownVerdicts:
    """Bring the state of the rows of the last tick to those of this one; rows that are new begin."""
    if len(keys) == len(keys_before) and (keys == keys_before).all():
        return before
    state = initial_state(len(keys), now)
    if not len(keys_before):
        return state
    order = np.argsort(keys_before, kind="stable")
    at = np.minimum(np.searchsorted(keys_before[order], keys), len(order) - 1)
    met = keys_before[order[at]] == keys
    old = order[at[met]]
    columns = {}
    for field in dataclasses.fields(ShownVerdicts):
        column = getattr(state, field.name).copy()
        column[met] = getattr(before, field.name)[old]
        columns[field.name] = column
    return ShownVerdicts(**columns)


def pack(state: ShownVerdicts, seen: HealthInputs) -> bytes:
    """Give the state of the rows of one moment as bytes."""

    def named(codes: Ints | Codes, names: Sequence[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))

    table = pa.table(
        [
            named(seen.group, seen.groups.names),
            named(seen.topic, seen.topics),
            pa.array(seen.partition, pa.int32()),
            named(state.verdict, VERDICTS),
            pa.array(state.since),
            named(state.candidate, VERDICTS),
            pa.array(state.candidate_since),
            *(
                pa.array(np.minimum(column, 1_000), pa.int16())
                for column in (state.candidate_ticks, state.sick_ticks, state.well_ticks)
            ),
        ],
        schema=_PACKED.with_metadata({"format": str(FORMAT)}),
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(packed: bytes, seen: HealthInputs, now: int) -> ShownVerdicts:
    """Bring packed state to the rows of a moment. Bytes of another format, or damaged ones, begin anew.

    A verdict by a name that is not known any more begins anew too.
    """
    state = initial_state(len(seen), now)
    try:
        table = pa.ipc.open_stream(packed).read_all()
    except (pa.ArrowInvalid, OSError):
        return state
    if (table.schema.metadata or {}).get(b"format") != str(FORMAT).encode() or not len(table):
        return state
    rows, at = _rows(table, seen)
    codes = {name: _numbers(table[name], VERDICTS) for name in ("shown", "candidate")}
    sound = (codes["shown"][at] >= 0) & (codes["candidate"][at] >= 0)
    rows, at = rows[sound], at[sound]
    state.verdict[rows], state.candidate[rows] = codes["shown"][at], codes["candidate"][at]
    for name in ("since", "candidate_since", "candidate_ticks", "sick_ticks", "well_ticks"):
        getattr(state, name)[rows] = table[name].to_numpy()[at]
    return state


def _rows(table: pa.Table, seen: HealthInputs) -> tuple[Ints, Ints]:
    """Find the rows of a moment that a packed table speaks of, and the place in the table of each."""
    group, topic = _numbers(table["group"], seen.groups.names), _numbers(table["topic"], seen.topics)
    there = np.flatnonzero((group >= 0) & (topic >= 0))
    width = max(len(seen.topics), 1)
    pairs, mine = np.unique(seen.group * width + seen.topic, return_inverse=True)
    theirs = group[there] * width + topic[there]
    at = np.minimum(np.searchsorted(pairs, theirs), max(len(pairs) - 1, 0))
    there, at = (column[pairs[at] == theirs] for column in (there, at)) if len(pairs) else (there[:0], at[:0])
    keys = (mine << 31) | seen.partition  # ascending, as the rows are
    wanted = (at << 31) | table["partition"].to_numpy()[there]
    rows = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    met = keys[rows] == wanted if len(keys) else np.zeros(0, np.bool_)
    return rows[met], there[met]


def _numbers(names: pa.ChunkedArray, among: Sequence[str]) -> Ints:
    """Give the place of each name among others, -1 where it is not there."""
    encoded = names.combine_chunks()
    place = {name: number for number, name in enumerate(among)}
    of_dictionary = np.array([place.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
    numbers: Ints = of_dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
    return numbers
