"""Distributes the test files to the workers of pytest-xdist: the longest first, and some folders as a whole.

A long file that starts last leaves the other workers idle. The tests of a folder in `SHARING` use one monitor. On
several workers, each worker would start one, and its ticks would slow down the tests beside it until the run ends.

Each run stores the seconds of its tests with one of the `SLOW_MARKS` in pytest's cache. A checkout without a cache uses
`file_seconds.json`. To replace it after a run of all tests:

    python -m tests.tiers.order > tests/tiers/file_seconds.json
"""

import collections
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.tiers.table import SLOW_MARKS

COMMITTED: Final = Path(__file__).with_name("file_seconds.json")
SHARING: Final = ("tests/integration/one_monitor",)
"""Folders whose tests run in one worker with `--dist loadfile`."""
UNKNOWN_SECONDS: Final = 10.0
"""Assumed for a test that is in no record, so that a new file does not start last."""
_CACHE_KEY: Final = "lagwarden/test_seconds"
_WORKER_INPUT: Final = "lagwarden_test_seconds"


class UnitScheduling(LoadFileScheduling):
    """Schedules all tests of a unit, which is a file or a folder in `SHARING`, in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(file_of(nodeid))


class FileOrder:
    """A pytest plugin that sorts the files of a run with slow tests, and stores the seconds of these tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._measured: collections.Counter[str] = collections.Counter()
        # All workers must sort alike, so they get what their controller has read.
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._is_worker = worker is not None
        # Absent with `-p no:cacheprovider`.
        self._cache: pytest.Cache | None = getattr(config, "cache", None)
        stored = self._cache.get(_CACHE_KEY, {}) if self._cache and worker is None else {}
        self._seconds: dict[str, float] = stored if worker is None else worker[_WORKER_INPUT]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the stored seconds to a worker of pytest-xdist, of which `node` is the `WorkerController`."""
        node.workerinput[_WORKER_INPUT] = self._seconds

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> UnitScheduling | None:
        """Return the scheduler of `--dist loadfile`; None for other values, which have schedulers of pytest-xdist."""
        return UnitScheduling(config, log) if config.getvalue("dist") == "loadfile" else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the units, the longest first, if a selected test has one of the `SLOW_MARKS`."""
        if any(item.get_closest_marker(name) for item in items for name in SLOW_MARKS):
            by_file = seconds_by_file([item.nodeid for item in items], self._seconds, committed_seconds())
            seconds = seconds_by_unit(by_file)
            items.sort(key=lambda item: -seconds[unit_of(file_of(item.nodeid))])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of one phase of a test."""
        if any(name in report.keywords for name in SLOW_MARKS):
            self._measured[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Store the seconds of this run beside those of tests that it did not run."""
        if self._measured and not self._is_worker and self._cache:
            rounded = {test: round(seconds, 1) for test, seconds in self._measured.items()}
            self._cache.set(_CACHE_KEY, self._seconds | rounded)


def file_of(test: str) -> str:
    return test.partition("::")[0]


def unit_of(file: str) -> str:
    """Return what one worker runs as a whole: the folder of the file if it is in `SHARING`, else the file."""
    return next((folder for folder in SHARING if file.startswith(f"{folder}/")), file)


def committed_seconds() -> dict[str, float]:
    """Return the seconds by file of `file_seconds.json`."""
    return json.loads(COMMITTED.read_text())


def seconds_by_file(
    tests: Iterable[str], by_test: Mapping[str, float], by_file: Mapping[str, float]
) -> dict[str, float]:
    """Return the expected seconds of each file of these tests.

    It is the sum over its tests in `by_test`; a test that is not in there counts as `UNKNOWN_SECONDS`. A file without
    any test in `by_test` has its seconds of `by_file`, if it is in there.
    """
    tests_in: dict[str, list[str]] = collections.defaultdict(list)
    for test in tests:
        tests_in[file_of(test)].append(test)
    return {
        file: by_file[file]
        if file in by_file and not by_test.keys() & set(names)
        else sum(by_test.get(name, UNKNOWN_SECONDS) for name in names)
        for file, names in tests_in.items()
    }


def seconds_by_unit(by_file: Mapping[str, float]) -> dict[str, float]:
    """Return the sum of the seconds of each unit's files."""
    seconds: collections.Counter[str] = collections.Counter()
    for file, own in by_file.items():
        seconds[unit_of(file)] += own
    return seconds


def main() -> None:
    """Print the seconds by file of the last runs, as `file_seconds.json` has them."""
    by_test = json.loads(Path(".pytest_cache", "v", *_CACHE_KEY.split("/")).read_text())
    by_file = seconds_by_file(by_test, by_test, {})
    longest_first = sorted(by_file, key=lambda file: -by_file[file])
    listed = {file: round(by_file[file]) for file in longest_first if by_file[file] >= 1 and Path(file).exists()}
    print(json.dumps(listed, indent=2))  # noqa: T201 -- the output


if __name__ == "__main__":
    main()
