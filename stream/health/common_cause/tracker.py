"""Decides which common causes are shown, and for how long.

A cause is shown after two evaluations in a row that found it. From then on its groups are remembered by name, so the
finding remains when its evidence is gone, for example when the broker is back or a member has left. The finding ends
after two evaluations with fewer than three of its groups unhealthy. A cause that explains all groups of a shown finding
and further groups replaces that finding.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from stream.health.common_cause.search import CommonCause, CommonCauseLimits
from stream.health.common_cause.shared import Dimension

_LASTING: Final = 2
"""Evaluations in a row with a cause until it is shown, and with too few unhealthy groups until it ends."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCauseFinding:
    """A cause that many groups have in common. Times and durations in ms."""

    dimension: Dimension
    name: str
    """The value of the dimension: a broker id, an offsets partition, a topic, a host."""
    groups: frozenset[str]
    """The groups that are unhealthy now because of the cause."""
    affected: int
    """The highest number of groups that were unhealthy at the same time because of the cause."""
    compared: int
    """Number of groups with the value whose health is known."""
    began: int
    """When the first of the groups became unhealthy."""
    spread: int
    """Time between the first and the last of the groups that became unhealthy together."""
    misses: int = 0
    """Evaluations in a row with too few unhealthy groups."""

    @property
    def key(self) -> tuple[Dimension, str]:
        """The dimension and its value, which identify the finding."""
        return self.dimension, self.name


class CommonCauseTracker:
    """The shown findings, evaluation after evaluation. Not thread-safe."""

    def __init__(self, limits: CommonCauseLimits = CommonCauseLimits()) -> None:  # noqa: B008 - immutable
        self._limits = limits
        self._shown: dict[tuple[Dimension, str], CommonCauseFinding] = {}
        self._waiting: dict[tuple[Dimension, str], int] = {}

    @property
    def findings(self) -> tuple[CommonCauseFinding, ...]:
        """The shown findings in descending order of their number of groups."""
        return tuple(sorted(self._shown.values(), key=lambda each: (-len(each.groups), each.key)))

    def update(self, causes: Iterable[CommonCause], names: Sequence[str], unhealthy: Collection[str]) -> None:
        """Apply the causes of one evaluation.

        `names` are the groups by their positions in the causes, `unhealthy` all groups that are unhealthy now.
        """
        self._shown = {key: each for key, each in self._remaining(frozenset(unhealthy)) if each.misses < _LASTING}
        waiting = dict[tuple["Dimension", str], int]()
        for cause in causes:
            found = _finding(cause, names)
            waiting[found.key] = self._waiting.get(found.key, 0) + 1
            if found.key in self._shown:
                self._shown[found.key] = self._joined(self._shown[found.key], found)
            elif waiting[found.key] >= _LASTING:
                self._show(found)
        self._waiting = waiting

    def _remaining(self, unhealthy: frozenset[str]) -> Iterable[tuple[tuple[Dimension, str], CommonCauseFinding]]:
        for key, each in self._shown.items():
            groups = each.groups & unhealthy
            misses = each.misses + 1 if len(groups) < self._limits.groups else 0
            yield key, dataclasses.replace(each, groups=groups, misses=misses)

    def _joined(self, shown: CommonCauseFinding, found: CommonCauseFinding) -> CommonCauseFinding:
        """Return a shown finding, extended by the new groups of the cause that belong to no other finding."""
        others = frozenset[str]().union(*(each.groups for each in self._shown.values() if each.key != shown.key))
        if found.began > shown.began + self._limits.join:  # groups with the same value became unhealthy again
            shown = dataclasses.replace(shown, spread=found.spread, began=found.began, affected=0, compared=0)
        groups = shown.groups | (found.groups - others)
        return dataclasses.replace(
            shown,
            groups=groups,
            affected=max(shown.affected, len(groups)),
            compared=max(shown.compared, found.compared, len(groups)),
            misses=0,
        )

    def _show(self, found: CommonCauseFinding) -> None:
        """Show a finding, unless too many of its groups belong to shown findings that it does not fully explain."""
        replaced = [each for each in self._shown.values() if each.groups < found.groups]
        for each in replaced:
            del self._shown[each.key]
        taken = frozenset[str]().union(*(each.groups for each in self._shown.values()))
        if len(found.groups - taken) >= self._limits.groups and len(self._shown) < self._limits.findings:
            self._shown[found.key] = dataclasses.replace(found, groups=found.groups - taken)
        else:
            self._shown |= {each.key: each for each in replaced}


def _finding(cause: CommonCause, names: Sequence[str]) -> CommonCauseFinding:
    groups = frozenset(names[group] for group in cause.groups)
    return CommonCauseFinding(
        cause.dimension, cause.name, groups, len(groups), cause.compared, cause.began, cause.spread
    )
