"""`install.sh` prints a missing requirement in one line, and installs no package twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "sandbox" / "programs" / "install.sh"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder for PATH with the few programs that the script needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "cat", "dirname", "sha256sum", "grep", "tail", "tee", "awk", "touch", "rm"):
        found = next(each for place in ("/usr/bin", "/bin") if (each := Path(place, name)).exists())
        (folder / name).symlink_to(found)
    return folder


def install(venv: Path, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script with only this PATH and environment."""
    return subprocess.run(
        ["/bin/bash", SCRIPT, venv],
        env={"PATH": str(path), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def program(folder: Path, name: str, script: str) -> Path:
    """Write an executable into the folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_missing_python_is_one_line(programs: Path, tmp_path: Path) -> None:
    """The line names the versions that fit and the variable for another place."""
    done = install(tmp_path / "venv", programs)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        (
            "setup: no Python 3.11, 3.12 or 3.13 found: install one with its venv module, or give its path: "
            "make setup PYTHON=/path/to/python3"
        )
    ]


UNFIT = [
    pytest.param("exit 127", "does not run or is not Python 3.11, 3.12 or 3.13", id="a version manager's stub"),
    pytest.param(
        'case "$*" in *ensurepip*) exit 1;; esac', "has no ensurepip (Debian: the package python3-venv)", id="no venv"
    ),
]


@pytest.mark.parametrize(("script", "fault"), UNFIT)
def test_unfit_python_of_the_variable_is_refused(programs: Path, tmp_path: Path, script: str, fault: str) -> None:
    """The script does not use another Python instead."""
    given = program(programs, "given", script)
    program(programs, "python3.12", "exit 0")
    done = install(tmp_path / "venv", programs, PYTHON=str(given))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"setup: {given} {fault}: give another one with PYTHON="]


@pytest.mark.parametrize(("script", "fault"), UNFIT)
def test_unfit_python_of_the_path_is_skipped(programs: Path, tmp_path: Path, script: str, fault: str) -> None:
    """The script uses the next version, and needs no Java."""
    assert fault
    program(programs, "python3.11", script)
    program(programs, "python3.12", f'echo "$*" >>{tmp_path / "calls"}; case "$*" in "-m venv"*) exit 3;; esac')
    done = install(tmp_path / "venv", programs)
    assert done.returncode == 3, done.stderr
    assert f"-m venv --clear {tmp_path / 'venv'}" in (tmp_path / "calls").read_text()


def test_python_without_venv_is_named_when_it_is_the_only_one(programs: Path, tmp_path: Path) -> None:
    """Debian may have only the interpreter. The line names the package to install."""
    program(programs, "python3.13", 'case "$*" in *ensurepip*) exit 1;; esac')
    done = install(tmp_path / "venv", programs)
    assert done.stderr.splitlines() == ["setup: python3.13 has no ensurepip (Debian: the package python3-venv)"]


def test_failed_download_is_one_line_and_leaves_no_stamp(programs: Path, tmp_path: Path) -> None:
    """The error of pip is shown once, and the next run starts again."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / ".installed").write_text("from before\n")
    program(venv / "bin", "python", 'case "$*" in *--version*) exit 0;; esac; echo "ERROR: no route to host"; exit 1')
    done = install(venv, programs, PYTHON=sys.executable)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "pip failed: ERROR: no route to host (check the network;" in done.stderr
    assert not (venv / ".installed").exists()


def test_second_run_installs_nothing(programs: Path, tmp_path: Path) -> None:
    """A run with a valid stamp starts no program, and changed requirements invalidate the stamp."""
    venv = tmp_path / "venv"
    calls = tmp_path / "calls"
    (venv / "bin").mkdir(parents=True)
    program(venv / "bin", "python", f'echo "$*" >>{calls}')
    first = install(venv, programs, PYTHON=sys.executable)
    assert first.returncode == 0, first.stderr
    count = len(calls.read_text().splitlines())
    again = install(venv, programs, PYTHON=sys.executable)
    assert again.stdout == f"setup: {venv} is up to date\n"
    assert len(calls.read_text().splitlines()) == count
    (venv / ".installed").write_text("made from other requirements\n")
    install(venv, programs, PYTHON=sys.executable)
    assert len(calls.read_text().splitlines()) > count


def test_pinned_pip_installs_the_rest(programs: Path, tmp_path: Path) -> None:
    """The pinned pip is installed before the rest: an older pip tries newer releases, which have no hash."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    program(venv / "bin", "python", f'echo "$*" >>{tmp_path / "calls"}')
    assert install(venv, programs, PYTHON=sys.executable).returncode == 0
    first, second, _ = [call for call in (tmp_path / "calls").read_text().splitlines() if " install " in call]
    assert first.endswith(f"-r {venv / 'pip.txt'}")
    assert second.endswith("requirements/dev.txt")
    (requirement,) = [line for line in (venv / "pip.txt").read_text().splitlines() if not line.startswith(" ")]
    assert requirement.startswith("pip==")


def test_requirements_are_hashed_and_without_addresses() -> None:
    """Every pinned package has a hash, and no requirements file contains an address."""
    for name in ("run.txt", "dev.txt"):
        text = (SCRIPT.parents[2] / "requirements" / name).read_text()
        entries = [entry for entry in text.replace("\\\n", " ").splitlines() if entry and entry[0] not in "# "]
        assert entries
        assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
        assert "://" not in text
