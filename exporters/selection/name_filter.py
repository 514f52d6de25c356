"""Patterns of names: which groups and topics are wanted, and which pattern of an ordered list a name meets first.

A pattern is a regular expression in the dialect of Prometheus (RE2), which cannot be made to run for ever, and must
match the whole name, as there. Names come as Arrow columns; each distinct name is looked at once, whatever the rows.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence


def pattern_error(pattern: str) -> str | None:
    """Say what is wrong with a pattern, or None."""
    try:
        # As it was written: of what is put around it later nobody shall read in an error.
        pc.match_substring_regex(pa.array([""]), pattern)
        _matches(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class NameFilter:
    """Names that one pattern of `allow` matches (empty: every name) and no pattern of `deny`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether there is nothing to look at."""
        return not (self.allow or self.deny)

    def rows(self, column: pa.ChunkedArray) -> pa.Array:
        """Tell of each row of a dictionary-encoded column whether its name is wanted; one without a name is."""
        encoded = column.unify_dictionaries().combine_chunks()
        names = encoded.dictionary
        allowed = _any(names, self.allow) if self.allow else pa.repeat(True, len(names))
        wanted = pc.and_not(allowed, _any(names, self.deny))
        return wanted.take(encoded.indices).fill_null(True)


def first_match(names: pa.Array, patterns: Sequence[str]) -> pa.Array:
    """Give each name the place of the first pattern that matches it, null where none does."""
    found = pa.nulls(len(names), pa.int32())
    for place, pattern in reversed(list(enumerate(patterns))):
        found = pc.if_else(_matches(names, pattern), pa.scalar(place, pa.int32()), found)
    return found


def _any(names: pa.Array, patterns: Sequence[str]) -> pa.Array:
    return first_match(names, patterns).is_valid()


def _matches(names: pa.Array, pattern: str) -> pa.Array:
    # A name may hold line feeds; without "s" the point would stop at them. A name is never null here.
    return pc.match_substring_regex(names, f"(?s)\\A(?:{pattern})\\z")
