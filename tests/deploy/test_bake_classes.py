"""The creation of the class archive is bounded in time, and a failure is one line and not retried on each run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stream.spark.fake_java import write_java

pytestmark = pytest.mark.spark

BAKE = "import sys, deploy.bake_classes as bake; bake.WORK_SECONDS = 5.0; sys.exit(bake.main())"
PRINT_PATH = """
import sys
from importlib.metadata import version
from pathlib import Path
from stream.spark.class_archive import ClassArchive
print(ClassArchive.to_write(Path(sys.argv[1]), version("pyspark")).path)
"""
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


def test_existing_archive_is_not_written_again(java: Path) -> None:
    """The next set-up prints the path of the archive without starting a JVM."""
    write(java, FAILING)
    bake(java)
    folder = java.parents[2] / "cache" / "classes"
    (failed,) = folder.iterdir()
    failed.unlink()
    starts = (java.parent / "starts").read_text()
    archive = subprocess.run(
        [sys.executable, "-c", PRINT_PATH, str(folder)],
        env={**os.environ, "JAVA_HOME": str(java.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    folder.joinpath(archive).write_bytes(b"classes")
    done = bake(java)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"classes: {archive}\n", "")
    assert (java.parent / "starts").read_text() == starts
