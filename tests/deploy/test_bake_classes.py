"""The creation of the class archive is bounded in time, and a failure is one line and not retried on each run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stream.spark.fake_java import write_java

pytestmark = pytest.mark.spark

BAKE = "import sys, deploy.bake_classes as bake; bake.WORK_SECONDS = 5.0; sys.exit(bake.main())"
FAILING = "echo Error: no memory for a heap; exit 1"
HANGING = "exec cat >/dev/null"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """Return the path of a fake `java`, which the test writes."""
    return tmp_path / "jdk" / "bin" / "java"


def write(java: Path, action: str) -> None:
    """Write a program that counts its starts and runs this action."""
    write_java(java.parents[1], f"echo start >>{java.parent / 'starts'}\n{action}")


def bake(java: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as `make setup` does, with a separate cache."""
    home = java.parents[1]
    return subprocess.run(
        [sys.executable, "-c", BAKE],
        env={**os.environ, "JAVA_HOME": str(home), "LAGWARDEN_CACHE": str(home.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("action", "cause"), [(FAILING, "no memory for a heap"), (HANGING, "no stream ran within 5 s")]
)
def test_failure_is_one_line_and_is_not_retried(java: Path, action: str, cause: str) -> None:
    """The cause of a failing or hanging JVM is printed. The next set-up starts no JVM, and no draft is left."""
    write(java, action)
    first = bake(java)
    starts = (java.parent / "starts").read_text()
    assert (first.returncode, first.stderr) == (1, "")
    _, line = first.stdout.splitlines()
    assert line.startswith("classes: none, Spark starts slower: ")
    assert cause in line

    again = bake(java)
    assert (again.returncode, again.stderr) == (1, "")
    assert cause in again.stdout
    assert (java.parent / "starts").read_text() == starts
    folder = java.parents[2] / "cache" / "classes"
    (failed,) = folder.iterdir()
    assert str(failed) in again.stdout
