"""Compares what the clients write on a broker of another release: `python -m sandbox.recorded_clients.compare VERSION`.

It records them in a temporary folder, and prints the rows of `docs/clients.md` that are not those of the captures.
"""

import difflib
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sandbox.kafka.tools import release
from sandbox.recorded_clients.clients import CLIENTS
from sandbox.recorded_clients.page import tables
from sandbox.recorded_clients.record import record


def differences(version: str) -> list[str]:
    """Return the changed rows as lines that begin with - (the page) or + (this release)."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        record([client for client in CLIENTS if release(client.since) <= release(version)], folder, version)
        seen = _lines(tables(folder))
    names = {line.split(" | ")[0] for line in seen}
    known = [line for line in _lines(tables()) if line.split(" | ")[0] in names]
    return [line for line in difflib.ndiff(known, seen) if line.startswith(("-", "+"))]


def _lines(parts: Iterable[str]) -> list[str]:
    """Return the lines of the tables without examples of texts, which differ in each recording."""
    return re.sub(", such as `[^`]*`", "", "".join(parts)).splitlines()


def main(version: str) -> int:
    """Print the differences. Returns the exit code: 1 if there is one."""
    lines = differences(version)
    print("\n".join(lines) or f"the clients write on {version} what docs/clients.md says")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
