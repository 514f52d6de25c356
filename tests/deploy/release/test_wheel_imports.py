"""The files of the wheel, without the repository on `sys.path` and without a registry: all that it needs is in it."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

from deploy.release.artifacts import build_wheel
from deploy.release.versions import ROOT, project_version
from tests.deploy.release.test_artifacts import BESIDE

_IMPORT: Final = """
import importlib, pathlib, pkgutil, sys
folder = sys.argv[1]
names = [module.name for module in pkgutil.walk_packages([folder])]
top = {name.partition(".")[0] for name in names}
print(*sorted(top))
for name in names:
    if not name.endswith("__main__"):
        module = importlib.import_module(name)
        assert module.__file__ is None or module.__file__.startswith(folder), module
assert not [path for path in sys.path if pathlib.Path(path or ".").resolve() == pathlib.Path(sys.argv[2])]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    target = folder / "installed"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(target))
    subprocess.run([sys.executable, *install, str(build_wheel(folder))], cwd=folder, check=True)
    return target


def run(installed: Path, *arguments: str) -> str:
    """Run Python in an empty folder, with the installed files and the dependencies; return its output."""
    # Without `site`, the editable installation of the repository is not on the path.
    paths = (str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=installed.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_console_script_prints_the_version(installed: Path) -> None:
    """The script that pip has made runs the installed command line."""
    assert run(installed, str(installed / "bin" / "lagwarden"), "--version").split() == ["lagwarden", project_version()]


def test_every_module_is_imported_from_the_wheel(installed: Path) -> None:
    """All modules of the packages find what they import and read, without the repository."""
    assert run(installed, "-c", _IMPORT, str(installed), str(ROOT)).split() == ["lagwarden", BESIDE]
