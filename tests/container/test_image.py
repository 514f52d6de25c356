"""A real build of the image, run as by the chart, against a real broker."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest.mock import ANY

import pytest

from stream.errors import ExitCode
from tests.chart.rendering import case, merged, render
from tests.conftest import MakeBroker
from tests.container.pod import Pod
from tests.integration.traffic import commit, make_topic, tool_offsets_and_lags

# The engine, its base image and the build of a gigabyte come before the first test.
pytestmark = [pytest.mark.container, pytest.mark.usefixtures("helm"), pytest.mark.timeout(1500)]

GROUPS: Final = tuple(f"group-{number}" for number in range(5))
OWN_LIMIT: Final = 30
"""The documented seconds until the exit; a slower process is killed and does not end with 0."""
FAST: Final = {"config": {"job": {"driver_memory": "512m", "tick_interval": 1, "trigger_interval": 1}}}


_INSTALLED: Final = (
    "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
)


@contextlib.contextmanager
def pod_of(
    image: str, bootstrap: str, folder: Path, volume: str, user: str | None = None, **variables: str
) -> Iterator[Pod]:
    """Start the chart's pod for this broker, by default with the chart's user; remove it in the end."""
    values = merged(merged(case("minimal"), FAST), {"config": {"kafka": {"bootstrap_servers": [bootstrap]}}})
    if user is not None:
        number, group = map(int, user.split(":"))
        values = merged(values, {"podSecurityContext": {"runAsUser": number, "runAsGroup": group}})
    with contextlib.closing(Pod(image, render(values), folder, volume, **variables)) as pod:
        yield pod.start()


def advised(pod: Pod) -> list[str]:
    """Return the command of the chart's notes that runs in the pod."""
    (line,) = (line for line in pod.rendered.notes.splitlines() if " exec " in line)
    return line.partition(" -- ")[2].split()


def test_image_runs_read_only_stops_cleanly_and_continues_from_its_volume(
    image: str, make_broker: MakeBroker, tmp_path: Path, volume: str
) -> None:
    """The image agrees with the tool under the chart's restrictions, ends with 0, and then reads only new records."""
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 3, records=50)
    for number, group in enumerate(GROUPS):
        commit(bootstrap, group, "t", {0: number, 1: number + 1, 2: number + 2})
    with pod_of(image, bootstrap, tmp_path, volume) as pod:
        shown = pod.wait_ready().metrics()
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(bootstrap)
        assert shown.records_read == 3 * len(GROUPS)
        assert pod.execute("touch", "/opt/lagwarden/mark")[0] != 0
        assert pod.execute("id", "-un") == (0, "lagwarden\n")
        assert pod.execute(*advised(pod)) == (ExitCode.OK, ANY)
        assert pod.stop_within(OWN_LIMIT) == ExitCode.OK, pod.output
        assert pod.events("state restored") == []
        # The image has the archive of classes: no stop writes one.
        assert [line for line in pod.lines if "classes" in line.get("event", "")] == []
        pod.remove()

        commit(bootstrap, GROUPS[0], "t", {0: 40})
        commit(bootstrap, "newcomer", "t", {1: 3})
        shown = pod.start().wait_ready().metrics()
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(bootstrap)
        assert shown.records_read == 2
        assert len(pod.events("state restored")) == 1
        assert pod.stop_within(OWN_LIMIT) == ExitCode.OK, pod.output


def test_image_runs_as_any_user_of_the_root_group(
    image: str, make_broker: MakeBroker, tmp_path: Path, volume: str
) -> None:
    """The image agrees with the tool under a user id without an account, as OpenShift chooses one."""
    bootstrap = make_broker().bootstrap
    make_topic(bootstrap, "t", 1, records=5)
    commit(bootstrap, "g", "t", {0: 2})
    with pod_of(image, bootstrap, tmp_path, volume, user="1000700000:0") as pod:
        shown = pod.wait_ready().metrics()
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(bootstrap)
        assert pod.execute("id", "-u") == (0, "1000700000\n")
        assert pod.execute("id", "-un")[0] != 0
        assert pod.stop_within(OWN_LIMIT) == ExitCode.OK, pod.output


def test_image_names_its_packages_and_stops_without_kafka(image: str, tmp_path: Path, volume: str) -> None:
    """The SBOM has every installed package with its version, and each of them has a licence.

    The monitor responds without a broker, is not ready, and ends with 0 on SIGTERM.
    """
    with pod_of(image, "127.0.0.1:1", tmp_path, volume) as pod:
        pod.wait_answering()
        installed = json.loads(pod.execute("python", "-c", _INSTALLED)[1])
        sbom = json.loads(pod.execute("cat", "/opt/lagwarden/doc/sbom.cdx.json")[1])
        licences = pod.execute("cat", "/opt/lagwarden/doc/THIRD-PARTY-LICENSES")[1]
        assert pod.get("/readyz").status == 503
        assert pod.stop_within(OWN_LIMIT) == ExitCode.OK, pod.output
    assert {part["name"]: part["version"] for part in sbom["components"]} == installed
    found = {
        name: re.search(rf"^{re.escape(name)}\n{re.escape(version)}\n(.+)$", licences, re.MULTILINE)
        for name, version in installed.items()
    }
    assert [name for name, licence in found.items() if licence is None or licence[1] == "UNKNOWN"] == []
