"""The verdict that is shown: a verdict of the rules must last before it is shown, and before it is withdrawn.

A pure state machine per row. A fault (severity WARNING or above) is shown after its rule has matched the row at
`Rule.confirm` ticks in a row, withdrawn after three ticks without any fault, and replaced by another fault after two. A
row with changing faults shows the current one as soon as it has had some fault for one tick more than that fault
requires. So alternating input never makes the shown verdict alternate. "ok" and "caught up" replace each other at once.

The state packs into a few bytes per row. After a restart the shown verdicts, good ones as well as faults, stay until
the rules have observed enough to decide.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.health.columns import find_keys
from stream.health.rules import RULES
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.health.columns import Codes, Flags, Ints
    from stream.health.inputs import HealthInputs

WITHDRAW: Final = 3
"""Ticks without a fault until a fault is withdrawn."""
CHANGE: Final = 2
"""Ticks until one fault replaces another, or a notice is shown or withdrawn."""
UNDECIDED: Final = -1
"""Instead of a code: the row cannot be evaluated at this tick, and the shown verdict stays."""
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
    """The shown verdicts and the state that decides the next ones; one element per row."""

    verdict: Codes
    since: Ints
    """When the rules first matched, of the ticks in a row that led to this verdict (ms)."""
    candidate: Codes
    """The last verdict of the rules."""
    candidate_since: Ints
    candidate_ticks: Ints
    """Number of ticks in a row with that verdict."""
    sick_ticks: Ints
    """Number of ticks in a row with a fault."""
    well_ticks: Ints
    """Number of ticks in a row without a fault."""

    def __len__(self) -> int:
        return len(self.verdict)


def initial_state(rows: int, now: int) -> ShownVerdicts:
    """Return the state of rows that have never been evaluated."""
    # Each column has its own array: `unpack` writes into them.
    unknown, unfound = (np.full(rows, _UNKNOWN, np.int8) for _ in range(2))
    since, since_found = (np.full(rows, now, np.int64) for _ in range(2))
    return ShownVerdicts(unknown, since, unfound, since_found, *(np.zeros(rows, np.int64) for _ in range(3)))


def advance(previous: ShownVerdicts, rule_verdict: Codes, now: int) -> ShownVerdicts:
    """Return the state after a tick with these verdicts of the rules (codes, or `UNDECIDED`)."""
    undecided = rule_verdict == UNDECIDED
    candidate = np.where(undecided, previous.candidate, rule_verdict).astype(np.int8)
    same = candidate == previous.candidate
    ticks = np.where(undecided, previous.candidate_ticks, np.where(same, previous.candidate_ticks + 1, 1))
    since = np.where(undecided | (same & (previous.candidate_ticks > 0)), previous.candidate_since, now)
    is_fault = SEVERITIES[candidate] >= Severity.WARNING
    sick = np.where(undecided, previous.sick_ticks, np.where(is_fault, previous.sick_ticks + 1, 0))
    well = np.where(undecided, previous.well_ticks, np.where(is_fault, 0, previous.well_ticks + 1))
    lasted = _has_lasted(previous.verdict, candidate, ticks, sick, well)
    changes = ~undecided & (candidate != previous.verdict) & lasted
    return ShownVerdicts(
        verdict=np.where(changes, candidate, previous.verdict).astype(np.int8),
        since=np.where(changes, since, previous.since),
        candidate=candidate,
        candidate_since=since,
        candidate_ticks=ticks,
        sick_ticks=sick,
        well_ticks=well,
    )


def _has_lasted(shown: Codes, candidate: Codes, ticks: Ints, sick: Ints, well: Ints) -> Flags:
    """Return the rows whose candidate has lasted long enough to replace the shown verdict."""
    shown_severity, severity = SEVERITIES[shown], SEVERITIES[candidate]
    was_fault, is_fault = shown_severity >= Severity.WARNING, severity >= Severity.WARNING
    confirm = _CONFIRM[candidate]
    raises = is_fault & ~was_fault & ((ticks >= confirm) | (sick > confirm))
    replaces = is_fault & was_fault & (ticks >= CHANGE)
    withdraws = ~is_fault & was_fault & (well >= WITHDRAW)
    must_last = (shown_severity == Severity.NOTICE) | (severity == Severity.NOTICE) | (severity == Severity.UNKNOWN)
    harmless = ~is_fault & ~was_fault & (~must_last | (shown == _UNKNOWN) | (ticks >= CHANGE))
    lasted: Flags = raises | replaces | withdraws | harmless
    return lasted


def align(previous: ShownVerdicts, previous_keys: Ints, keys: Ints, now: int) -> ShownVerdicts:
    """Return the state of the rows of this tick, which `keys` identify; new rows get the initial state."""
    if len(keys) == len(previous_keys) and (keys == previous_keys).all():
        return previous
    state = initial_state(len(keys), now)
    position = find_keys(previous_keys, keys)
    known = position >= 0
    columns = {}
    for field in dataclasses.fields(ShownVerdicts):
        column = getattr(state, field.name).copy()
        column[known] = getattr(previous, field.name)[position[known]]
        columns[field.name] = column
    return ShownVerdicts(**columns)


def pack(state: ShownVerdicts, inputs: HealthInputs) -> bytes:
    """Return the state of the rows of one tick as bytes: an Arrow stream, compressed with zstd."""

    def dictionary(codes: Ints | Codes, names: Sequence[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))

    table = pa.table(
        [
            dictionary(inputs.group, inputs.groups.names),
            dictionary(inputs.topic, inputs.topics),
            pa.array(inputs.partition, pa.int32()),
            dictionary(state.verdict, VERDICTS),
            pa.array(state.since),
            dictionary(state.candidate, VERDICTS),
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


def unpack(packed: bytes, inputs: HealthInputs, now: int) -> ShownVerdicts:
    """Return packed state for the rows of a tick.

    Rows that are not in it, rows with an unknown verdict name, and all rows if the bytes are damaged or of another
    format get the initial state.
    """
    state = initial_state(len(inputs), now)
    try:
        table = pa.ipc.open_stream(packed).read_all()
    except (pa.ArrowInvalid, OSError):
        return state
    if (table.schema.metadata or {}).get(b"format") != str(FORMAT).encode() or not len(table):
        return state
    rows, at = _find_rows(table, inputs)
    codes = {name: _positions(table[name], VERDICTS) for name in ("shown", "candidate")}
    is_known = (codes["shown"][at] >= 0) & (codes["candidate"][at] >= 0)
    rows, at = rows[is_known], at[is_known]
    state.verdict[rows], state.candidate[rows] = codes["shown"][at], codes["candidate"][at]
    for name in ("since", "candidate_since", "candidate_ticks", "sick_ticks", "well_ticks"):
        getattr(state, name)[rows] = table[name].to_numpy()[at]
    return state


def _find_rows(table: pa.Table, inputs: HealthInputs) -> tuple[Ints, Ints]:
    """Return the rows of a tick that are in a packed table, and the position of each in the table."""
    group, topic = _positions(table["group"], inputs.groups.names), _positions(table["topic"], inputs.topics)
    at = np.flatnonzero((group >= 0) & (topic >= 0))
    width = max(len(inputs.topics), 1)
    pairs, pair_of_row = np.unique(inputs.group * width + inputs.topic, return_inverse=True)
    packed_pairs = group[at] * width + topic[at]
    pair = np.minimum(np.searchsorted(pairs, packed_pairs), max(len(pairs) - 1, 0))
    at, pair = (column[pairs[pair] == packed_pairs] for column in (at, pair)) if len(pairs) else (at[:0], pair[:0])
    keys = (pair_of_row << 31) | inputs.partition  # ascending, as the rows are
    wanted = (pair << 31) | table["partition"].to_numpy()[at]
    rows = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found = keys[rows] == wanted if len(keys) else np.zeros(0, np.bool_)
    return rows[found], at[found]


def _positions(names: pa.ChunkedArray, among: Sequence[str]) -> Ints:
    """Return the position of each name among others, -1 where it is not there."""
    encoded = names.combine_chunks()
    position = {name: number for number, name in enumerate(among)}
    of_dictionary = np.array([position.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
    positions: Ints = of_dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
    return positions
