"""Programs of the tests that are built once from Go modules into the cache folder.

The `go.mod` of a module has the versions, and every module is checked against its `go.sum`.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from sandbox.cache import cache_folder


class GoProgramMissingError(RuntimeError):
    """A program is missing and cannot be built; the message is the reason in one line."""


def program_path(module: Path, name: str) -> Path:
    """Return the path of the built program of the module's versions and source; it may not exist yet."""
    parts = b"".join((module / part).read_bytes() for part in ("go.mod", "go.sum", "main.go"))
    return cache_folder() / "programs" / f"{name}-{hashlib.sha256(parts).hexdigest()[:12]}" / name


def built(module: Path, name: str, title: str) -> Path:
    """Return the path of the program, built if it is missing. `title` names it in errors: GoProgramMissingError."""
    target = program_path(module, name)
    if target.is_file():
        return target
    go = shutil.which("go")
    if go is None:
        raise GoProgramMissingError(f"{title} is built with Go, and there is no go on PATH")
    folder = target.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
        command = [go, "build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", f"{draft}/bin/{name}", "."]
        env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        done = subprocess.run(command, cwd=module, env=env, check=False, capture_output=True, text=True)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise GoProgramMissingError(f"go build failed: {lines[-1] if lines else done.returncode}")
        with contextlib.suppress(OSError):
            Path(draft, "bin").rename(folder)
    if not target.is_file():
        raise GoProgramMissingError(f"{target} could not be created")
    return target
