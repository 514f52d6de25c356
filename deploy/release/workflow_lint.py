"""The linter of GitHub's workflows, actionlint, built from its Go module: `python -m deploy.release.workflow_lint`.

The module is checked by its checksum and built once into lagwarden's cache folder.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.chart.tools import ToolsError, go_module, run_go
from deploy.release.versions import ROOT
from stream.config.values import cache_folder

MODULE: Final = "github.com/rhysd/actionlint"
VERSION: Final = "v1.7.12"
CHECKSUM: Final = "h1:vQ4GeJN86C0QH+gTUQcs8McmK62OLT3kmakPMtEWYnY="
_LIMIT: Final = 600.0


def actionlint() -> Path:
    """Return the program; build it where it is missing. Raises ToolsError, ToolsUnreachableError without Go."""
    program = cache_folder() / "programs" / f"actionlint-{VERSION}"
    if program.is_file():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent, prefix=".draft-") as folder:
        go_module(MODULE, VERSION, CHECKSUM, folder)
        run_go(["install", f"{MODULE}/cmd/actionlint@{VERSION}"], folder, {"GOBIN": folder})
        Path(folder, "actionlint").replace(program)
    return program


def problems(folder: Path = ROOT / ".github" / "workflows") -> list[str]:
    """Return actionlint's findings in the workflows of a folder, one line each. Raises ToolsError.

    It runs without shellcheck and pyflakes, so that its answer does not depend on the machine.
    """
    workflows = sorted(map(str, folder.glob("*.yml")))
    command = [str(actionlint()), "-oneline", "-no-color", "-shellcheck=", "-pyflakes=", *workflows]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
    if done.returncode not in {0, 1}:
        raise ToolsError(f"actionlint failed: {done.stderr.strip()}")
    return done.stdout.splitlines()


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "workflows: no findings")  # noqa: T201 -- the answer of a check
    sys.exit(bool(found))
