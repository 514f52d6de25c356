"""`python -m sandbox.demo.picture` records the demo and writes docs/pictures/demo.svg."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from sandbox.demo.picture.drawing import drawing
from sandbox.demo.picture.frames import chosen, screens
from sandbox.demo.picture.recording import TerminalRecording, record

PICTURE: Final = Path("docs/pictures/demo.svg")
COLUMNS: Final = 104
ROWS: Final = 28
DURATION: Final = 360
"""Seconds of the run: until every verdict is known and compared."""
COMMAND: Final = ("make", "demo", f"DURATION={DURATION}")
DESCRIPTION: Final = (
    "A terminal with make demo: a broker, traffic and lagwarden start, a table shows ten groups and their verdicts as "
    "they change, and in the end all offsets and lags agree with Kafka's own tool."
)


def main() -> int:
    """Record the demo, or read a recording, and write the picture. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.demo.picture", description="the animated picture of the demo"
    )
    parser.add_argument("--recording", type=Path, help="a recording to draw; default: run the demo")
    parser.add_argument("--keep", type=Path, help="write the recording of the run to this file as well")
    options = parser.parse_args()
    recording = TerminalRecording.read(options.recording) if options.recording else record(COMMAND, COLUMNS, ROWS)
    if options.keep:
        recording.write(options.keep)
    write_picture(recording)
    return 0


def write_picture(recording: TerminalRecording) -> None:
    """Write the picture of the documentation, drawn from a recording, and print its size."""
    frames = chosen(screens(recording))
    PICTURE.write_text(drawing(frames, recording.columns, DESCRIPTION), "utf-8")
    seconds = sum(frame.shown for frame in frames)
    print(f"picture: {len(frames)} frames, {seconds:.0f} s, {PICTURE.stat().st_size // 1024} KiB in {PICTURE}")


if __name__ == "__main__":
    sys.exit(main())
