"""The archive of lagwarden's own packages that executors import: their machines have third-party packages only.

Python imports from the archive, so it is on the PYTHONPATH of every Python process of Spark, before a task has fetched
any file: the daemon of the workers is itself one of its modules.
"""

import importlib.util
import zipfile
from pathlib import Path
from typing import Final

PACKAGES: Final = ("lagwarden",) if __name__.startswith("lagwarden.") else ("decoders", "exporters", "stream")
"""In the wheel, the packages of the repository are in one."""
FILE_NAME: Final = "lagwarden-code.zip"
_FIRST_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The time of all entries, so that the same code gives the same archive."""


def write_code_archive(folder: Path) -> Path:
    """Write the archive to a folder and return its path. Raises OSError."""
    path = folder / FILE_NAME
    with zipfile.ZipFile(path, "w") as archive:
        for package in PACKAGES:
            root = package_folder(package)
            for module in sorted(root.rglob("*.py")):
                entry = zipfile.ZipInfo(str(Path(package, module.relative_to(root))), _FIRST_TIME)
                archive.writestr(entry, module.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def package_folder(package: str) -> Path:
    """Return the folder of an installed package, without importing it."""
    found = importlib.util.find_spec(package)
    assert found is not None  # noqa: S101 -- a package of lagwarden
    assert found.origin is not None  # noqa: S101 -- it is no namespace package
    return Path(found.origin).parent
