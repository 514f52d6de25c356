"""Prints the slow test files that `.ci/run` runs after the core: those of what a submission changes.

    python -m tests.tiers.touched [--base REVISION]

compares the tree with a revision: `--base`, else that of the variable BASE, else the newest commit that is more than
`ONE_SUBMISSION` older than the last one; without any such commit, everything counts as changed. Changed test files come
first, each in the order of the table's rows. Beyond `MOST_SECONDS` of recorded time the rest is named on stderr and
left to `make full`.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.tiers.collection import may_have_tests
from tests.tiers.order import committed_seconds
from tests.tiers.table import BY_HAND, FULL_ONLY, SLOW_MARKS, TOUCHED_BY, is_below

ROOT: Final = Path(__file__).resolve().parents[2]
MOST_SECONDS: Final = 1000.0
"""The sum of the recorded seconds of the files that one submission runs; three files run at a time."""
UNKNOWN_SECONDS: Final = 30.0
"""Assumed for a file without recorded seconds."""
ONE_SUBMISSION: Final = 4 * 3600
"""Seconds within which the commits of one submission are made."""
EXPRESSION: Final = (
    f"({' or '.join(SLOW_MARKS)}) and not (core and not long or {' or '.join(BY_HAND)} or chaos and long"
    f" or {FULL_ONLY})"
)
"""The tests of these files that are neither quick, nor of the core, nor run by hand, as pytest's option `-m`."""


def slow_files() -> list[str]:
    """Return the files that have tests outside the quick tier and the core, as paths from the root of the project."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file.relative_to(ROOT).as_posix() for file in files if may_have_tests(file, EXPRESSION)]


def subjects_of(test: str) -> tuple[int, tuple[str, ...]]:
    """Return the rank of a test file, and the files and folders that it tests."""
    for rank, (tests, tested) in enumerate(TOUCHED_BY.items()):
        if is_below(test, (tests,)):
            return rank, tested
    mirrored = next(
        (folder for folder in Path(test).relative_to("tests").parents if (ROOT / folder).is_dir()), Path("tests")
    )
    return len(TOUCHED_BY), (mirrored.as_posix(),)


def touched(tests: Iterable[str], changed: Sequence[str]) -> list[str]:
    """Return the tests that a change of these files touches, by rank."""
    ranked = []
    for test in tests:
        rank, subjects = subjects_of(test)
        if test in changed or any(is_below(path, subjects) for path in changed):
            ranked.append((test not in changed, rank, test))
    return [test for *_, test in sorted(ranked)]


def within(tests: Iterable[str], seconds: Mapping[str, float], most: float) -> tuple[list[str], list[str]]:
    """Divide ranked tests into those that run within `most` seconds, and those that are left out."""
    run, left_out, used = [], [], 0.0
    for test in tests:
        used += seconds.get(test, UNKNOWN_SECONDS)
        (run if used <= most or not run else left_out).append(test)
    return run, left_out


def changed_files(base: str) -> list[str]:
    """Return the files that differ from a revision, all tracked files without one.

    Raises CalledProcessError if git knows no such revision.
    """
    base = base or _git("rev-list", "--max-count=1", f"--before={_last_commit() - ONE_SUBMISSION}", "HEAD").strip()
    return _git("diff", "--name-only", base).splitlines() if base else _git("ls-files").splitlines()


def _last_commit() -> int:
    return int(_git("log", "--max-count=1", "--format=%ct"))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tiers.touched")
    parser.add_argument("--base", default=os.environ.get("BASE", ""), help="the revision to compare with")
    changed = changed_files(parser.parse_args().base)
    run, left_out = within(touched(slow_files(), changed), committed_seconds(), MOST_SECONDS)
    sys.stdout.writelines(f"{test}\n" for test in run)
    if left_out:
        sys.stderr.write("left to `make full`, because the submission touches more than one may run:\n")
        sys.stderr.writelines(f"  {test}\n" for test in left_out)


if __name__ == "__main__":
    main()
