"""The page of one group."""

import dataclasses
from typing import Any

from exporters.http.openapi.small_world import NOON
from exporters.page.group import group_page
from exporters.page.links import PageLinks
from exporters.page.ui import ROWS
from exporters.readmodel import GroupDetail, QuotaDetail, SharePartitionDetail, Snapshot, TransitionDetail
from exporters.text.exposition import PublishedSnapshot
from tests.exporters.page_parser import Reader
from tests.exporters.snapshots import STOPPED, detail, share_partition, small_snapshot, snapshot

NOW = NOON / 1000 + 5
DASH = "\u2013"


def read(name: str = "billing", found: GroupDetail | None = None, data: Snapshot | None = None) -> Reader:
    published = PublishedSnapshot.build(small_snapshot() if data is None else data)
    return Reader(group_page(published, name, found, NOW, root="./").html())


def read_group(**columns: Any) -> Reader:
    """Return the parsed page of a stable group with these columns."""
    return read("g", data=snapshot(groups=[{"group": "g", "kind": "classic", "state": "Stable", **columns}]))


def test_facts_of_the_group() -> None:
    """The page has the state with its duration and its source, numbers, and only the facts of the group's kind."""
    page = read(found=detail())
    for text in (
        "Stable\xa0described for 1 min 35 s",
        "Members3 (1 idle)",
        "Generation12",
        "Assignorrange",
        "Time lag\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s",
    ):
        assert text in page.text
    assert "epoch" not in page.text.partition("Members3")[2].partition("Client")[0]
    assert "Group epoch9Assignment epoch8" in read('say "hi"\\\nthere').text


def test_members_with_their_assignment() -> None:
    """Each member has client, host and assignment; a member that is away or idle is marked."""
    assert read(found=detail()).tables["Members"][1:] == [
        ["app-1", "app", "/10.0.0.1rack eu-1", "Stable", "9", f"orders 0{DASH}2, 7", "orders"],
        ["app-2static pod-2", "app", "/10.0.0.1", "away", DASH, "orders 3", "orders"],
        ["app-3", "app", "/10.0.0.1", DASH, DASH, "none", "order.*"],
    ]


def test_the_verdict_with_evidence_and_next_step() -> None:
    """The verdict has its duration, sentence, next step and evidence; angle brackets are text.

    Without detail it has the sentence of the snapshot but no next step; a group without a verdict has no card.
    """
    page = read(found=detail())
    assert "stopped for 35 s · criticalorders-0 has had no commit for 30 s" in page.text
    assert "longest to expect: <unread>." in page.text
    assert "unread" not in page.tags
    assert "What to do: See whether the consumer still runs" in page.text
    assert "last commit35 s agopatience20 slag400membersunknown" in page.text
    assert "stopped for 35 s · criticalorders-0 has had no commit for 30 s: 1 offset unread." in read().text
    assert "What to do" not in read().text
    assert "Verdict" not in read("gone").tables


def test_a_stuck_partition_has_owner_cause_and_record() -> None:
    """The sentence is there once, without what the fields have; its partition has no row of its own below.

    Each stuck partition links to its next record.
    """
    found = dataclasses.replace(
        STOPPED,
        sentence="orders-0 is stuck. Owner of it: client app.",
        about_owner=" Owner of it: client app.",
        evidence={"committed_offset": 41, "progress_time": "2023-11-14T22:12:30Z", "owner_client": "app",
                  "owner_host": "10.0.0.1", "owner_member": "app-1"},
    )  # fmt: skip
    joined = TransitionDetail(NOON / 1000 - 60, "rebalanced", "rebalanced", None, live=True, joined=1, left=0)
    other = dataclasses.replace(found, sentence="orders-1 is stuck.", evidence={"committed_offset": 7})
    findings = (("orders", 0, found), ("orders", 1, other))
    stuck = detail(finding=found, transitions=(joined,), partition_findings=findings)
    links = PageLinks(messages_url="https://m.example/{topic}/{partition}/{offset}")
    published = PublishedSnapshot.build(small_snapshot())
    document = group_page(published, "billing", stuck, NOW, root="./", links=links).html()
    page = Reader(document)
    assert page.text.count("orders-0 is stuck.") == 1
    assert "Owner of it" not in page.text
    assert "ownerapp on 10.0.0.1since22:12:30, after a rebalance: 1 member joined" in page.text
    assert [page.links.count(f"https://m.example/orders/{each}") for each in ("0/41", "1/7")] == [1, 1]
    assert document.index(b'aria-label="Partitions"') < document.index(b'aria-label="Members"')


def test_partitions_with_their_owners() -> None:
    """A partition has verdict, lag or the reason why it is unknown, rates, ages, expiry and owner."""
    huge, end = (f"{2**62 + more:,}" for more in (0, 41))
    least = "\N{GREATER-THAN OR EQUAL TO}\u202f1 min 1 s"
    assert read(found=detail()).tables["Partitions"][1:] == [
        [
            *("orders", "0", "stopped", huge, least, "41", end, "120/s", "0/s", "6 s ago", "1 min 6 s ago"),
            *("in 6 d 23 h", "41", "app"),
        ],
        [
            *("orders", "1", "unknown", "no leader", "unknown", "7", "unknown", "unknown", "unknown", "5 s ago"),
            *("unknown", DASH, "unknown", "app"),
        ],
    ]


def test_an_old_snapshot_and_an_unknown_group_are_named() -> None:
    """An old snapshot is out of date in words. An unknown group is 404, with links to similar names."""
    published = PublishedSnapshot.build(small_snapshot())
    for later, text in ((5, "ago."), (300, "ago: out of date.")):
        page = group_page(published, "billing", detail(), NOON / 1000 + later, root="./")
        assert text in Reader(page.html()).text
    page = group_page(PublishedSnapshot.build(small_snapshot()), "BILL", None, NOW, root="../")
    assert page.code == 404
    assert "../group?name=billing" in Reader(page.html()).links
    misspelt = group_page(PublishedSnapshot.build(small_snapshot()), "biling", None, NOW, root="../")
    assert "../group?name=billing" in Reader(misspelt.html()).links
    assert group_page(None, "billing", None, NOW, root="./").code == 503


def test_partitions_are_marked_and_limited() -> None:
    """A commit behind an open transaction is not yet stable. A table has at most ROWS rows, and the total."""
    page = read('say "hi"\\\nthere')
    assert page.tables["Partitions"][1][5] == "0\xa0not yet stable"
    assert "An open transaction hides the latest commits of this group from readers" in page.text
    data = snapshot([{"group": "g", "topic": "t", "partition": at} for at in range(ROWS + 5)], [{"group": "g"}])
    page = read("g", data=data)
    assert len(page.tables["Partitions"]) == 1 + ROWS
    assert "1,000 of 1,005" in page.text


def test_problems_have_a_note() -> None:
    """Unowned partitions, unsubscribed topics, unknown lags and quotas have a note; a quota explains no lag of 0."""
    quota = QuotaDetail("", "<b>", "consumer_byte_rate", 10.0, 1, "May be throttled: <b>.")
    groups = [snapshot(groups=[{"group": "billing", "lag_sum": lag}]) for lag in (5, 0, None)]
    pages = [read(found=detail(quotas=(quota,)), data=data).text for data in groups]
    assert ["May be throttled: <b>." in page for page in pages] == [True, False, False]
    text = read(found=detail()).text
    assert f"Subscribed partitions without an owner: orders 4{DASH}6." in text
    assert "Topics with committed offsets that no member subscribes to: old." in text
    assert "The lag of 1 partition is unknown" in text
    assert "without an owner" not in read(found=detail(unowned=None, unsubscribed=None)).text


def test_the_history_is_sorted_with_the_latest_first() -> None:
    """One table has transitions and verdict changes; replayed transitions are marked."""
    sentence = "orders-0 has had no commit for 30 s, where 20 s is the longest to expect: <unread>."
    assert read(found=detail()).tables["History"][1:] == [
        ["2023-11-14 22:12:50", "35 s ago", "verdict ok \N{RIGHTWARDS ARROW} stopped", sentence],
        ["2023-11-14 22:12:49", "35 s ago", "forgotten topic deleted", "1 offset"],
        ["2023-11-14 22:11:50", "1 min 35 s ago", "rebalanced", "3 members came"],
        ["2023-11-14 21:13:20", "1 h ago", "verdict ok", "orders-0: Keeps up: 3 offsets unread."],
        ["2023-11-13 22:13:20", "1 d ago", "created replayed", "first seen"],
    ]


SHARE_GROUP = {"group": "g", "kind": "share", "state": "Stable"}
UNDELIVERED = share_partition(
    1, start_offset=None, end=7, lag=None, finished=None, returned=0, most_deliveries=None, verdict="unknown"
)


def read_share(partitions: tuple[SharePartitionDetail, ...] | None) -> Reader:
    """Return the parsed page of a share group with these partitions, whose numbers are 40 s old."""
    found = detail("g", share_partitions=partitions, share_progress_time=None if partitions is None else NOW - 40)
    return read("g", found, snapshot(groups=[SHARE_GROUP]))


def test_a_share_group_has_a_row_per_partition() -> None:
    """A row has verdict and progress with their age; unknown values are marked, and without returns it has a dash."""
    page = read_share((share_partition(0), UNDELIVERED))
    heads, first, second = page.tables["Partitions"]
    assert dict(zip(heads, first, strict=True)) == {
        "Topic": "orders",
        "Partition": "0",
        "Verdict": "ok",
        "Lag": "390",
        "Start offset": "1,600",
        "End": "2,000",
        "Finished": "10",
        "Returned": "2",
        "Most deliveries": "3",
        "Acknowledged": "1,590",
        "Archived": "1",
        "Returns": "4",
    }
    assert second == ["orders", "1", *["unknown"] * 3, "7", "unknown", "0", DASH, "1,590", "1", "4"]
    assert "Read 40 s ago from __share_group_state." in page.text


def test_what_is_unknown_of_a_group_is_omitted() -> None:
    """A dead group has time and cause of death. Unknown members and history are omitted, empty ones are a sentence."""
    text = read("gone").text
    assert "Died 35 s ago: topic deleted." in text
    assert "The group has no committed offsets." in text
    assert "unknown" not in text
    assert not {"Members", "History"} & read().tables.keys()
    empty = read(found=detail(members=(), transitions=(), verdicts=()))
    assert "The group has no members." in empty.text
    assert "No transitions and no verdict changes." in empty.text


def test_a_group_that_raises_no_alert_has_a_note() -> None:
    """The note has the reason, and the end of a maintenance or silence if there is one."""
    plain = read_group(not_alerted=False).text
    for columns, note in (
        ({"not_alerted": True}, "raises no alert until the group has recovered"),
        ({"maintenance_until": NOON + 60_000}, "In maintenance until 2023-11-14 22:14:20 UTC"),
        ({"silence_reason": "retired <soon>"}, "Silenced (retired <soon>): the verdict is shown"),
        (
            {"silence_reason": "retired <soon>", "silence_until": NOON + 60_000},
            "Silenced until 2023-11-14 22:14:20 UTC (retired",
        ),
    ):
        assert note in read_group(**columns).text
        assert note[:14] not in plain


def test_a_group_links_to_other_services_if_they_are_configured() -> None:
    """A group links to its dashboard and to the runbook of its verdict; without the options only to lagwarden's own."""
    published = PublishedSnapshot.build(small_snapshot())
    links = PageLinks("https://grafana.example", "https://wiki.example", ("a:9092",), cluster_name="eu-1")
    document = group_page(published, "billing", None, NOW, root="./", links=links).html()
    assert document.count(b'rel="noopener noreferrer"') == 2
    page = Reader(document)
    assert "https://grafana.example/d/lagwarden-group?var-group=billing&var-cluster=eu-1" in page.links
    assert "https://wiki.example/LagwardenGroupStuck" in page.links
    assert "bin/kafka-consumer-groups.sh --bootstrap-server a:9092 --group billing --describe" in page.text
    assert [link for link in read().links if link.startswith("http")] == []
    assert {"./topic?name=orders", "./runbook/LagwardenGroupStuck"} <= set(read().links)
