"""Demo data for the pages: groups of every severity with details, and any number of further groups.

Some groups have owners, silences and maintenance windows. Members can be found by client and host, and one topic has
facts about the cluster. `tests.page.served` serves the data.
"""

import collections
import dataclasses
import math
from typing import Any, Final

from exporters.catalogue import brokers, topics
from exporters.cluster.model import ClusterFacts
from exporters.http.openapi.small_world import small_cluster
from exporters.page.links import PageLinks
from exporters.readmodel import FindingDetail, GroupDetail, MemberDetail, Snapshot, TransitionDetail, VerdictChange
from exporters.timestamps import rfc3339
from exporters.wording import ATTENTION
from stream.health.rules import RULES
from tests.exporters.snapshots import member, snapshot, table


@dataclasses.dataclass(frozen=True, slots=True)
class DemoGroup:
    """A group with its verdict since some minutes, and its number of partitions that have it."""

    group: str
    verdict: str
    severity: str
    minutes: float
    lag: int | None
    time_lag: float | None
    members: int = 3
    partitions: int = 6
    sick: int = 1
    asked: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        return self.members == 0

    @property
    def topic(self) -> str:
        """The only topic of the group."""
        return self.group.partition("-")[2] or "things"

    @property
    def sentence(self) -> str | None:
        """The sentence of a verdict that is not fine."""
        return SENTENCES.get(self.verdict)


DEMO_GROUPS: Final = (
    DemoGroup("billing-invoices", "poison_record", "critical", 14.3, 9_118, 860.0),
    DemoGroup("warehouse-sync", "no_members", "critical", 125, 1_094_640, 7_500.0, members=0, sick=6),
    DemoGroup("audit-archive", "losing_data", "critical", 41, 7_204_118, 86_400.0, sick=2),
    DemoGroup("search-indexer", "falling_behind", "warning", 22, 2_370_115, 492.0, sick=6, asked=True),
    DemoGroup("größe-消费者-\U0001f40c", "expiring", "warning", 300, 12, 3_600.0, members=0, partitions=2, sick=2),
    DemoGroup("reports-nightly", "recovering", "notice", 9, 88_410, 2_460.0),
    DemoGroup('<img src=x onerror="alert(1)">&amp;\n\u202egnp.exe', "abandoned", "notice", 6_000, 4_310, None, 3, 1),
    DemoGroup("legacy-import", "unknown", "unknown", 3, None, None),
    DemoGroup("checkout", "ok", "fine", 600, 41, 0.4, members=12, partitions=24, sick=24),
    DemoGroup("mail-sender", "caught_up", "fine", 9_000, 0, 0.0, sick=6),
    DemoGroup("x" * 249, "caught_up", "fine", 9_000, 0, 0.0, sick=6),
)
"""Groups with details, the worst first."""
OWNERS: Final = {
    "billing-invoices": {"team": "payments", "tier": "gold", "link": "https://wiki.example/payments"},
    "warehouse-sync": {"team": "logistics"},
    "audit-archive": {"team": "payments"},
    "x" * 249: {"team": "y" * 80},
}
MUTES: Final = {
    "warehouse-sync": ("maintenance_until",),
    "audit-archive": ("silence_reason", "silence_until"),
    "search-indexer": ("not_alerted",),
}
"""The columns of a maintenance window, of a silence, or of a fault older than the monitor."""

SENTENCES: Final = {
    "poison_record": "invoices-3 is stuck at offset 48,211 for 14 min 20 s while other partitions of the group make "
    "progress: 9,118 offsets unread, the oldest for 14 min 20 s. Partitions with this verdict: 1 of 6.",
    "no_members": "stock-0: The group has had no members for 2 h 5 min, with 182,440 offsets unread, the oldest for "
    "2 h 5 min. Partitions with this verdict: 6 of 6.",
    "losing_data": "audit-1: Retention has removed 12,004 offsets before the group read them: the log now starts at "
    "9,100,233. Partitions with this verdict: 2 of 6.",
    "falling_behind": "products-4: More lag is left after every commit (reads 910/s, written at 1,240/s): 401,220 "
    "offsets unread, the oldest for 8 min 12 s. Partitions with this verdict: 6 of 6.",
    "expiring": "The broker forgets the group's offsets in 5 h 12 min: it has no members since 6 d 18 h.",
    "recovering": "Behind, but catching up, done in about 6 min at this rate: 88,410 offsets unread, the oldest for "
    "41 min.",
    "abandoned": "No member subscribes to old-topic any more, and its offsets are still stored.",
    "unknown": "Not known: no leader.",
}
"""The sentences of verdicts that are not fine."""
_RULE: Final = {str(rule.verdict): rule for rule in RULES}

LINKS: Final = PageLinks(
    grafana_url="https://grafana.example",
    runbook_url="https://wiki.example/alerts",
    bootstrap_servers=("kafka-1:9092", "kafka-2:9092"),
    cluster_name="eu-payments",
    messages_url="https://messages.example/{topic}?partition={partition}&offset={offset}",
)
"""The links to other services, and the name of the cluster."""


def demo_of(name: str) -> DemoGroup:
    """Return the demo group with this name; further groups are fine."""
    return next((demo for demo in DEMO_GROUPS if demo.group == name), _filler(name))


def _filler(name: str) -> DemoGroup:
    return DemoGroup(name, "ok", "fine", 700, len(name), 0.3, members=2, sick=6)


def demo_snapshot(now: float, more: int = 0, end: float | None = None) -> Snapshot:
    """Return the snapshot at a time, with `more` further groups that are fine. Lags change with the time.

    With `end`, a time, the lags of groups that need attention grow until then, to those of their sentences.
    """
    demos = sorted([*DEMO_GROUPS, *(_filler(f"team-{at % 40:02}.service-{at:05}") for at in range(more))], key=_name)
    counts = collections.Counter((demo.verdict, demo.severity) for demo in demos)
    detailed = [demo for demo in demos if demo in DEMO_GROUPS]
    gone = {"group": "retired-v1", "kind": "classic", "state": "Dead", "partitions": 0, "partitions_lag_unknown": 0}
    gone |= {"died_time": _ms(now, 30), "state_since": _ms(now, 30), "death_cause": "expired"}
    made = snapshot(
        [row for demo in detailed for row in _partitions(demo, now)],
        sorted([*(_group(demo, now, end) for demo in demos), gone], key=lambda row: str(row["group"])),
        [{"group": "legacy-import", "reason": "no_leader", "partitions": 1}],
        [{"group": demo.group, "transition": "created", "count": 1} for demo in detailed],
        topics=[_topic(demo) for demo in detailed],
        verdict_groups=[_verdict(word, severity, groups) for (word, severity), groups in sorted(counts.items())],
        log_ends=_log_ends(detailed),
    )
    return dataclasses.replace(made, taken_at=now)


def detail_of(name: str, now: float) -> GroupDetail:
    demo = demo_of(name)
    finding = FindingDetail(
        demo.verdict,
        demo.severity,
        now - demo.minutes * 60,
        demo.sentence or "Keeps up: 41 offsets unread, the oldest for 0.4 s.",
        {
            "committed_offset": 48_211,
            "progress_time": rfc3339(now - demo.minutes * 60 - 2),
            "lag": demo.lag,
            "time_lag": demo.time_lag,
            "patience_seconds": 62.5,
            "consume_rate": 0.0,
            "owner_client": f"{demo.group[:20]}-0",
            "owner_host": "10.0.3.11",
            "owner_member": f"{demo.group[:20]}-0-5f0c2d1e",
        },
        _RULE[demo.verdict].next_step,
    )
    sick = () if demo.severity == "fine" else tuple((demo.topic, 3 + at, finding) for at in range(demo.sick))
    return GroupDetail(
        group=name,
        members=tuple(_member(demo, at) for at in range(demo.members)),
        transitions=(
            TransitionDetail(now - 90_000, "created", "first seen", None, live=False, joined=0, left=0),
            _rebalance(now - 1_500, joined=0, left=1),
            _rebalance(now - demo.minutes * 60 - 6, joined=1, left=0),
        ),
        unowned=(),
        unsubscribed=(),
        finding=finding,
        partition_findings=sick,
        verdicts=(
            VerdictChange(now - 86_000, None, "ok", "Keeps up."),
            VerdictChange(now - 9_000, "ok", "recovering", "Behind, but catching up."),
            VerdictChange(now - 8_400, "recovering", "ok", "Keeps up."),
            VerdictChange(now - demo.minutes * 60, "ok", demo.verdict, finding.sentence),
        ),
    )


def _rebalance(time: float, joined: int, left: int) -> TransitionDetail:
    words = "rebalanced: 1 member " + ("joined" if joined else "left")
    return TransitionDetail(time, "rebalanced", words, None, live=True, joined=joined, left=left)


def demo_search(client: str | None, host: str | None) -> frozenset[str]:
    """Return the groups with a member of this client id and on this host, with or without its slash; None: any."""
    return frozenset(
        demo.group
        for demo in DEMO_GROUPS
        for member in (_member(demo, at) for at in range(demo.members))
        if client in {None, member.client_id} and (host is None or f"/{host.removeprefix('/')}" == member.client_host)
    )


def demo_facts(taken_at: float) -> ClusterFacts:
    """Return the facts about a cluster with the topic of the first group; one of its partitions is under-replicated."""
    demo = DEMO_GROUPS[0]
    described = {"topic": demo.topic, "partitions": demo.partitions, "replication_factor": 3, "under_replicated": 1}
    settings = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "604800000"}
    configs = [
        {"scope": "topic", "name": demo.topic, "key": key, "value": value, "source": "dynamic_topic_config"}
        for key, value in settings.items()
    ]
    return small_cluster(
        taken_at=taken_at,
        cluster_topics=table(topics.CLUSTER_TOPICS.schema, [described | {"leaderless": 0}]),
        configs=table(brokers.CONFIGS.schema, configs),
        configs_shown=table(brokers.CONFIGS.schema, configs),
    )


def _name(demo: DemoGroup) -> str:
    return demo.group


def _ms(now: float, minutes: float) -> int:
    return int((now - minutes * 60) * 1000)


def _group(demo: DemoGroup, now: float, end: float | None) -> dict[str, Any]:
    sway = 1 + 0.4 * math.sin(now / 47 + len(demo.group)) + 0.2 * math.sin(now / 11)
    if end is not None and demo.severity in ATTENTION and demo.time_lag:
        sway = min(max(1 - (end - now) / demo.time_lag, 0.0), 1.0)
    alone = demo.is_empty
    return {
        "group": demo.group,
        "kind": "consumer" if len(demo.group) % 3 == 0 else "classic",
        "state": "Empty" if alone else "Stable",
        "state_described": demo.asked,
        "state_since": _ms(now, demo.minutes + 11),
        "created_time": _ms(now, 90_000 / 60),
        "protocol_type": "consumer",
        "protocol": "range",
        "generation": 17,
        "members": demo.members,
        "members_idle": 0,
        "members_away": 0,
        "partitions": demo.partitions,
        "lag_sum": None if demo.lag is None else int(demo.lag * sway),
        "lag_max": None if demo.lag is None else int(demo.lag * sway / 2),
        "partitions_lag_unknown": 1 if demo.lag is None else 0,
        "last_commit_time": _ms(now, demo.minutes if alone else 0.05),
        "first_offset_expiry_time": _ms(now, -312) if alone else None,
        "group_expiry_time": _ms(now, -312) if alone else None,
        "verdict": demo.verdict,
        "severity": demo.severity,
        "verdict_since": _ms(now, demo.minutes),
        "verdict_partitions": demo.sick,
        "sentence": demo.sentence,
        "time_lag_max": demo.time_lag and demo.time_lag * sway,
        "time_lag_max_exact": demo.verdict != "losing_data",
        "held_back": False,
        **OWNERS.get(demo.group, {}),
        **{column: value for column, value in _mutes(now).items() if column in MUTES.get(demo.group, ())},
    }


def _mutes(now: float) -> dict[str, Any]:
    """Return the columns of a row of GROUPS about groups that raise no alert."""
    return {
        "maintenance_until": _ms(now, -90),
        "silence_reason": "known since Monday, OPS-4711",
        "silence_until": _ms(now, -600),
        "not_alerted": True,
    }


def _partitions(demo: DemoGroup, now: float) -> list[dict[str, Any]]:
    alone = demo.is_empty
    return [
        {
            "group": demo.group,
            "topic": demo.topic,
            "partition": at,
            "committed_offset": 48_211 + at,
            "commit_time": _ms(now, demo.minutes if alone else 0.05),
            "progress_time": _ms(now, demo.minutes if alone else 0.07),
            "high_watermark": 48_211 + at + (demo.lag or 0),
            "last_stable_offset": 48_211 + at + (demo.lag or 0),
            "log_start_offset": 17,
            "lag": demo.lag,
            "lag_unknown_reason": "no_leader" if demo.lag is None else None,
            "offset_expiry_time": _ms(now, -312) if alone else None,
            "lost": 12_004 if demo.verdict == "losing_data" and at == 1 else 0,
            "margin": 48_194,
            "time_lag": demo.time_lag,
            "time_lag_exact": at != 2,
            "produce_rate": 104.2,
            "consume_rate": 0.0 if at == 3 else 98.1,
            "trend": "growing",
            "verdict": demo.verdict if 3 <= at < 3 + demo.sick else "ok",
            "verdict_since": _ms(now, demo.minutes),
            "offset_hidden": False,
        }
        for at in range(demo.partitions)
    ]


def _verdict(word: str, severity: str, groups: int) -> dict[str, Any]:
    """Return a row of VERDICT_GROUPS, with the texts of the legend."""
    texts = {"meaning": _RULE[word].meaning, "next_step": _RULE[word].next_step}
    return {"verdict": word, "severity": severity, "groups": groups, **texts}


def _topic(demo: DemoGroup) -> dict[str, Any]:
    lags = {"lag_sum": demo.lag, "lag_max": demo.lag, "time_lag_max": demo.time_lag, "partitions_lag_unknown": 0}
    return {"group": demo.group, "topic": demo.topic, "partitions": demo.partitions, "verdict": demo.verdict, **lags}


def _log_ends(demos: list[DemoGroup]) -> list[dict[str, Any]]:
    """Return the ends of every partition once; groups of one topic have the same."""
    ends = {(demo.topic, at): 48_211 + (demo.lag or 0) for demo in demos for at in range(demo.partitions)}
    return [
        {"topic": topic, "partition": at, "high_watermark": end, "log_start_offset": 17, "stable_gap": 0}
        for (topic, at), end in sorted(ends.items())
    ]


def _member(demo: DemoGroup, at: int) -> MemberDetail:
    return member(
        f"{demo.group[:20]}-{at}-5f0c2d1e-9b1e-4c1c-8a57-0d3f7a1b{at:04}",
        instance_id=f"pod-{at}" if at == 1 else None,
        client_id=f"{demo.group[:20]}-{at}",
        client_host=f"/10.0.3.{at + 11}",
        epoch=17,
        state="Stable",
        subscription=(demo.topic,),
        assignment=((demo.topic, tuple(range(at, demo.partitions, max(demo.members, 1)))),),
    )
