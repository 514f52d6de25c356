"""Adds the configured quotas of its members to the details of a group.

Brokers choose a quota by user and client id (KIP-55): the most specific one that exists, and one of users before one of
clients (org.apache.kafka.server.quota.ClientQuotaManager.DefaultQuotaCallback). A membership record has the client id
and not the user, so it is not known which quota applies, and brokers report throttle times only to the throttled
client. The sentences therefore say "may".
"""

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from exporters.cluster.exposition import PublishedCluster
from exporters.cluster.model import ClusterFacts
from exporters.readmodel import GroupDetail, MemberDetail, QuotaDetail

_DEFAULT: Final = "<default>"
"""The name of the entity for all that have no quota of their own, as in kafka-configs."""
_UNITS: Final = {"consumer_byte_rate": " bytes/s", "request_percentage": "% of a thread"}
"""The unit of each quota that slows down a consumer; each holds per broker."""
_MOST_USERS: Final = 3
"""The maximum number of quotas of single users per client id: those that name the client id, then the lowest."""


class _Entity(NamedTuple):
    """The user and the client id of a quota. An empty name is not part of it."""

    user: str
    client_id: str


Quotas = Mapping[str, Mapping[_Entity, float]]
"""The values of quotas by key and entity."""


def with_quotas(detail: GroupDetail | None, published: PublishedCluster | None) -> GroupDetail | None:
    """Return the detail of a group with the quotas of its members, if they are known from the latest facts."""
    quotas = None if published is None else _known_quotas(published.facts)
    if detail is None or quotas is None:
        return detail
    return dataclasses.replace(detail, quotas=tuple(quotas_of_members(detail.members, quotas)))


def quotas_of_members(members: Sequence[MemberDetail], quotas: Quotas) -> list[QuotaDetail]:
    """Return the quotas that may apply to these members, by key and value."""
    clients = collections.Counter(member.client_id for member in members if member.client_id is not None)
    found = []
    for key, values in sorted(quotas.items()):
        has_users = any(_is_user(entity) for entity in values)
        counts: collections.Counter[_Entity] = collections.Counter()
        for client_id, count in clients.items():
            counts.update(dict.fromkeys(_entities(client_id, values), count))
        for value, entity, count in sorted((values[entity], entity, count) for entity, count in counts.items()):
            if not math.isfinite(value):  # limits nothing, but applies instead of a less specific quota
                continue
            limit = f"{value:,.10g}{_UNITS[key]} per broker for {_entity_text(entity)} ({key})"
            # What must be true of the user of a member, which lagwarden does not know.
            condition = ", if their user has no quota of its own" if has_users else ""
            if _is_user(entity):
                condition = ", if that is their user"
            who = f"{count} of {len(members)} members{condition}"
            sentence = f"May be throttled by the quota of {limit}: {who}."
            found.append(QuotaDetail(*entity, key, value, count, sentence))
    return found


def _known_quotas(facts: ClusterFacts) -> Quotas | None:
    """Return the quotas that slow down consumers; None if they are unknown, or too many to be all in the facts."""
    totals = facts.cluster_totals["quotas"].to_pylist()
    if totals != [facts.quotas.num_rows]:
        return None
    quotas: dict[str, dict[_Entity, float]] = {}
    for row in facts.quotas.to_pylist():
        if row["key"] in _UNITS and not row["ip"]:
            quotas.setdefault(row["key"], {})[_Entity(row["user"], row["client_id"])] = row["value"]
    return quotas


def _entities(client_id: str, quotas: Mapping[_Entity, float]) -> list[_Entity]:
    """Return the entities whose quota may apply to a client: the one for other users, and those of single users.

    A client whose user has no quota gets the first one in Kafka's order.
    """
    orders = [[(_DEFAULT, client_id), (_DEFAULT, _DEFAULT), (_DEFAULT, ""), ("", client_id), ("", _DEFAULT)]]
    users = sorted({entity.user for entity in quotas if _is_user(entity)})
    orders += [[(user, client_id), (user, _DEFAULT), (user, "")] for user in users]
    general, *of_users = (
        next((entity for names in order if (entity := _Entity(*names)) in quotas), None) for order in orders
    )
    lowest = sorted(
        (entity for entity in of_users if entity is not None),
        key=lambda entity: (entity.client_id != client_id, quotas[entity], entity),
    )
    return [*(() if general is None else (general,)), *lowest[:_MOST_USERS]]


def _is_user(entity: _Entity) -> bool:
    return entity.user not in {"", _DEFAULT}


def _entity_text(entity: _Entity) -> str:
    parts = [
        f"each {what} without a quota of its own" if name == _DEFAULT else f"{what} {name}"
        for what, name in (("user", entity.user), ("client-id", entity.client_id))
        if name
    ]
    return " and ".join(parts)
