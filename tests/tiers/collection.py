"""Which test files a run imports: those in which a test can have the marks that `-m` selects.

A run of a few slow tests would else import all test files in each of its workers, to deselect most of their tests.
"""

import functools
import itertools
import re
from pathlib import Path
from typing import Final

from tests.tiers.table import is_core

ROOT: Final = Path(__file__).resolve().parents[2]
_MARK: Final = re.compile(r"\bpytest\.mark\.(\w+)")
_MARKS_OF_FILE: Final = re.compile(r"^pytestmark = (\[.*?^\]|.*?$)", re.MULTILINE | re.DOTALL)
_WORD: Final = re.compile(r"\b(?!and\b|or\b|not\b|True\b|False\b)[^\W\d]\w*")


def may_have_tests(path: Path, expression: str) -> bool:
    """Return whether a test below `path`, a file or a folder, can match an expression of pytest's option `-m`."""
    if not expression:
        return True
    if path.is_dir():
        return any(may_have_tests(file, expression) for file in _test_files(path))
    if not path.name.startswith("test_"):
        return True
    return _can_match(*marks_in(path), expression)


@functools.cache
def marks_in(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the marks that all tests of a file have, and those that some have, as they are written in the file."""
    source = source_of(path)
    of_all = {mark for line in _MARKS_OF_FILE.findall(source) for mark in _MARK.findall(line)}
    if is_core(path.resolve().relative_to(ROOT).as_posix()):
        of_all.add("core")
    return frozenset(of_all), frozenset(_MARK.findall(source)) - of_all


@functools.cache
def source_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def _test_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("test_*.py"))


@functools.cache
def _can_match(of_all: frozenset[str], of_some: frozenset[str], expression: str) -> bool:
    names = set(_WORD.findall(expression))
    choices = sorted(of_some & names)
    for chosen in itertools.product((False, True), repeat=len(choices)):
        marks = of_all | {name for name, is_chosen in zip(choices, chosen, strict=True) if is_chosen}
        if eval(expression, {"__builtins__": {}}, {name: name in marks for name in names}):  # noqa: S307 -- of `-m`
            return True
    return False
