"""Open descriptors per role, and the limit on them."""

import os
from pathlib import Path

from stream.service.processes import Descriptors

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             96384                96384                processes
Max open files            {}                 1048576              files
"""


def process(proc: Path, number: int, opened: int, limit: str, children: tuple[int, ...] = ()) -> None:
    """Write the /proc files of a process with two threads, of which the second started the children."""
    folder = proc / str(number)
    (folder / "fd").mkdir(parents=True)
    for descriptor in range(opened):
        (folder / "fd" / str(descriptor)).touch()
    (folder / "limits").write_text(LIMITS.format(limit))
    for thread, started in ((number, ()), (number + 1000, children)):
        (folder / "task" / str(thread)).mkdir(parents=True)
        (folder / "task" / str(thread) / "children").write_text("".join(f"{child} " for child in started))


def rows(descriptors: Descriptors) -> dict[str, tuple[int, int]]:
    return {row["role"]: (row["open"], row["limit"]) for row in descriptors.table().to_pylist()}


def test_the_process_nearest_to_its_limit_represents_its_role(tmp_path: Path) -> None:
    """Neither the most descriptors nor the sum represents a role, because each process has its own limit."""
    process(tmp_path, 1, 1, "1024", (2, 3))
    process(tmp_path, 2, 40, "4096")
    process(tmp_path, 3, 20, "64")
    assert rows(Descriptors(1, tmp_path))["jvm"] == (20, 64)


def test_process_that_has_ended_is_left_out(tmp_path: Path) -> None:
    """A process that has ended is ignored, although its parent may still list it as a child."""
    process(tmp_path, 1, 1, "1024", (2,))
    assert rows(Descriptors(1, tmp_path)) == {"driver": (1, 1024)}


def test_proc_is_not_read_for_every_scrape(tmp_path: Path) -> None:
    """Values are cached for five seconds."""
    now = [100.0]
    descriptors = Descriptors(1, tmp_path, lambda: now[0])
    process(tmp_path, 1, 1, "1024")
    assert rows(descriptors) == {"driver": (1, 1024)}
    (tmp_path / "1" / "fd" / "1").touch()
    now[0] = 104.9
    assert rows(descriptors) == {"driver": (1, 1024)}
    now[0] = 105.0
    assert rows(descriptors) == {"driver": (2, 1024)}


def test_own_process_is_read() -> None:
    """An opened file is one more descriptor in the real /proc."""
    before = rows(Descriptors(os.getpid()))["driver"]
    with Path(os.devnull).open():
        assert rows(Descriptors(os.getpid()))["driver"] == (before[0] + 1, before[1])
