"""The manifest of a checkpoint: its checksum, and files that are none to read."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stream.checkpoint.audit import read_offsets
from stream.checkpoint.files import DamagedError
from stream.checkpoint.lock import take_lock
from stream.checkpoint.manifest import FORMAT, MANIFEST, Layout, Manifest, read_manifest, write_manifest
from stream.errors import Refusal

WRITTEN = Manifest(FORMAT, "cluster", "topic", Layout(16, 50, 8, 10_000, 12), {0: 7, 12: 9}, "1/2")


def changed(path: Path, **values: Any) -> None:
    """Change values of a JSON file; None removes one."""
    content = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def test_manifest_has_a_checksum_over_its_content(tmp_path: Path) -> None:
    """A changed layout is damage; a manifest of an earlier version, without a checksum, is read."""
    write_manifest(tmp_path, WRITTEN)
    assert read_manifest(tmp_path) == WRITTEN
    changed(tmp_path / MANIFEST, crc32=None)
    assert read_manifest(tmp_path) == WRITTEN
    write_manifest(tmp_path, WRITTEN)
    layout = json.loads((tmp_path / MANIFEST).read_text())["layout"]
    changed(tmp_path / MANIFEST, layout=layout | {"sub_shards": 7})
    with pytest.raises(DamagedError, match="does not match its checksum"):
        read_manifest(tmp_path)


def test_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """A pipe as lock, manifest or offsets file is named in one line."""
    for name in ("lock", MANIFEST, "3"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(Refusal, match=r"lock is not a regular file"):
        take_lock(tmp_path)
    for read, name in ((read_manifest, ""), (read_offsets, "3")):
        with pytest.raises(DamagedError, match="is not a regular file"):
            read(tmp_path / name)
