"""Blobs by Connect's and Kafka Streams' own classes: what was put in comes out."""

from __future__ import annotations

import base64
import collections
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from decoders import blobs
from tests.decoders.conformance.official import NEWEST, compiled

if TYPE_CHECKING:
    from pathlib import Path


def comparable(node: Any) -> Any:
    """Give our fields in the types that JSON has; defaults of fields that the version lacks stay."""
    if isinstance(node, dict):
        return {name: comparable(inner) for name, inner in node.items()}
    if isinstance(node, tuple):
        return [comparable(inner) for inner in node]
    return base64.b64encode(node).decode() if isinstance(node, bytes) else node


@pytest.mark.spark
def test_what_connect_and_streams_wrote_comes_out(tmp_path: Path) -> None:
    """Every version of every hand-written format gives back exactly what its own class was given."""
    done = subprocess.run([*compiled(NEWEST, tmp_path, "Embedded.java"), "3", "120"], check=True, capture_output=True)
    seen: collections.Counter[tuple[str, str]] = collections.Counter()
    for row in done.stdout.decode().split("\n")[:-1]:
        kind, version, raw, text = row.split("\t")
        given: Any = bytes.fromhex(raw)
        fields = getattr(blobs, kind)(given.decode() if kind == "streams_commit_metadata" else given)
        expected = json.loads(text)
        assert isinstance(fields, dict), (kind, version, raw, fields)
        ours = {name: inner for name, inner in comparable(fields).items() if name in expected}
        assert ours == expected, (kind, version, raw)
        assert int(version) == fields["version"]
        seen[kind, version] += 1
    assert len(seen) == 3 + 3 + 11 + 1
    assert min(seen.values()) >= 100
