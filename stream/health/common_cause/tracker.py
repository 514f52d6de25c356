"""Decides which common causes are shown: one that lasts, until its groups are well.

A cause is shown after two evaluations in a row with it. From then on its groups are remembered by name, so that the
finding outlives the evidence: a broker that is back, a member that has left. It ends after two evaluations with fewer
than three of its groups still sick. A cause that explains all groups of a shown finding and more replaces it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from stream.health.common_cause.search import CommonCauseLimits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from stream.health.common_cause.search import CommonCause
    from stream.health.common_cause.shared import Dimension

_LASTING: Final = 2
"""Evaluations in a row with a cause until it is shown, and with too few sick groups until it is not."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommonCauseFinding:
    """A cause that many groups have in common. Times and durations in ms."""

    dimension: Dimension
    name: str
    """The value of the dimension: a broker id, an offsets partition, a topic, a host."""
    groups: frozenset[str]
    """The groups that are sick because of it now."""
    affected: int
    """The most groups that it has made sick."""
    compared: int
    """Number of groups that have the value, without those of which nothing is known."""
    began: int
    """When the first of them turned sick."""
    spread: int
    """Time between the first and the last of those that turned sick together."""
    misses: int = 0
    """Evaluations in a row with too few sick groups."""

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
        """The shown findings, the one with most groups first."""
        return tuple(sorted(self._shown.values(), key=lambda each: (-len(each.groups), each.key)))

    def update(self, causes: Iterable[CommonCause], names: Sequence[str], sick: Collection[str]) -> None:
        """Apply the causes of one evaluation.

        `names` are the groups by their positions in the causes, `sick` all groups that are sick now.
        """
        self._shown = {key: each for key, each in self._remaining(frozenset(sick)) if each.misses < _LASTING}
        waiting = dict[tuple["Dimension", str], int]()
        for cause in causes:
            found = _finding(cause, names)
            waiting[found.key] = self._waiting.get(found.key, 0) + 1
            if found.key in self._shown:
                self._shown[found.key] = self._joined(self._shown[found.key], found)
            elif waiting[found.key] >= _LASTING:
                self._show(found)
        self._waiting = waiting

    def _remaining(self, sick: frozenset[str]) -> Iterable[tuple[tuple[Dimension, str], CommonCauseFinding]]:
        for key, each in self._shown.items():
            groups = each.groups & sick
            misses = each.misses + 1 if len(groups) < self._limits.groups else 0
            yield key, dataclasses.replace(each, groups=groups, misses=misses)

    def _joined(self, shown: CommonCauseFinding, found: CommonCauseFinding) -> CommonCauseFinding:
        """Return a shown finding with the groups that have joined it and belong to no other one."""
        others = frozenset[str]().union(*(each.groups for each in self._shown.values() if each.key != shown.key))
        if found.began > shown.began + self._limits.join:  # the value has made groups sick once more
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
        """Show a finding, unless most of its groups belong to shown findings that it does not explain altogether."""
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
