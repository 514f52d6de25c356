"""Quotas of members: which configured quotas may apply, in Kafka's order."""

import math
from typing import Any

from exporters.catalogue import brokers
from exporters.cluster.exposition import PublishedCluster
from exporters.http.openapi.small_world import small_cluster
from exporters.member_quotas import with_quotas
from exporters.readmodel import QuotaDetail
from tests.exporters.snapshots import detail, member, table

RATE = "consumer_byte_rate"
Row = tuple[str, str, float]
"""The user, the client id and the value of a quota."""


def found(
    *rows: Row, clients: tuple[str | None, ...] = ("app",), key: str = RATE, ip: str = "", **changes: Any
) -> tuple[QuotaDetail, ...] | None:
    quotas = [{"user": user, "client_id": client, "ip": ip, "key": key, "value": value} for user, client, value in rows]
    tables = {
        "quotas": table(brokers.QUOTAS.schema, quotas),
        "cluster_totals": table(brokers.CLUSTER_TOTALS.schema, [{"quotas": len(quotas)}]),
    }
    published = PublishedCluster.build(small_cluster(**tables | changes))
    members = tuple(member(f"m{at}", client_id=client) for at, client in enumerate(clients))
    shown = with_quotas(detail("billing", members=members), published)
    return shown.quotas


def chosen(*rows: Row, **changes: Any) -> list[tuple[str, str]]:
    return [(quota.user, quota.client_id) for quota in found(*rows, **changes) or ()]


IN_ORDER: list[Row] = [
    ("<default>", "app", 1),
    ("<default>", "<default>", 2),
    ("<default>", "", 3),
    ("", "app", 4),
    ("", "<default>", 5),
]


def test_the_first_quota_in_the_order_of_kafka_applies() -> None:
    """A user precedes a client, a name the default. NaN and infinity limit nothing, but apply instead of the next."""
    for first, (user, client, _) in enumerate(IN_ORDER):
        assert chosen(*IN_ORDER[first:]) == chosen(*reversed(IN_ORDER[first:])) == [(user, client)]
    for value in (math.nan, math.inf):
        assert chosen(("", "app", value), ("", "<default>", 5)) == []


def test_the_most_specific_quota_of_each_user_may_apply() -> None:
    """The user of a member is unknown. Of many, those of the client id are listed first, then the lowest."""
    of_users: list[Row] = [("alice", "app", 9), ("alice", "", 1), ("bob", "<default>", 2), ("bob", "", 1)]
    of_users += [("eve", "other", 1), ("", "app", 4)]
    assert chosen(*of_users) == [("bob", "<default>"), ("", "app"), ("alice", "app")]
    rows: list[Row] = [(f"user-{at}", "", 10.0 - at) for at in range(9)]
    assert chosen(*rows, ("named", "app", 90)) == [("user-8", ""), ("user-7", ""), ("named", "app")]


def test_no_quota_is_an_empty_tuple_and_unknown_quotas_are_absent() -> None:
    """The quotas of a group to which no quota applies are an empty tuple, not None.

    Quotas are unknown without the right to them, before the first poll, and if the facts have only some of many. The
    detail of an unknown group is None.
    """
    assert found() == found(("", "other", 1)) == ()
    totals = [table(brokers.CLUSTER_TOTALS.schema, [{"quotas": number}]) for number in (None, 501)]
    assert [found(("", "app", 1), cluster_totals=each) for each in totals] == [None, None]
    shown = with_quotas(detail("billing"), None)
    assert shown.quotas is None
    assert with_quotas(None, None) is None
