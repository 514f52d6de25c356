"""What is kept of the verdicts: the changes of each group, and all verdicts in a file of the checkpoint.

A change from one fine verdict to another is not recorded: a busy group alternates between caught up and not. The first
verdict of a group is recorded as soon as it is not unknown.

The file is a zip archive: `about.json` has its format, `shown` the packed verdicts (`stream.health.hysteresis.pack`),
`changes.json` the verdict changes of the groups, `rebalances.json` recent rebalance
counts, `day_one.json` the old faults, `share_groups` what is known of share groups. A file that cannot be
read, or has another format, is set aside and logged; the verdicts then start from nothing, which takes minutes to
relearn. The file belongs to its checkpoint, and is set aside with it.
"""

import dataclasses
import io
import json
import operator
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import structlog

from exporters.readmodel import VerdictChange
from exporters.wording import SEVERITIES
from stream.checkpoint import usage
from stream.checkpoint.directory import VERDICTS
from stream.checkpoint.files import CheckpointPath, rename, replace_bytes
from stream.checkpoint.usage import SideFiles
from stream.groups.short_cache import is_same
from stream.health.columns import Flags
from stream.health.day_one import DayOne
from stream.health.evaluator import EvaluationResult
from stream.health.verdict import Severity
from stream.tick.inputs.member_changes import CountsByTime

_log = structlog.get_logger(__name__)
_LOGGED_CHANGES: Final = 20
"""Changes logged with their group per tick; more are logged as a number."""
_UNKNOWN: Final = "unknown"

Histories = dict[str, list[VerdictChange]]


class VerdictHistory:
    """One instance per process. The tick thread uses it; any thread may call `changes_of`."""

    def __init__(self, keep: int, stored: Mapping[str, Iterable[VerdictChange]] | None = None) -> None:
        """Keep the newest `keep` changes of each group; `stored` are those of an earlier process."""
        self._keep = keep
        # Tuples are replaced, not changed, because other threads read them.
        self._changes: dict[str, tuple[VerdictChange, ...]] = {}
        self._last: dict[str, str] = {}
        for group, changes in (stored or {}).items():
            self._changes[group] = tuple(changes)[-keep:]
            if self._changes[group]:
                self._last[group] = self._changes[group][-1].verdict
        self._counts: Counter[str] = Counter()
        self._seen: tuple[object, ...] = ()
        self.is_silent = False
        """Log nothing."""

    def changes_of(self, group: str) -> tuple[VerdictChange, ...]:
        """Return the changes of a group, oldest first."""
        return self._changes.get(group, ())

    @property
    def changes(self) -> Histories:
        """The changes of all groups."""
        return {group: list(changes) for group, changes in self._changes.items()}

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of groups that changed to each verdict; has all verdicts."""
        return self._counts

    def record(self, evaluation: EvaluationResult, alive: Flags, now: float) -> None:
        """Record the verdicts of the groups at `now` (Unix seconds); `alive` is False for a dead group."""
        if not self._counts:  # all from the start: a counter that begins with its first event hides it from increase()
            self._counts.update(dict.fromkeys(map(str, evaluation.verdict_names), 0))
        names, seen = evaluation.window.inputs.groups.names, self._seen
        self._seen = names, evaluation.group_verdict.tobytes(), alive.tobytes()
        if is_same(seen, self._seen):
            return
        words, severities = [str(word) for word in evaluation.verdict_names], evaluation.severities.tolist()
        fine = {word for word, severity in zip(words, severities, strict=True) if severity == Severity.FINE}
        logged = 0
        for number, (group, code, is_alive) in enumerate(
            zip(names, evaluation.group_verdict.tolist(), alive.tolist(), strict=True)
        ):
            verdict, previous = words[code], self._last.get(group)
            if not is_alive or verdict == previous or (previous is None and verdict.lower() == _UNKNOWN):
                continue
            self._last[group] = verdict
            if previous in fine and verdict in fine:
                continue
            change = VerdictChange(now, previous, verdict, evaluation.group_sentence(number))
            self._changes[group] = (*self._changes.get(group, ()), change)[-self._keep :]
            if previous is not None:
                self._counts[verdict] += 1
                logged += self._log(group, change, Severity(severities[code]), logged)
        if logged > _LOGGED_CHANGES and not self.is_silent:
            _log.info("more verdicts changed", groups=logged - _LOGGED_CHANGES)
        self._drop_unknown_groups(names)

    def _log(self, group: str, change: VerdictChange, severity: Severity, logged: int) -> int:
        """Log a change, at most `_LOGGED_CHANGES` per tick; return 1 if it is to be logged, also above that, else 0.

        `logged` is the number of changes to be logged at this tick so far.
        """
        if self.is_silent or (severity < Severity.WARNING and change.before in {None, _UNKNOWN}):
            return 0
        if logged < _LOGGED_CHANGES:
            _log.info(
                "verdict changed",
                group=group,
                verdict=change.verdict,
                severity=SEVERITIES[severity],
                before=change.before,
                why=change.sentence,
            )
        return 1

    def _drop_unknown_groups(self, names: Iterable[str]) -> None:
        """Drop the changes of groups that are not in `names`."""
        for group in self._last.keys() - set(names):
            del self._last[group]
            self._changes.pop(group, None)


FORMAT: Final = 1
_DAY_ONE: Final = "day_one.json"
_SHARE_GROUPS: Final = "share_groups"
_FIELDS: Final = operator.attrgetter(*(field.name for field in dataclasses.fields(VerdictChange)))


@dataclasses.dataclass(frozen=True, slots=True)
class StoredVerdicts:
    """The stored verdicts of a process."""

    shown: bytes | None = None
    changes: dict[str, list[VerdictChange]] = dataclasses.field(default_factory=dict)
    rebalances: dict[str, CountsByTime] = dataclasses.field(default_factory=dict)
    day_one: DayOne = dataclasses.field(default_factory=lambda: DayOne(0))
    """The old faults. Files of versions that did not know them have no time of a first look."""
    share_groups: bytes | None = None
    """What is known of share groups."""


class VerdictStore:
    """The verdict file in the folder of a locked checkpoint. Disk errors are logged and counted, never raised."""

    def __init__(self, folder: CheckpointPath, files: SideFiles | None = None) -> None:
        """Count failed writes in `files`."""
        self._path = folder / VERDICTS
        self._files = files or SideFiles()

    def read(self) -> StoredVerdicts | None:
        """Return the verdicts of an earlier process; None if there are none, or they cannot be read."""
        try:
            return _read(self._path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            self._set_aside(error)
            return None

    def write(self, verdicts: StoredVerdicts) -> None:
        """Replace the stored verdicts."""
        with self._files.writing(usage.VERDICTS, self._path):
            _write(self._path, verdicts)

    def _set_aside(self, error: Exception) -> None:
        aside = self._path.with_name(f"{self._path.name}.set-aside")
        _log.warning(
            "stored verdicts set aside; starting without verdicts",
            file=str(self._path),
            why=str(error),
            kept=str(aside),
        )
        with self._files.writing(usage.VERDICTS, aside):
            rename(self._path, aside)


def _read(path: CheckpointPath) -> StoredVerdicts:
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        about = json.loads(archive.read("about.json"))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, this version reads format {FORMAT}")
        shown = archive.read("shown") if "shown" in archive.namelist() else None
        changes = _mapping(json.loads(archive.read("changes.json")))
        rebalances = _mapping(json.loads(archive.read("rebalances.json")))
        stored = archive.read(_DAY_ONE) if _DAY_ONE in archive.namelist() else b'{"first_look": 0}'
        day_one = _mapping(json.loads(stored))
        share_groups = archive.read(_SHARE_GROUPS) if _SHARE_GROUPS in archive.namelist() else None
    return StoredVerdicts(
        shown=shown,
        changes={group: [VerdictChange(*row) for row in rows] for group, rows in changes.items()},
        rebalances={group: [(int(time), int(count)) for time, count in rows] for group, rows in rebalances.items()},
        day_one=DayOne(
            int(day_one["first_look"]), int(day_one.get("evaluated_at", 0)), frozenset(day_one.get("unpaged", ()))
        ),
        share_groups=share_groups,
    )


def _mapping(read: Any) -> dict[str, Any]:
    if not isinstance(read, dict):
        raise TypeError("not an object by group")
    return read


def _write(path: CheckpointPath, verdicts: StoredVerdicts) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("about.json", json.dumps({"format": FORMAT}))
        day_one = dataclasses.asdict(verdicts.day_one) | {"unpaged": sorted(verdicts.day_one.unpaged)}
        archive.writestr(_DAY_ONE, _json(day_one))
        if verdicts.shown is not None:
            archive.writestr("shown", verdicts.shown)
        rows = {group: [_FIELDS(change) for change in each] for group, each in verdicts.changes.items()}
        archive.writestr("changes.json", _json(rows))
        archive.writestr("rebalances.json", _json(verdicts.rebalances))
        if verdicts.share_groups is not None:
            archive.writestr(_SHARE_GROUPS, verdicts.share_groups)
    replace_bytes(path, content.getvalue())


def _json(value: object) -> bytes:
    # Group names are repaired UTF-8, but may still contain lone surrogates.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
