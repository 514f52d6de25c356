"""The OpenTelemetry collector, built once from Go modules into the cache folder: OTLP over HTTP in, a file of JSON out.

`module/go.mod` has the versions, and every module is checked against `module/go.sum`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from sandbox.cache import cache_folder

MODULE: Final = Path(__file__).parent / "module"
_CONFIG: Final = """\
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
exporters:
  file:
    path: {path}
    flush_interval: 100ms
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    metrics:
      receivers: [otlp]
      exporters: [file]
"""


class CollectorMissingError(RuntimeError):
    """The collector is missing and cannot be built; the message is the reason in one line."""


def program() -> Path:
    """Return the path of the built collector of these versions; it may not exist yet."""
    parts = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))
    return cache_folder() / "programs" / f"collector-{hashlib.sha256(parts).hexdigest()[:12]}" / "collector"


def build() -> Path:
    """Return the path of the collector, built if it is missing (minutes of CPU). Raises CollectorMissingError."""
    target = program()
    if target.is_file():
        return target
    go = shutil.which("go")
    if go is None:
        raise CollectorMissingError("the OpenTelemetry collector is built with Go, and there is no go on PATH")
    folder = target.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
        command = [go, "build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", f"{draft}/bin/collector", "."]
        env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        done = subprocess.run(command, cwd=MODULE, env=env, check=False, capture_output=True, text=True)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise CollectorMissingError(f"go build failed: {lines[-1] if lines else done.returncode}")
        with contextlib.suppress(OSError):
            Path(draft, "bin").rename(folder)
    if not target.is_file():
        raise CollectorMissingError(f"{target} could not be created")
    return target


def configuration(port: int, path: Path) -> str:
    """Return a configuration of the collector: receive on a port of loopback, append lines of JSON to a file."""
    return _CONFIG.format(port=port, path=path)


if __name__ == "__main__":
    print(f"collector: {build()}")
