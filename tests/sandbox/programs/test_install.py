"""`install.sh` prints a missing or unfit requirement in one line, and all requirements have hashes."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

SCRIPT: Final = Path(__file__).parents[3] / "sandbox" / "programs" / "install.sh"


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
    folder.mkdir(parents=True, exist_ok=True)
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


NO_VENV: Final = 'case "$*" in *ensurepip*) exit 1;; esac'
UNFIT: Final = [
    pytest.param("exit 127", "does not run or is not Python 3.11, 3.12 or 3.13", id="a version manager's stub"),
    pytest.param(NO_VENV, "has no ensurepip (Debian: the package python3-venv)", id="no venv"),
]


@pytest.mark.parametrize(("script", "fault"), UNFIT)
def test_unfit_python_is_refused_or_skipped(programs: Path, tmp_path: Path, script: str, fault: str) -> None:
    """One that the variable names is an error. One on PATH is skipped for the next version, which needs no Java."""
    given = program(programs, "given", script)
    program(programs, "python3.11", script)
    program(programs, "python3.12", f'echo "$*" >>{tmp_path / "calls"}; case "$*" in "-m venv"*) exit 3;; esac')
    refused = install(tmp_path / "venv", programs, PYTHON=str(given))
    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [f"setup: {given} {fault}: give another one with PYTHON="]
    done = install(tmp_path / "venv", programs)
    assert done.returncode == 3, done.stderr
    assert f"-m venv --clear {tmp_path / 'venv'}" in (tmp_path / "calls").read_text()


def test_requirements_are_hashed_and_without_addresses() -> None:
    """Every pinned package has a hash, and no requirements file contains an address."""
    for name in ("run.txt", "dev.txt", "demo.txt", "build.txt"):
        text = (SCRIPT.parents[2] / "requirements" / name).read_text()
        entries = [entry for entry in text.replace("\\\n", " ").splitlines() if entry and entry[0] not in "# "]
        assert entries
        assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
        assert "://" not in text
