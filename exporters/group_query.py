"""A query over groups: filters, order and page, as the API takes them in a URL and the command line as options.

Pure, standard library only. `exporters.group_search` applies a query to a snapshot.
"""

import dataclasses
import difflib
import enum
from collections.abc import Collection, Iterable, Iterator
from typing import Final, Self

from exporters.wording import SEVERITIES

STATES: Final = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead", "Assigning", "Reconciling", "NotReady",
)  # fmt: skip
"""The states of groups under the names of Kafka's tools."""
KINDS: Final = ("simple", "classic", "consumer", "share", "streams")
UNKNOWN: Final = "unknown"
"""The value of a filter that also matches null."""
MOST_ROWS: Final = 1_000_000
"""The greatest `start` and `limit`."""


class SortKey(enum.StrEnum):
    """What groups are sorted by. Equal ones are in the order of their names."""

    NAME = "name"
    WORST = "worst"
    """Severity, then time lag, then lag; dead groups come last."""
    LAG = "lag"
    TIME_LAG = "time_lag"
    MEMBERS = "members"
    LAST_COMMIT = "last_commit"


class SortOrder(enum.StrEnum):
    """The direction; unknown values come last in both."""

    ASCENDING = "asc"
    DESCENDING = "desc"


class ParameterKind(enum.Enum):
    """How the value of a parameter is read."""

    TEXT = "text"
    WORDS = "words"
    """Several values, by repetition or separated by commas, in any case."""
    WORD = "word"
    NUMBER = "number"


@dataclasses.dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of a query. `words`: the allowed values; none: all are. A number is from `least` to MOST_ROWS."""

    name: str
    kind: ParameterKind
    description: str
    words: tuple[str, ...] = ()
    example: str | int = ""
    least: int = 0


PARAMETERS: Final = (
    QueryParameter(
        "filter", ParameterKind.TEXT, "Part of the group's name, without regard to case.", example="billing"
    ),
    QueryParameter(
        "topic", ParameterKind.TEXT, "Groups with a committed offset in this topic or a member subscribed to it.",
        example="orders",
    ),
    QueryParameter(
        "client", ParameterKind.TEXT, "Groups with a member of this client id. Refused if members are hidden.",
        example="billing-1",
    ),
    QueryParameter(
        "host", ParameterKind.TEXT,
        "Groups with a member on this host, with or without the slash that Kafka puts before it; together with"
        " `client`, of the same member. Refused if members are hidden.",
        example="10.0.0.1",
    ),
    QueryParameter(
        "owner", ParameterKind.TEXT, "The team of `groups.owners`; `unknown`: groups without one.", example="payments"
    ),
    QueryParameter("verdict", ParameterKind.WORDS, "One of these verdicts.", example="stopped"),
    QueryParameter(
        "severity", ParameterKind.WORDS, "One of these severities; `unknown` includes groups without a verdict.",
        SEVERITIES, "critical",
    ),
    QueryParameter(
        "state", ParameterKind.WORDS, "One of these states; `unknown`: groups whose state is not known.",
        (*STATES, UNKNOWN), "Stable",
    ),
    QueryParameter(
        "kind", ParameterKind.WORDS, "One of these kinds; `unknown`: groups whose kind is not known.",
        (*KINDS, UNKNOWN), "consumer",
    ),
    QueryParameter(
        "sort", ParameterKind.WORD,
        "The order of the rows. `worst`: by severity, time lag and lag, dead groups last.",
        tuple(SortKey), "worst",
    ),
    QueryParameter(
        "order", ParameterKind.WORD,
        "The direction; by default ascending for `name`, descending otherwise. Unknown values come last.",
        tuple(SortOrder), "desc",
    ),
    QueryParameter("start", ParameterKind.NUMBER, "Rows to skip: `next` of the previous page.", example=0),
    QueryParameter(
        "limit", ParameterKind.NUMBER, "The greatest number of rows in the response; by default all.", example=100,
        least=1,
    ),
)  # fmt: skip
"""The parameters of a query, in the order of the documentation."""


class GroupQueryError(ValueError):
    """A query that is not valid; the text has all errors."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupQuery:
    """Filters, order and page; all filters must match. None or no words: every group matches."""

    filter: str | None = None
    topic: str | None = None
    client: str | None = None
    host: str | None = None
    owner: str | None = None
    verdict: tuple[str, ...] = ()
    severity: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    sort: SortKey = SortKey.NAME
    order: SortOrder | None = None
    start: int = 0
    limit: int | None = None

    @classmethod
    def parse(cls, pairs: Iterable[tuple[str, str]], *, without: Collection[str] = ()) -> Self:
        """Return the query of the parameters of a URL; those in `without` are not known. Raises GroupQueryError.

        An unknown parameter is an error: a misspelt filter would otherwise match every group.
        """
        known = {parameter.name: parameter for parameter in PARAMETERS if parameter.name not in without}
        given: dict[str, list[str]] = {}
        for name, value in pairs:
            given.setdefault(name, []).append(value)
        errors, fields = list[str](), dict[str, object]()
        for name, values in given.items():
            parameter = known.get(name)
            if parameter is None:
                errors.append(f"no parameter {name!r}; known are {', '.join(known)}")
                continue
            try:
                fields[name] = _parse(parameter, values)
            except ValueError as error:
                errors.append(f"{name} {error}")
        if errors:
            raise GroupQueryError("; ".join(errors))
        return cls(**fields)  # type: ignore[arg-type] # each of the type that its parameter has

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the parameters of a URL for this query, without those that have their default."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            for each in value if isinstance(value, tuple) else (value,):
                yield field.name, str(each)

    @property
    def descending(self) -> bool:
        """The direction of the order, given or default."""
        usual = SortOrder.ASCENDING if self.sort is SortKey.NAME else SortOrder.DESCENDING
        return (self.order or usual) is SortOrder.DESCENDING

    @property
    def reads_members(self) -> bool:
        """True if it filters by client or host, which may be hidden."""
        return self.client is not None or self.host is not None

    def check_verdicts(self, known: Collection[str]) -> None:
        """Raise GroupQueryError for a verdict that is not one of `known`.

        Without any known verdict, as before the first evaluation, every word is accepted.
        """
        if not known:
            return
        try:
            for word in self.verdict:
                _known(word, (*known, UNKNOWN))
        except ValueError as error:
            raise GroupQueryError(f"verdict {error}") from None


ALL_GROUPS: Final = GroupQuery()
"""Every group, sorted by name."""


def _parse(parameter: QueryParameter, values: list[str]) -> object:
    """Return the value of a field of GroupQuery. Raises ValueError."""
    if parameter.kind is ParameterKind.WORDS:
        words = [word.strip() for value in values for word in value.split(",") if word.strip()]
        return tuple(dict.fromkeys(_known(word, parameter.words) for word in words))
    if len(values) > 1:
        raise ValueError("is given more than once")
    (value,) = values
    if parameter.kind is ParameterKind.TEXT:
        return value
    if parameter.kind is ParameterKind.WORD:
        word = _known(value, parameter.words)
        return SortKey(word) if parameter.name == "sort" else SortOrder(word)
    if value.isascii() and value.isdecimal() and len(value) < 10 and parameter.least <= int(value) <= MOST_ROWS:
        return int(value)
    raise ValueError(f"{value or '(empty)'}: must be a whole number from {parameter.least} to {MOST_ROWS}")


def _known(word: str, known: tuple[str, ...]) -> str:
    """Return a word as it is written in `known`; any word if that is empty. Raises ValueError."""
    if not known:
        return word
    by_lower = {each.lower(): each for each in known}
    if (found := by_lower.get(word.lower())) is not None:
        return found
    near = difflib.get_close_matches(word.lower(), by_lower, 1)
    hint = f"did you mean {by_lower[near[0]]}?" if near else f"must be one of {', '.join(known)}"
    raise ValueError(f"{word or '(empty)'}: {hint}")
