"""Verdicts on share groups with real share consumers, beside healthy groups that look like them."""

import functools
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from sandbox.clients.java_clients import JavaClients
from sandbox.kafka.broker import create_topics
from sandbox.ports import LOOPBACK
from stream.cli import app as cli
from stream.errors import ExitCode
from tests.conftest import MakeBroker
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(300))]

SHARE_SETTINGS: Final = {
    "group.share.record.lock.duration.ms": "4000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.delivery.count.limit": "10",
}
FAST: Final = {"cluster.interval": "1s", "health.share_pause": "10s"}
MEMBERS: Final[dict[str, tuple[str | None, ...]]] = {
    "accepts": (None,),
    "accepts-some": (None, "REJECT"),
    "releases-some": (None, "RELEASE"),
    "away": (None,),
    "rejects": ("REJECT",),
    "releases": ("RELEASE",),
    "hangs": ("NEVER",),
}
"""What the members of each group do with their records; None: accept them."""
SICK: Final = {
    "away": "share_no_members",
    "rejects": "share_rejecting",
    "releases": "share_redelivering",
    "hangs": "share_stopped",
}
"""The verdicts of the groups with a fault. A record that is always released is archived after its last delivery, which
no member has asked for."""
HEALTHY: Final = MEMBERS.keys() - SICK.keys()
LATE: Final = "releases-late"
"""Holds its records for 3 s and releases them: for half a minute, until the tenth delivery, none is archived."""


def open_members(clients: JavaClients) -> None:
    """Open the members of all groups, each named by its group and its number in it."""
    for group, members in MEMBERS.items():
        for number, how in enumerate(members):
            explicit = {"share.acknowledgement.mode": "explicit", "acknowledge": how} if how else {}
            clients.open(f"{group}-{number}", {"group.id": group, **explicit}, ["jobs"], kind="share")


def produce(bootstrap: str) -> None:
    """Write some records: the members that work finish all of them within a second."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(20):
        producer.produce("jobs", b"x")
    producer.flush(LIMIT)


def shown(monitor: Monitor) -> dict[str, dict[str, Any]]:
    """Return the groups of the API by name."""
    return {group["group"]: group for group in monitor.get("/api/v1/groups").json["groups"]}


def test_sick_share_groups_are_found_and_healthy_ones_are_not(
    make_broker: MakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """API, metrics and commands have the verdicts.

    A group that releases each record redelivers, also when the last delivery archives its records.
    Healthy groups accept everything, or also reject or also release some records.
    """
    broker = make_broker(properties=SHARE_SETTINGS)
    create_topics(broker.bootstrap, {"jobs": 1})
    with (
        JavaClients(broker.bootstrap, tmp_path / "java.log") as clients,
        Monitor(broker.bootstrap, tmp_path, FAST) as monitor,
    ):
        open_members(clients)
        monitor.wait_ready()

        def verdicts() -> dict[str, str]:
            produce(broker.bootstrap)
            return {name: group["verdict"] for name, group in shown(monitor).items()}

        def works(group: str) -> bool:
            return verdicts().get(group) in {"ok", "caught_up"}

        for group in ("away", *sorted(HEALTHY)):
            monitor.wait_for(functools.partial(works, group), f"{group} to finish records")
        held = {"share.acknowledgement.mode": "explicit", "acknowledge": "RELEASE", "hold.ms": "3000"}
        clients.open(LATE, {"group.id": LATE, **held}, ["jobs"], kind="share")
        clients.close("away-0")

        def all_found() -> bool:
            found = verdicts()
            return all(found.get(group) == verdict for group, verdict in SICK.items())

        def redelivers() -> bool:
            verdicts()
            detail = monitor.get(f"/api/v1/groups/{LATE}").json
            return "share_redelivering" in {change["verdict"] for change in detail.get("verdicts") or ()}

        monitor.wait_for(redelivers, "share_redelivering", 60)
        monitor.wait_for(all_found, f"the verdicts {SICK}", 120)
        found = shown(monitor)
        assert {group: found[group]["severity"] for group in HEALTHY} == dict.fromkeys(HEALTHY, "fine")
        rows = monitor.metrics().rows("lagwarden_group_verdict")
        assert SICK.items() <= {labels["group"]: labels["verdict"] for labels, _ in rows}.items()
        detail = monitor.get("/api/v1/groups/hangs").json
        assert "The group has 1 member, but no record was finished or returned" in detail["finding"]["sentence"]
        assert detail["finding"]["evidence"]["returned"] > 0, "its lock has expired"
        assert [(each["topic"], each["partition"]) for each in detail["findings"]] == [("jobs", 0)]
        (row,) = detail["by_share_partition"]
        assert (row["verdict"], row["start_offset"] + row["lag"] + row["finished"]) == ("share_stopped", row["end"])
        readers = {each["group"]: each for each in monitor.get("/api/v1/topics/jobs/groups").json["groups"]}
        assert readers.keys() == MEMBERS.keys() | {LATE}
        assert {group: readers[group]["verdict"] for group in SICK} == SICK
        assert min(readers["hangs"]["lag_sum"], found["hangs"]["lag_sum"]) > 0
        assert not monitor.metrics().rows("lagwarden_group_lag"), "a share group commits no offsets"
        url = ["--url", f"http://{LOOPBACK}:{monitor.port}"]
        assert cli.main(["check", "accepts", *url]) == ExitCode.OK
        capsys.readouterr()
        assert cli.main(["check", "away", *url]) == ExitCode.GROUP_CRITICAL
        assert "critical away share no members: jobs-0: The group has had no members" in capsys.readouterr().out
