"""Which groups the reader of the fleet's page wants to see: from the address, over the columns, into an address."""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS: Final = ("severity", "verdict", "state")
"""The columns of which one value can be chosen."""
NOT_KNOWN: Final = "unknown"
"""How an address calls a value that is null."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFilter:
    """A part of a name, at most one value of each of `WORDS`, and from which row on. Empty: all."""

    filter: str = ""
    severity: str = ""
    verdict: str = ""
    state: str = ""
    start: int = 0

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Read an address; what makes no sense in it is as if it were not there."""
        start = query.get("start", "")
        return cls(
            filter=query.get("filter", ""),
            start=int(start) if start.isdecimal() and start.isascii() and len(start) < 10 else 0,
            **{word: query.get(word, "") for word in WORDS},
        )

    def __bool__(self) -> bool:
        """Tell whether anything is chosen."""
        return any((self.filter, self.severity, self.verdict, self.state))

    def but(self, **changes: str | int) -> str:
        """Give the address of this choice with changes. Another choice begins at its first row."""
        changed = dataclasses.replace(self, **{"start": 0, **changes})  # type: ignore[arg-type] # named by the caller
        given = {name: value for name, value in dataclasses.asdict(changed).items() if value}
        return f"./?{urllib.parse.urlencode(given)}" if given else "./"

    def among(self, groups: pa.Table) -> pa.Table:
        """Give the groups that are so."""
        if self.filter:
            names = groups.column("group").cast(pa.string())
            groups = groups.filter(pc.match_substring(names, self.filter, ignore_case=True))
        for word in WORDS:
            if value := getattr(self, word):
                groups = groups.filter(_is(groups.column(word), value))
        return groups


def _is(column: pa.ChunkedArray, value: str) -> pa.ChunkedArray:
    same = pc.equal(column, pa.scalar(value)).fill_null(False)
    return pc.or_(same, pc.is_null(column)) if value == NOT_KNOWN else same
