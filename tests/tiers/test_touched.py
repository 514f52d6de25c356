"""The tiers of slow tests: each test has a place, and a submission runs the tests of what it changes."""

from pathlib import Path
from typing import Final

import pytest

from tests.tiers.collection import may_have_tests
from tests.tiers.order import committed_seconds
from tests.tiers.table import CORE, TOUCHED_BY
from tests.tiers.touched import slow_files, subjects_of, touched, within

ROOT: Final = Path(__file__).resolve().parents[2]
QUICK: Final = "not (spark or kafka or long)"
MARK: Final = "pytest.mark"
"""Not written with a name behind it: this file is quick."""


def test_tables_and_slow_tests_name_what_exists() -> None:
    """No removed path stays in a table; a change touches each slow test by a row or by the folder that it mirrors."""
    named = {*CORE, *TOUCHED_BY, *committed_seconds(), *(path for paths in TOUCHED_BY.values() for path in paths)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    without_folder = [test for test in slow_files() if not all((ROOT / path).exists() for path in subjects_of(test)[1])]
    assert without_folder == []
    assert not [test for test in slow_files() if subjects_of(test)[1] == (".",)]


@pytest.mark.parametrize(
    ("changed", "runs", "does_not"),
    [
        ("deploy/helm/lagwarden/values.yaml", "tests/chart/test_golden.py", "tests/page/test_pages.py"),
        ("exporters/page/overview.py", "tests/page/test_pages.py", "tests/chart/test_golden.py"),
        ("stream/spark/object_store.py", "tests/integration/object_store/test_monitor.py", "tests/page"),
        ("stream/cluster/transport/login/sasl.py", "tests/stream/cluster/broker/test_logins.py", "tests/container"),
        ("tests/container/test_image.py", "tests/container/test_image.py", "tests/page/test_pages.py"),
        ("README.md", "", "tests"),
    ],
)
def test_change_runs_the_tests_of_its_folder(changed: str, runs: str, does_not: str) -> None:
    """The tests of a changed file run, those of other folders do not."""
    run = touched(slow_files(), [changed])
    assert not runs or runs in run
    assert not [test for test in run if test.startswith(does_not)]


def test_changed_test_runs_first_and_the_rest_in_the_order_of_the_table() -> None:
    """A submission that touches too much runs what ranks first, and names what it leaves out."""
    changed = ["tests/stream/cluster/broker/test_logins.py", "exporters/page/overview.py", "stream/service/run.py"]
    ranked = touched(slow_files(), changed)
    first, second, third = changed[0], "tests/integration/failures/test_failures.py", "tests/page/test_pages.py"
    assert ranked[0] == first
    assert ranked.index(second) < ranked.index(third)
    assert within(["a", "b", "c"], {"a": 5.0, "b": 6.0, "c": 1.0}, most=10.0) == (["a"], ["b", "c"])


@pytest.mark.parametrize(
    ("source", "expression", "imported"),
    [
        ("def test_a(): ...", QUICK, True),
        ("def test_a(): ...", "kafka", False),
        (f"pytestmark = {MARK}.kafka\n", QUICK, False),
        (f"pytestmark = [\n    {MARK}.kafka,\n    {MARK}.long,\n]\n", "kafka and not long", False),
        (f"@{MARK}.kafka\ndef test_a(): ...", QUICK, True),
        (f"@{MARK}.kafka\ndef test_a(): ...", "kafka and not long", True),
        (f"pytestmark = {MARK}.kafka\n@{MARK}.long\ndef test_a(): ...", "kafka and long", True),
        (f"pytestmark = {MARK}.kafka\n@{MARK}.long\ndef test_a(): ...", "long and not kafka", False),
        ("def test_a(): ...", "", True),
    ],
)
def test_file_is_imported_if_a_test_can_have_the_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, expression: str, *, imported: bool
) -> None:
    """Marks of the file hold for all of its tests; those of a test or a parameter for some."""
    monkeypatch.setattr("tests.tiers.collection.ROOT", tmp_path)
    file = tmp_path / "test_a.py"
    file.write_text(source)
    assert may_have_tests(file, expression) == may_have_tests(tmp_path, expression) == imported
