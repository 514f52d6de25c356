"""Truncating the end of a log file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.kafka.log_truncation import truncate_log

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_is_truncated_at_a_batch_border(tmp_path: Path) -> None:
    """The requested share remains, rounded to whole batches, and the index is removed."""

    def batch(offset: int) -> bytes:
        return offset.to_bytes(8, "big") + (50).to_bytes(4, "big") + bytes(50)

    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(batch(number) for number in range(10)))
    log.with_suffix(".index").write_bytes(b"")
    end = truncate_log(tmp_path, 0.5)
    assert 4 <= end <= 5
    assert log.read_bytes() == b"".join(batch(number) for number in range(end))
    assert not log.with_suffix(".index").exists()
