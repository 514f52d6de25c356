"""Blobs written by the classes of Connect and Kafka Streams are decoded to the original fields."""

import base64
import collections
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from decoders import blobs
from tests.decoders.conformance.official import COMPLETE, compiled


def comparable(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: comparable(inner) for name, inner in node.items()}
    if isinstance(node, tuple):
        return [comparable(inner) for inner in node]
    return base64.b64encode(node).decode() if isinstance(node, bytes) else node


def reduced(node: Any, other: Any) -> Any:
    """Return a node with the names that another one has too: the hosts of Kafka Streams are not decoded."""
    if isinstance(node, dict):
        return {name: reduced(inner, other[name]) for name, inner in node.items() if name in other}
    if isinstance(node, list) and len(node) == len(other):
        return [reduced(*both) for both in zip(node, other, strict=True)]
    return node


@pytest.mark.spark
def test_blobs_of_connect_and_streams_are_decoded_to_the_original_fields(tmp_path: Path) -> None:
    """Every version of every format gives the fields that its own class was given."""
    process = subprocess.run(
        [*compiled(COMPLETE, tmp_path, "Embedded.java"), "3", "120"], check=True, capture_output=True
    )
    seen: collections.Counter[tuple[str, str]] = collections.Counter()
    for row in process.stdout.decode().split("\n")[:-1]:
        kind, version, raw, text = row.split("\t")
        fields = getattr(blobs, kind)(bytes.fromhex(raw))
        expected = json.loads(text)
        assert isinstance(fields, dict), (kind, version, raw, fields)
        ours = comparable(fields)
        assert reduced(ours, expected) == reduced(expected, ours), (kind, version, raw)
        assert int(version) == fields["version"]
        seen[kind, version] += 1
    assert len(seen) == 3 + 3 + 11
    assert min(seen.values()) >= 100
