"""The reported resource usage of a running monitor, compared with /proc and the file system."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.support.monitor import Monitor
from tests.support.processes import patience
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(200))]


@pytest.fixture
def scraped(monitor: Monitor) -> Metrics:
    """Return a scrape that has the heap and the files of a batch; both are read every 15 s."""

    def complete() -> bool:
        scrape = monitor.metrics()
        files = scrape.value("lagwarden_checkpoint_files")
        return files is not None and files > 10 and scrape.value("lagwarden_jvm_heap_used_bytes") is not None

    monitor.wait_for(complete, "heap and checkpoint")
    return monitor.metrics()


def test_every_process_is_counted_under_a_role(monitor: Monitor) -> None:
    """The counts are those of /proc: one driver, one JVM, and daemons, one of which forks the workers of all tasks.

    No process that stays has pandas, which PySpark and Arrow would import.
    """
    # The JVM starts a Python process for the source itself; each Python process that the JVM starts counts as a daemon.
    roles = {"daemon": "python_daemon", "helper": "python_daemon", "worker": "python_worker"}

    def counted() -> dict[str, float]:
        return {labels["role"]: value for labels, value in monitor.metrics().rows("lagwarden_processes")}

    def running() -> dict[str, float]:
        none = dict.fromkeys(("driver", "jvm", "python_daemon", "python_worker"), 0)
        return none | Counter(roles.get(each.role, each.role) for each in monitor.processes)

    monitor.wait_for(lambda: counted() == running(), "the number of processes")
    counts = counted()
    assert (counts["driver"], counts["jvm"]) == (1, 1)
    assert counts["python_daemon"] > 0
    daemons = [each for each in monitor.processes if each.role == "daemon" and "stream.spark" in each.command]
    assert len(daemons) == 1
    source = [each for each in monitor.processes if "source_runner" in each.command]
    assert len(source) == 1
    for pid in (monitor.pid, source[0].pid, daemons[0].pid):
        assert "/pandas/" not in Path(f"/proc/{pid}/maps").read_text()


def test_memory_and_cpu_time_are_plausible(scraped: Metrics) -> None:
    """The JVM uses more than 100 MB and 1 s, all less than the machine has, and the heap at most its maximum."""
    memory = scraped.value("lagwarden_memory_bytes", role="jvm")
    assert memory > 100e6
    assert (scraped.value("lagwarden_cpu_seconds_total", role="jvm") or 0) > 1
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert scraped.total("lagwarden_memory_bytes") < machine
    used, maximum = scraped.value("lagwarden_jvm_heap_used_bytes"), scraped.value("lagwarden_jvm_heap_max_bytes")
    assert 10e6 < used <= maximum


def test_checkpoint_has_files_on_a_volume_with_free_space(monitor: Monitor, scraped: Metrics) -> None:
    """The checkpoint has more than 1,000 bytes, and the volume is that of its folder."""
    assert (scraped.value("lagwarden_checkpoint_bytes") or 0) > 1000
    space = os.statvfs(monitor.checkpoint)
    assert scraped.value("lagwarden_checkpoint_volume_bytes") == space.f_blocks * space.f_frsize
    free = scraped.value("lagwarden_checkpoint_volume_free_bytes")
    assert 0 < free <= space.f_blocks * space.f_frsize
