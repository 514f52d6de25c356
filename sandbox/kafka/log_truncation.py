"""Truncates the end of a log, as a lost disk or an unclean leader election does.

Neither can be produced on one broker: an election needs a replica that is behind, and deleteRecords moves only the log
start offset. Therefore the files of a stopped broker are shortened at a batch border, and their indexes removed, which
the broker rebuilds when it starts; the result is a valid log that ends earlier.
"""

from pathlib import Path

from decoders.log.batch import FRAME


def truncate_log(folder: Path, share: float) -> int:
    """Keep about this share of the newest segment of a partition; returns the new end offset of the log."""
    segment = max(folder.glob("*.log"))
    raw = segment.read_bytes()
    at, kept = 0, 0
    end = int(segment.stem)
    while at + FRAME <= len(raw) and at < share * len(raw):
        kept, end = at, int.from_bytes(raw[at : at + 8], "big")
        at += FRAME + int.from_bytes(raw[at + 8 : at + 12], "big")
    with segment.open("r+b") as file:
        file.truncate(kept)
    for index in (".index", ".timeindex", ".txnindex"):
        segment.with_suffix(index).unlink(missing_ok=True)
    for state in folder.glob("*.snapshot"):
        state.unlink()
    return end
