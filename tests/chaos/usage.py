"""Resource usage of a monitor: descriptors, threads and memory per role, and files and bytes of its checkpoint."""

import contextlib
import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.support.monitor import Monitor
from tests.support.processes import Role

WATCHED: Final[tuple[Role, ...]] = ("driver", "jvm", "daemon", "worker")
MEBIBYTE: Final = 1024 * 1024
CHECKPOINT_FILES: Final = "checkpoint files"
CHECKPOINT_MEBIBYTES: Final = "checkpoint MiB"

Sample = dict[str, float]
"""One value per series; the series of a role are called `descriptors jvm`, `threads jvm`, `PSS MiB jvm` and so on."""


def sample(monitor: Monitor) -> Sample:
    """Return the current usage of the monitor, without processes that end meanwhile."""
    total: Counter[str] = Counter()
    for process in monitor.processes:
        if process.role in WATCHED:
            with contextlib.suppress(OSError):
                total.update(_process_usage(process.pid, process.role))
    files = [size for path in monitor.checkpoint.rglob("*") if (size := _file_size(path)) is not None]
    total[CHECKPOINT_FILES] = len(files)
    return {**total, CHECKPOINT_MEBIBYTES: sum(files) / MEBIBYTE}


def _process_usage(pid: int, role: str) -> Mapping[str, int]:
    folder = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    # Of pages that forked workers share, PSS counts the share of each, so that the sum over processes is right.
    memory = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    return {
        f"processes {role}": 1,
        f"descriptors {role}": sum(1 for _ in (folder / "fd").iterdir()),
        f"threads {role}": int(status["Threads"]),
        f"PSS MiB {role}": int(memory["Pss"].split()[0]) // 1024,
        f"RSS MiB {role}": int(memory["Rss"].split()[0]) // 1024,
    }


def _file_size(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        if path.is_file():
            return path.stat().st_size
    return None


def write_csv(path: Path, minutes: Sequence[float], samples: Sequence[Sample]) -> None:
    """Write all samples, one line each."""
    names = sorted({name for each in samples for name in each})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["minute", *names])
        for minute, each in zip(minutes, samples, strict=True):
            writer.writerow([f"{minute:.3f}", *(f"{each.get(name, 0):g}" for name in names)])
