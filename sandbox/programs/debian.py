"""Programs from Debian packages, unpacked into the cache folder: nothing is installed or changed on the machine."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sandbox.cache import cache_folder


class PackagesMissingError(RuntimeError):
    """The packages are missing and cannot be fetched; the message gives the reason in one line."""


def unpacked_folder(name: str) -> Path:
    """Return the folder of a set of unpacked packages; it may not exist yet."""
    return cache_folder() / "debian" / name


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """Return the folder with these packages unpacked; fetch them where it is missing. Raises PackagesMissingError."""
    folder = unpacked_folder(name)
    if folder.is_dir():
        return folder
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise PackagesMissingError(f"{name} is installed from Debian packages, and this machine has no apt-get or dpkg")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
        for package in _download(packages, Path(draft)):
            _run(["dpkg", "-x", str(package), f"{draft}/root"])
        with contextlib.suppress(OSError):
            Path(draft, "root").rename(folder)
    if not folder.is_dir():
        raise PackagesMissingError(f"{folder} could not be created")
    return folder


def _download(packages: Sequence[str], target: Path) -> list[Path]:
    """Download the packages, after an update of the package lists where the first attempt fails."""
    # By default apt downloads as its own user, who has no write access here, and prints a warning.
    command = ["apt-get", "--quiet", "download", *packages, "-o", "APT::Sandbox::User=root"]
    try:
        _run(command, target)
    except PackagesMissingError:
        _run(["apt-get", "--quiet", "update"])
        _run(command, target)
    return sorted(target.glob("*.deb"))


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise PackagesMissingError(f"{command[0]} failed: {lines[-1] if lines else done.returncode}")
