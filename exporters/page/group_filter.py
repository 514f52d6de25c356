"""The filter of the overview page: parsed from a query, applied to the groups, written as a URL."""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS: Final = ("severity", "verdict", "state", "team")
"""The columns that can be filtered by one value."""
UNKNOWN_VALUE: Final = "unknown"
"""The value of a query parameter that matches null."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupFilter:
    """A part of the name, a value per column of `COLUMNS`, and the first row to show. Empty strings match all."""

    filter: str = ""
    severity: str = ""
    verdict: str = ""
    state: str = ""
    team: str = ""
    start: int = 0

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Return the filter of a query. Invalid and unknown parameters are ignored."""
        start = query.get("start", "")
        return cls(
            filter=query.get("filter", ""),
            start=int(start) if start.isdecimal() and start.isascii() and len(start) < 10 else 0,
            **{column: query.get(column, "") for column in COLUMNS},
        )

    def __bool__(self) -> bool:
        """Return whether the filter excludes any group; `start` does not count."""
        return any((self.filter, *(getattr(self, column) for column in COLUMNS)))

    def url_with(self, **changes: str | int) -> str:
        """Return the relative URL of this filter with changes. `start` is reset unless it is one of them."""
        changed = dataclasses.replace(self, **{"start": 0, **changes})  # type: ignore[arg-type] # names of fields
        parameters = {name: value for name, value in dataclasses.asdict(changed).items() if value}
        return f"./?{urllib.parse.urlencode(parameters)}" if parameters else "./"

    def apply(self, groups: pa.Table) -> pa.Table:
        """Return the groups that match."""
        if self.filter:
            names = groups.column("group").cast(pa.string())
            groups = groups.filter(pc.match_substring(names, self.filter, ignore_case=True))
        for column in COLUMNS:
            if value := getattr(self, column):
                groups = groups.filter(_equals(groups.column(column), value))
        return groups


def _equals(column: pa.ChunkedArray, value: str) -> pa.ChunkedArray:
    same = pc.equal(column, pa.scalar(value)).fill_null(False)
    return pc.or_(same, pc.is_null(column)) if value == UNKNOWN_VALUE else same
