"""Bounds on connections: who is let in, what is closed for them, and how it is counted."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from exporters.http.admission import Admission, ConnectionLimits, RefusalReason, address_key


@dataclasses.dataclass(eq=False)
class Line:
    """A connection of which the test decides how it is used; None: an answer is on its way."""

    address: str
    expendable: float | None = None
    evicted: bool = False

    def expendable_since(self) -> float | None:
        """Say what the test decided."""
        return self.expendable

    def evict(self) -> None:
        """Note it."""
        self.evicted = True


def counts(admission: Admission) -> dict[str, int]:
    """Give the refusals that have happened."""
    rows: list[dict[str, Any]] = admission.table().to_pylist()
    return {row["reason"]: row["refusals"] for row in rows if row["refusals"]}


def test_below_the_bounds_everybody_is_let_in() -> None:
    """Nothing is closed, and what is closed by its client makes room."""
    admission = Admission(ConnectionLimits(total=3, per_address=2))
    lines = [Line("a", 1.0), Line("a", 2.0), Line("b", 3.0)]
    assert [admission.admit(line) for line in lines] == [True] * 3
    admission.remove(lines[0])
    admission.remove(lines[0])
    assert admission.open == 2
    assert admission.admit(Line("a"))
    assert not any(line.evicted for line in lines)
    assert counts(admission) == {}


def test_an_address_pays_for_its_own_connections() -> None:
    """At its bound, the connection of the same address that has been idle for the longest time is closed."""
    admission = Admission(ConnectionLimits(total=10, per_address=3))
    other = Line("b", 0.0)
    lines = [Line("a", 5.0), Line("a", 2.0), Line("a", None)]
    for line in [other, *lines]:
        admission.admit(line)
    assert admission.admit(Line("a", 9.0))
    assert [line.evicted for line in lines] == [False, True, False]
    assert not other.evicted
    assert admission.open == 4
    assert counts(admission) == {"idle": 1}


def test_in_total_the_address_with_the_most_pays() -> None:
    """A client with few connections is let in while another address floods."""
    admission = Admission(ConnectionLimits(total=4, per_address=3))
    flood = [Line("flood", at) for at in (1.0, 2.0, 3.0)]
    scraper = Line("prometheus", 0.0)
    for line in [*flood, scraper]:
        admission.admit(line)
    assert admission.admit(Line("kubelet", 4.0))
    assert [line.evicted for line in flood] == [True, False, False]
    assert not scraper.evicted


def test_answers_on_their_way_are_not_cut_off() -> None:
    """Where nothing can be closed the new connection is refused, and counted as that."""
    admission = Admission(ConnectionLimits(total=2, per_address=1))
    for address in ("a", "b"):
        assert admission.admit(Line(address, None))
    assert not admission.admit(Line("a", 1.0))
    assert not admission.admit(Line("c", 1.0))
    assert admission.open == 2
    assert counts(admission) == {"connections": 2}


def test_where_the_largest_address_is_busy_another_idle_connection_is_closed() -> None:
    """Total room is found wherever it is."""
    admission = Admission(ConnectionLimits(total=3, per_address=2))
    idle = Line("b", 1.0)
    for line in (Line("a", None), Line("a", None), idle):
        admission.admit(line)
    assert admission.admit(Line("c", 2.0))
    assert idle.evicted


def test_every_reason_has_a_row_from_the_start() -> None:
    """So that a rate can be taken over the first refusal."""
    assert {
        row["reason"]: row["refusals"] for row in Admission(ConnectionLimits()).table().to_pylist()
    } == dict.fromkeys(RefusalReason, 0)


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        (None, "unknown"),
    ],
)
def test_what_counts_as_one_client(host: str | None, key: str) -> None:
    """One IPv4 address, and one /64 of IPv6, all of which a single host may have."""
    assert address_key(host) == key
