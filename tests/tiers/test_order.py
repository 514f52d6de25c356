"""The distribution of the test files: the longest first, by the known durations of their tests, and shared folders."""

from pathlib import Path
from typing import Final

import pytest

from tests.tiers.order import SHARING, UNKNOWN_SECONDS, committed_seconds, seconds_by_file, seconds_by_unit, unit_of

ROOT: Final = Path(__file__).resolve().parents[2]


def test_seconds_of_a_file_are_those_of_its_selected_tests() -> None:
    """A measured test that is not selected does not count, and the committed seconds are not used."""
    measured = {"a.py::one": 3.0, "a.py::two": 4.0, "b.py::one": 5.0}
    assert seconds_by_file(["a.py::two", "b.py::one"], measured, {"a.py": 100.0}) == {"a.py": 4.0, "b.py": 5.0}


def test_file_without_a_measured_test_has_its_committed_seconds() -> None:
    """In a checkout without a test run, a file has its committed seconds."""
    assert seconds_by_file(["a.py::one", "a.py::two"], {"b.py::one": 1.0}, {"a.py": 30.0}) == {"a.py": 30.0}


def test_unknown_test_counts_as_a_long_one() -> None:
    """A new file does not start last, and a new test makes its file longer."""
    seconds = seconds_by_file(["a.py::new", "b.py::old", "b.py::new"], {"b.py::old": 2.0}, {"b.py": 50.0})
    assert seconds == {"a.py": UNKNOWN_SECONDS, "b.py": 2.0 + UNKNOWN_SECONDS}


def test_folder_that_shares_is_as_long_as_all_its_files() -> None:
    """One worker runs such a folder, so it starts before a file that is longer than each of the folder's files."""
    (folder,) = SHARING
    by_file = {f"{folder}/test_a.py": 3.0, f"{folder}/test_b.py": 4.0, "tests/test_c.py": 5.0}
    assert seconds_by_unit(by_file) == {folder: 7.0, "tests/test_c.py": 5.0}
    assert unit_of(f"{folder}_of_others/test_a.py") == f"{folder}_of_others/test_a.py"


@pytest.mark.parametrize("folder", SHARING)
def test_folder_that_shares_has_a_fixture_of_package_scope(folder: str) -> None:
    """The `conftest.py` of each such folder has a fixture of package scope."""
    assert 'scope="package"' in (ROOT / folder / "conftest.py").read_text()


def test_committed_files_exist() -> None:
    """A removed or renamed file must be removed from the list. The docstring of the module has the command."""
    assert [file for file in committed_seconds() if not (ROOT / file).is_file()] == []
