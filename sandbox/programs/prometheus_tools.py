"""The paths of `prometheus`, `promtool` and `amtool`: installed ones, else Debian packages unpacked into the cache.

`python -m sandbox.programs.prometheus_tools` fetches what is missing: 30 MB.
"""

import shutil
from pathlib import Path
from typing import Final

from sandbox.programs.debian import PackagesMissingError, unpacked, unpacked_folder

PROGRAMS: Final = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "amtool": "prometheus-alertmanager",
    "prometheus-alertmanager": "prometheus-alertmanager",
}
"""Program -> Debian package."""
_HOW: Final = (
    "install Debian's packages prometheus and prometheus-alertmanager, or run "
    "python -m sandbox.programs.prometheus_tools"
)


class ToolMissingError(RuntimeError):
    """A program is missing; the message says how to install it."""


def find_tool(name: str, *, fetch: bool = False) -> str:
    """Return the path of one of PROGRAMS; with `fetch` a missing one is fetched. Raises ToolMissingError."""
    if found := shutil.which(name):
        return found
    package = PROGRAMS[name]
    if not fetch and not unpacked_folder(package).is_dir():
        raise ToolMissingError(f"{name} is missing: {_HOW}")
    try:
        folder: Path = unpacked(package, [package])
    except PackagesMissingError as error:
        raise ToolMissingError(f"{name} is missing: {error}") from error
    return str(folder / "usr" / "bin" / name)


if __name__ == "__main__":
    for each in PROGRAMS:
        print(f"prometheus-tools: {find_tool(each, fetch=True)}")
