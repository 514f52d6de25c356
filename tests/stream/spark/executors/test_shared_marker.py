"""The state is only kept in the driver's checkpoint: an executor with another folder fails its tasks."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream.groups.placement import Placement
from stream.groups.shard import StateLimits
from stream.spark.shard_processor import ShardProcessor


def processor(marker: Path | None) -> ShardProcessor:
    """Return a processor that checks this file."""
    text = None if marker is None else str(marker)
    return ShardProcessor(Placement(4, 1), StateLimits(keep_slots=10), {}, text)


def test_executor_without_the_shared_folder_fails_before_it_keeps_state(tmp_path: Path) -> None:
    """The error names the file. The state variable is not declared."""
    handle: Any = SimpleNamespace(getValueState=lambda *_: pytest.fail("the state was declared"))
    with pytest.raises(FileNotFoundError, match=r"lagwarden.json is not there on .*the checkpoint is not shared"):
        processor(tmp_path / "lagwarden.json").init(handle)


def test_executor_with_the_shared_folder_keeps_state(tmp_path: Path) -> None:
    """The state variable is declared if the marker exists, and also for a task that needs no marker."""
    (tmp_path / "lagwarden.json").touch()
    declared: list[tuple[str, str]] = []
    handle: Any = SimpleNamespace(getValueState=lambda *words: declared.append(words))
    processor(tmp_path / "lagwarden.json").init(handle)
    processor(None).init(handle)
    assert declared == [("shard", "packed binary")] * 2
