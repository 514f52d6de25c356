"""Where `prometheus`, `promtool` and `amtool` are: on this machine, else Debian's packages unpacked into the cache.

`python -m sandbox.programs.prometheus_tools` fetches what is missing: 30 MB.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from sandbox.programs.debian import PackagesMissingError, unpacked, unpacked_folder

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS: Final = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "amtool": "prometheus-alertmanager",
    "prometheus-alertmanager": "prometheus-alertmanager",
}
"""The programs, and Debian's package of each."""
_HOW: Final = (
    "install Debian's packages prometheus and prometheus-alertmanager, or run "
    "python -m sandbox.programs.prometheus_tools"
)


class ToolMissingError(RuntimeError):
    """A program is not here; the message says how to get it."""


def find_tool(name: str, *, fetch: bool = False) -> str:
    """Give the path of one of PROGRAMS; with `fetch` it is had where it is missing. Raises ToolMissingError."""
    if found := shutil.which(name):
        return found
    package = PROGRAMS[name]
    if not fetch and not unpacked_folder(package).is_dir():
        raise ToolMissingError(f"{name} is not here: {_HOW}")
    try:
        folder: Path = unpacked(package, [package])
    except PackagesMissingError as error:
        raise ToolMissingError(f"{name} is not here: {error}") from error
    return str(folder / "usr" / "bin" / name)


if __name__ == "__main__":
    for each in PROGRAMS:
        print(f"prometheus-tools: {find_tool(each, fetch=True)}")
