"""From what the rules find at each tick to what is shown: a verdict must last to be believed, and to be withdrawn.

A pure state machine per row. A sick verdict is shown after its rule found the row for as many ticks in a row as the
rule asks (`Rule.confirm`), withdrawn after three ticks without any, and replaced by another sick one after two. A row
that is sick of changing faults is shown so as soon as it has been sick for one tick more than the fault of the moment
asks. Thus input that alternates never makes the shown verdict alternate. "ok" and "caught up" take turns at once.

The state packs into a few bytes per row that is not fine and unpacks after a restart, so that what was shown before
stays until the rules have seen enough to say something else.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.health.rules import RULES
from stream.health.verdict import CODE, SEVERITIES, VERDICTS, Severity, Verdict

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints
    from stream.health.observed import Observed

WITHDRAW: Final = 3
"""Ticks without a finding until a sick verdict is withdrawn."""
CHANGE: Final = 2
"""Ticks until one sick verdict takes the place of another, or a notice is shown or withdrawn."""
UNDECIDED: Final = -1
"""Instead of a code: the row cannot be judged at this tick, and what is shown stays."""
FORMAT: Final = 1
_UNKNOWN: Final = CODE[Verdict.UNKNOWN]

_CONFIRM: Final = np.ones(len(VERDICTS), np.int16)
for _rule in RULES:
    _CONFIRM[CODE[_rule.verdict]] = _rule.confirm
_PACKED: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("shown", pa.string()),
        ("since", pa.int64()),
        ("candidate", pa.string()),
        ("candidate_since", pa.int64()),
        ("candidate_ticks", pa.int16()),
        ("sick_ticks", pa.int16()),
        ("well_ticks", pa.int16()),
    ]
)


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
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


def begin(rows: int, now: int) -> Shown:
    """Give the state of rows that have never been judged."""
    # An array of its own for each column: `unpack` writes into them.
    unknown, unfound = (np.full(rows, _UNKNOWN, np.int8) for _ in range(2))
    since, since_found = (np.full(rows, now, np.int64) for _ in range(2))
    return Shown(unknown, since, unfound, since_found, *(np.zeros(rows, np.int64) for _ in range(3)))


def step(before: Shown, found: Codes, now: int) -> Shown:
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
    return Shown(
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


def carry(before: Shown, keys_before: Ints, keys: Ints, now: int) -> Shown:
    """Bring the state of the rows of the last tick to those of this one; rows that are new begin."""
    if len(keys) == len(keys_before) and (keys == keys_before).all():
        return before
    state = begin(len(keys), now)
    if not len(keys_before):
        return state
    order = np.argsort(keys_before, kind="stable")
    at = np.minimum(np.searchsorted(keys_before[order], keys), len(order) - 1)
    met = keys_before[order[at]] == keys
    old = order[at[met]]
    columns = {}
    for field in dataclasses.fields(Shown):
        column = getattr(state, field.name).copy()
        column[met] = getattr(before, field.name)[old]
        columns[field.name] = column
    return Shown(**columns)


def pack(state: Shown, seen: Observed) -> bytes:
    """Give the state of the rows of one moment as bytes: all that are shown as anything but fine, or may soon be."""
    fine = SEVERITIES == Severity.FINE
    rows = np.flatnonzero(~(fine[state.verdict] & fine[state.candidate]))
    names, topics = np.array([*seen.groups.names, ""]), np.array([*seen.topics, ""])
    words = np.array(VERDICTS)
    table = pa.table(
        [
            pa.array(names[seen.group[rows]].tolist(), pa.string()),
            pa.array(topics[seen.topic[rows]].tolist(), pa.string()),
            pa.array(seen.partition[rows], pa.int32()),
            pa.array(words[state.verdict[rows]].tolist(), pa.string()),
            pa.array(state.since[rows]),
            pa.array(words[state.candidate[rows]].tolist(), pa.string()),
            pa.array(state.candidate_since[rows]),
            *(
                pa.array(np.minimum(column[rows], 1_000), pa.int16())
                for column in (state.candidate_ticks, state.sick_ticks, state.well_ticks)
            ),
        ],
        schema=_PACKED.with_metadata({"format": str(FORMAT)}),
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(packed: bytes, seen: Observed, now: int) -> Shown:
    """Bring packed state to the rows of a moment. Bytes of another format, or damaged ones, begin anew.

    A verdict by a name that is not known any more begins anew too.
    """
    state = begin(len(seen), now)
    try:
        table = pa.ipc.open_stream(packed).read_all()
    except (pa.ArrowInvalid, OSError):
        return state
    if (table.schema.metadata or {}).get(b"format") != str(FORMAT).encode() or not len(table):
        return state
    rows, at = _rows(table, seen)
    codes = {
        name: np.array([CODE.get(Verdict(word), _UNKNOWN) if word in CODE else -1 for word in table[name].to_pylist()])
        for name in ("shown", "candidate")
    }
    sound = (codes["shown"][at] >= 0) & (codes["candidate"][at] >= 0)
    rows, at = rows[sound], at[sound]
    state.verdict[rows], state.candidate[rows] = codes["shown"][at], codes["candidate"][at]
    for name in ("since", "candidate_since", "candidate_ticks", "sick_ticks", "well_ticks"):
        getattr(state, name)[rows] = table[name].to_numpy()[at]
    return state


def _rows(table: pa.Table, seen: Observed) -> tuple[Ints, Ints]:
    """Find the rows of a moment that a packed table speaks of, and the place in the table of each."""
    places = zip(*(table[name].to_pylist() for name in ("group", "topic", "partition")), strict=True)
    packed = {place: at for at, place in enumerate(places)}
    groups = {name for name, _, _ in packed}
    rows, at = [], []
    wanted = np.array([name in groups for name in seen.groups.names], np.bool_)
    for row in np.flatnonzero(wanted[seen.group]).tolist():
        name = seen.groups.names[int(seen.group[row])]
        found = packed.get((name, seen.topics[int(seen.topic[row])], int(seen.partition[row])))
        if found is not None:
            rows.append(row)
            at.append(found)
    return np.array(rows, np.int64), np.array(at, np.int64)
