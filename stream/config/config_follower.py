"""Follows the configuration file while the process runs: some options of a changed file apply without a restart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import structlog

from exporters.catalogue.metric import Preset
from exporters.compatibility.selection import OtherSelection
from exporters.http.access.web_access import file_version
from exporters.selection.budget import NameFilter
from exporters.selection.folding import FoldRules
from exporters.selection.series import Granularity, SeriesSelection
from stream.config.loader import ConfigRefusal
from stream.config.options import Config, MetricsOptions
from stream.config.values import parse_target


def selection_from_options(metrics: MetricsOptions, *, hide_members: bool = False) -> SeriesSelection:
    """Return the configured selection of series. With `hide_members` no label names a member of a group."""
    return SeriesSelection(
        preset=Preset(metrics.preset),
        add=frozenset(metrics.add),
        omit=frozenset(metrics.omit),
        granularity=Granularity(metrics.granularity),
        groups=NameFilter(metrics.groups_allow, metrics.groups_deny),
        topics=NameFilter(metrics.topics_allow, metrics.topics_deny),
        budget=metrics.series_budget or None,
        targets=tuple(parse_target(text) for text in metrics.targets),
        fold=FoldRules(metrics.fold, metrics.fold_generated or None),
        compatibility=OtherSelection(metrics.compatibility, metrics.other_cluster, hide_members),
        cluster=metrics.cluster_name,
    )


_log = structlog.get_logger(__name__)
FOLLOWED: Final = frozenset({"groups.owners", "groups.maintenance", "groups.silences", "metrics.targets"})
"""The options that apply without a restart."""
_NOT_READ: Final = (0, 0, 0)


class ConfigFollower:
    """Reads the configuration again when its file has changed. For one thread."""

    def __init__(self, file: Path | None, running: Config, load: Callable[[], Config]) -> None:
        """Follow a file; without one nothing changes.

        `running` is the configuration that the process started with, and `load` builds it from all its sources.
        """
        self._file = file
        self._running = running
        self._last = running
        self._load = load
        # Not that of now: the file may have changed since it was read.
        self._version: tuple[int, int, int] | None = _NOT_READ

    def follow(self, apply: Callable[[Config], None], on_fault: Callable[[], None]) -> None:
        """Call `apply` with the new configuration if the file has changed, or `on_fault` if it cannot be used.

        What cannot be used is logged and changes nothing, and so are changes of other options than `FOLLOWED`.
        """
        if self._file is None or (version := file_version(self._file)) == self._version:
            return
        self._version = version
        try:
            config = self._load()
        except ConfigRefusal as refusal:
            on_fault()
            _log.error("configuration unusable; the previous one stays in force", cause=str(refusal))
            return
        if config == self._last:
            return
        self._last = config
        apply(config)
        changed = {key for key, value in _options(config).items() if value != _options(self._running)[key]}
        _log.info("configuration read again", needs_restart=sorted(changed - FOLLOWED))


def _options(config: Config) -> dict[str, Any]:
    sections = {name: getattr(config, name) for name in type(config).model_fields}
    return {
        f"{name}.{option}": getattr(of, option) for name, of in sections.items() for option in type(of).model_fields
    }
