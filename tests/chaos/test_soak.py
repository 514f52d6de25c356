"""Twenty minutes under traffic: resources of each process and the size of the checkpoint stay flat."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.flatness import HEADER, check_flatness
from tests.chaos.traffic import continuous_traffic
from tests.chaos.truth import compare
from tests.chaos.usage import Sample, sample, write_csv
from tests.conftest import MakeBroker
from tests.support.monitor import Monitor
from tests.support.processes import patience

MINUTES: Final = float(os.environ.get("SOAK_MINUTES") or 20)
SAMPLES: Final = 120
SEED: Final = 13

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(60 * MINUTES + 600))]


def csv_path() -> Path:
    """Return the path of the samples: a folder outside the tree, or the one that SOAK_FOLDER names."""
    folder = os.environ.get("SOAK_FOLDER") or Path(tempfile.gettempdir()) / "lagwarden-soak"
    return Path(folder) / f"{time.strftime('%Y-%m-%dT%H%M%SZ', time.gmtime())}.csv"


def test_resource_usage_is_flat(
    make_broker: MakeBroker, tmp_path: Path, report: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No descriptor, thread, memory or checkpoint series grows after the warm-up, and all values equal the broker's.

    The serial collector leaves garbage in the old generation for longer than the soak lasts, and touches its pages one
    by one. With all pages touched at the start, the JVM only grows if its live objects or its native memory do.
    """
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+AlwaysPreTouch")
    bootstrap = make_broker().bootstrap
    minutes: list[float] = []
    samples: list[Sample] = []
    path = csv_path()
    with continuous_traffic(bootstrap, SEED) as traffic, Monitor(bootstrap, tmp_path) as monitor:
        traffic.wait_until_settled()
        monitor.wait_ready()
        began = time.monotonic()
        try:
            while (passed := (time.monotonic() - began) / 60) < MINUTES:
                minutes.append(passed)
                samples.append(sample(monitor))
                assert monitor.running, monitor.output
                time.sleep(60 * MINUTES / SAMPLES)
        finally:
            write_csv(path, minutes, samples)
        batches = monitor.metrics().value("lagwarden_batches_total")
        traffic.pause()
        values = compare(monitor, bootstrap)
        assert monitor.metrics().value("lagwarden_resyncs_total") == 0
    names = sorted({name for each in samples for name in each})
    found = [check_flatness(name, minutes, [each.get(name, 0.0) for each in samples]) for name in names]
    check = [each for each in found if each is not None]
    report(f"soak: {minutes[-1]:.1f} minutes, {batches} batches, {values} values equal to the broker's; {path}")
    for line in (HEADER, *map(str, check)):
        report(line)
    grown = [str(each) for each in check if not each.flat]
    assert not grown, f"resource usage grows; all samples are in {path}\n{HEADER}\n" + "\n".join(grown)
