"""Name patterns: allow and deny lists of groups and topics, and the first match in a list of patterns.

A pattern is a regular expression in the syntax of Prometheus (RE2, which matches in linear time) and must match the
whole name, as in Prometheus. Names are Arrow columns; each distinct name is matched once.
"""

import dataclasses
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


def pattern_error(pattern: str) -> str | None:
    """Return the syntax error of a pattern, or None."""
    try:
        # First without the anchors that `_matches` adds, so that an error quotes the pattern as configured.
        pc.match_substring_regex(pa.array([""]), pattern)
        _matches(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class NameFilter:
    """Selects names that match a pattern of `allow` (empty: every name) and no pattern of `deny`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def selects_all(self) -> bool:
        """True if there are no patterns."""
        return not (self.allow or self.deny)

    def rows(self, column: pa.ChunkedArray) -> pa.Array:
        """Return a mask of the rows of a dictionary-encoded column whose name is selected; a null name is selected."""
        encoded = column.unify_dictionaries().combine_chunks()
        names = encoded.dictionary
        allowed = _any(names, self.allow) if self.allow else pa.repeat(True, len(names))
        selected = pc.and_not(allowed, _any(names, self.deny))
        return selected.take(encoded.indices).fill_null(True)


def first_match(names: pa.Array, patterns: Sequence[str]) -> pa.Array:
    """Return for each name the index of the first pattern that matches it, null if none does."""
    first = pa.nulls(len(names), pa.int32())
    for index, pattern in reversed(list(enumerate(patterns))):
        first = pc.if_else(_matches(names, pattern), pa.scalar(index, pa.int32()), first)
    return first


def _any(names: pa.Array, patterns: Sequence[str]) -> pa.Array:
    return first_match(names, patterns).is_valid()


def _matches(names: pa.Array, pattern: str) -> pa.Array:
    # A name may contain line feeds, which `.` matches only with the flag "s". A name is never null here.
    return pc.match_substring_regex(names, f"(?s)\\A(?:{pattern})\\z")
