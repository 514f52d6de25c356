"""A rule: one pure function over the window, and the texts for a row that it matches."""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import numpy as np

from stream import wording as say
from stream.health.columns import Codes, Flags, Ints
from stream.health.features.window import Window
from stream.health.verdict import CODE, Verdict

_Window = TypeVar("_Window")
OWNER: Final = ("owner_client", "owner_host", "owner_member", "generation")
"""Evidence about the member that owns the partition, and the last rebalance."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rule(Generic[_Window]):
    """One rule for rows of a window. The first of a list of rules that matches a row decides its verdict."""

    verdict: Verdict
    matches: Callable[[_Window], Flags]
    sentence: Callable[[_Window, int], str]
    """Returns the fault of a row in one sentence with its numbers."""
    next_step: str
    """The action of an operator."""
    evidence: tuple[str, ...] = ()
    """The numbers it uses, by their names in `stream.health.evidence.COLUMNS`."""
    confirm: int = 2
    """Number of ticks in a row with a match before the verdict is shown; 1 where the rule itself has waited."""
    withdraw: int = 2
    """Number of ticks in a row without any fault before the verdict is withdrawn."""
    next_step_of: Callable[[_Window, int], str] | None = None
    """Returns what an operator does about a row, where that depends on the row; None: `next_step`."""
    verb: str | None = None
    """What joins the partition's name to the sentence, as in "orders-1 is stuck at …"; None: a colon."""
    names_members: bool = False
    """Sentences name the member that owns the partitions, and the last rebalance before they stopped."""
    is_reported_beside: bool = False
    """Where it matches a row with another fault, too, both are in the evidence: it does not follow from the other."""
    text: str = ""
    """What the verdict means; "": the first paragraph of the docstring of the rule's module."""

    @property
    def meaning(self) -> str:
        """Return what the verdict means."""
        text = self.text or sys.modules[self.matches.__module__].__doc__ or ""
        return " ".join(text.strip().split("\n\n", maxsplit=1)[0].split())


def first_matches(rules: Sequence[Rule[_Window]], window: _Window, rows: int) -> tuple[Codes, Ints]:
    """Return the code of the first rule that matches each of `rows` rows, -1 where none does.

    The second column has a bit, by code, for each rule that `is_reported_beside` and matches.
    """
    code, also = np.full(rows, -1, np.int8), np.zeros(rows, np.int64)
    for rule in rules:
        found = rule.matches(window)
        if rule.is_reported_beside:
            also[found] |= 1 << CODE[rule.verdict]
        code[found & (code < 0)] = CODE[rule.verdict]
    return code, also


def about(name: str, verb: str | None, sentence: str) -> str:
    """Return a sentence about a partition that begins with its name, see `Rule.verb`."""
    if verb is None:
        return f"{name}: {sentence}"
    return " ".join(filter(None, (name, verb, f"{sentence[0].lower()}{sentence[1:]}")))


def counted_text(rows: int, of: int) -> str:
    """Return how many partitions of a group have its verdict, with a leading space; "" for the only one."""
    return f" Partitions with this verdict: {rows} of {of}." if of > 1 else ""


def no_rows(window: Window) -> Flags:
    """Return no matches: the result of a rule whose input column is missing."""
    return np.zeros(len(window), np.bool_)


def unread_text(window: Window, row: int) -> str:
    """Return how much is unread and how long it has waited, as in "5 offsets unread, the oldest for 20 s"."""
    age = int(window.time_lag.age[row])
    at_least = "" if window.time_lag.exact[row] else "at least "
    lag = say.count(int(window.lag[row]), "offset")
    return f"{lag} unread" if age < 0 else f"{lag} unread, the oldest for {at_least}{say.duration(age)}"


def position_text(window: Window, row: int) -> str:
    """Return the committed offset and for how long it has not moved, as in "offset 5 for 20 s"."""
    since = window.now - int(window.progress_time[row])
    return f"offset {int(window.committed_offset[row]):,} for {say.duration(since)}"
