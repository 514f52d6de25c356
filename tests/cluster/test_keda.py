"""The ScaledObjects of docs/autoscaling.md, by KEDA's own code, over lagwarden's API and a real Prometheus."""

import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from exporters.http.api_endpoints import ServedData
from exporters.http.server import HttpServer
from exporters.text.exposition import PublishedSnapshot
from sandbox.keda.program import Evaluation, build, evaluate
from sandbox.ports import LOOPBACK, free_port
from sandbox.programs.go_program import GoProgramMissingError
from sandbox.programs.prometheus import Prometheus
from sandbox.programs.prometheus_tools import ToolMissingError, find_tool
from sandbox.waiting import wait_until
from tests.deploy.autoscaling import BY_API, BY_PROMETHEUS, SITUATIONS
from tests.exporters.snapshots import snapshot, status

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

ON_THE_PAGE: Final = ("http://prometheus.monitoring:9090", "http://lagwarden.kafka:10848", "billing")
"""The addresses of Prometheus and of lagwarden, and the group."""
UNKNOWN_BY_PROMETHEUS: Final = "target may be lost, the result is empty"
UNKNOWN_BY_API: Final = "must point to a numeric value or a string parseable as a Quantity, got Null"
GROUPS: Final = {f"billing-{number}": situation for number, situation in enumerate(SITUATIONS)}


class Services(NamedTuple):
    """The program of KEDA, and the addresses of Prometheus and lagwarden."""

    keda: Path
    prometheus: str
    lagwarden: str

    def by_prometheus(self, group: str, **metadata: str) -> dict[str, Any]:
        """Return the first ScaledObject of the page for these addresses and a group."""
        found = copy.deepcopy(BY_PROMETHEUS)
        (trigger,) = found["spec"]["triggers"]
        address, _, billing = ON_THE_PAGE
        assert trigger["metadata"]["serverAddress"] == address
        assert f'group="{billing}"' in trigger["metadata"]["query"]
        trigger["metadata"] |= {
            "serverAddress": self.prometheus,
            "query": trigger["metadata"]["query"].replace(f'group="{billing}"', f'group="{group}"'),
            **metadata,
        }
        return found

    def by_api(self, group: str) -> dict[str, Any]:
        """Return the second ScaledObject of the page for this address and a group."""
        found = copy.deepcopy(BY_API)
        _, address, billing = ON_THE_PAGE
        for trigger in found["spec"]["triggers"]:
            assert trigger["metadata"]["url"] == f"{address}/api/v1/groups/{billing}"
            trigger["metadata"]["url"] = f"{self.lagwarden}/api/v1/groups/{group}"
        return found

    def both(self, group: str) -> tuple[Evaluation, Evaluation]:
        """Return the answers of KEDA for both ScaledObjects of the page."""
        by_prometheus, by_api = evaluate(self.keda, self.by_prometheus(group), self.by_api(group))
        return by_prometheus, by_api


@pytest.fixture(scope="module")
def keda() -> Path:
    """Return the program of KEDA; skip without it or without Prometheus."""
    try:
        find_tool("prometheus", fetch=True)
        return build()
    except (GoProgramMissingError, ToolMissingError) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def services(keda: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Serve a group for each situation of the table, and scrape them.

    KEDA queries the last full second, of which Prometheus has nothing right after the first scrape.
    """
    rows = [
        {"group": name, "members": each.members, "scalable_lag": each.scalable_lag, "time_lag_max": each.time_lag}
        for name, each in GROUPS.items()
    ]
    published = PublishedSnapshot.build(snapshot(groups=rows))
    server = HttpServer(LOOPBACK, 0, ServedData(lambda: published, status))
    server.start()
    address = f"http://{LOOPBACK}:{server.port}"
    try:
        with Prometheus(address, tmp_path_factory.mktemp("prometheus"), interval=1) as prometheus:
            wait_until(
                lambda: bool(prometheus.query("lagwarden_group_members", int(time.time()))), "a scrape of the groups"
            )
            yield Services(keda, prometheus.address, address)
    finally:
        server.stop()


def test_keda_wants_the_number_of_replicas(services: Services) -> None:
    """Both ScaledObjects have the table's number, or an error for an unknown input, so that nothing is scaled.

    A wrong name of the group is an error in both.
    """
    for group, situation in GROUPS.items():
        by_prometheus, by_api = services.both(group)
        assert (by_prometheus.value, by_api.value) == (situation.wanted, situation.wanted), situation.name
        if situation.wanted is None:
            assert UNKNOWN_BY_PROMETHEUS in by_prometheus.errors
            assert UNKNOWN_BY_API in by_api.errors
    by_prometheus, by_api = services.both("no-such-group")
    assert (by_prometheus.value, by_api.value) == (None, None)
    assert UNKNOWN_BY_PROMETHEUS in by_prometheus.errors
    assert "api returned 404" in by_api.errors


def test_an_absent_series_would_be_zero_by_default(services: Services) -> None:
    """By default KEDA would remove all members of a rebalancing group, so the page sets `ignoreNullValues`."""
    (group,) = (name for name, each in GROUPS.items() if each.members is None)
    example = services.by_prometheus(group)
    del example["spec"]["triggers"][0]["metadata"]["ignoreNullValues"]
    assert evaluate(services.keda, example) == [Evaluation(0.0)]


def test_unreachable_services_are_an_error(services: Services) -> None:
    """Both ScaledObjects have an error while Prometheus and lagwarden are unreachable, so nothing is scaled."""
    closed_port = f"http://{LOOPBACK}:{free_port()}"
    for answer in services._replace(prometheus=closed_port, lagwarden=closed_port).both("billing-0"):
        assert answer.value is None
        assert "connection refused" in answer.errors
