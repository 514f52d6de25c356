"""Admission of connections: limits, eviction and counts."""

import dataclasses
from typing import Any

from exporters.http.admission import Admission, ConnectionLimits, RefusalReason, address_key


@dataclasses.dataclass(eq=False)
class FakeConnection:
    """A connection whose state the test sets; `expendable` is None while a request is running."""

    address: str
    expendable: float | None = None
    evicted: bool = False

    def expendable_since(self) -> float | None:
        """Return the value that the test set."""
        return self.expendable

    def evict(self) -> None:
        self.evicted = True


def counts(admission: Admission) -> dict[str, int]:
    """Return the refusals above zero by reason."""
    rows: list[dict[str, Any]] = admission.table().to_pylist()
    return {row["reason"]: row["refusals"] for row in rows if row["refusals"]}


def test_every_connection_is_admitted_below_the_limits() -> None:
    """A closed connection frees its place. Each reason has a row of 0 at the start, as `rate()` needs one."""
    admission = Admission(ConnectionLimits(total=3, per_address=2))
    connections = [FakeConnection("a", 1.0), FakeConnection("a", 2.0), FakeConnection("b", 3.0)]
    assert [admission.admit(each) for each in connections] == [True] * 3
    admission.remove(connections[0])
    admission.remove(connections[0])
    assert admission.open == 2
    assert admission.admit(FakeConnection("a"))
    assert not any(each.evicted for each in connections)
    assert counts(admission) == {}
    assert {
        row["reason"]: row["refusals"] for row in Admission(ConnectionLimits()).table().to_pylist()
    } == dict.fromkeys(RefusalReason, 0)


def test_an_address_at_its_limit_loses_its_longest_idle_connection() -> None:
    """An address at its limit loses its longest idle connection; connections of other addresses stay open."""
    admission = Admission(ConnectionLimits(total=10, per_address=3))
    other = FakeConnection("b", 0.0)
    connections = [FakeConnection("a", 5.0), FakeConnection("a", 2.0), FakeConnection("a", None)]
    for each in [other, *connections]:
        admission.admit(each)
    assert admission.admit(FakeConnection("a", 9.0))
    assert [each.evicted for each in connections] == [False, True, False]
    assert not other.evicted
    assert admission.open == 4
    assert counts(admission) == {"idle": 1}


def test_the_address_with_the_most_connections_loses_one_at_the_total_limit() -> None:
    """A client with few connections is admitted while another address opens many."""
    admission = Admission(ConnectionLimits(total=4, per_address=3))
    flood = [FakeConnection("flood", at) for at in (1.0, 2.0, 3.0)]
    scraper = FakeConnection("prometheus", 0.0)
    for each in [*flood, scraper]:
        admission.admit(each)
    assert admission.admit(FakeConnection("kubelet", 4.0))
    assert [each.evicted for each in flood] == [True, False, False]
    assert not scraper.evicted


def test_running_requests_are_not_interrupted() -> None:
    """A new connection is refused and counted if all other connections have running requests.

    Another idle connection is evicted if the address with the most connections is busy.
    """
    admission = Admission(ConnectionLimits(total=2, per_address=1))
    for address in ("a", "b"):
        assert admission.admit(FakeConnection(address, None))
    assert not admission.admit(FakeConnection("a", 1.0))
    assert not admission.admit(FakeConnection("c", 1.0))
    assert admission.open == 2
    assert counts(admission) == {"connections": 2}
    admission = Admission(ConnectionLimits(total=3, per_address=2))
    idle = FakeConnection("b", 1.0)
    for each in (FakeConnection("a", None), FakeConnection("a", None), idle):
        admission.admit(each)
    assert admission.admit(FakeConnection("c", 2.0))
    assert idle.evicted


def test_the_key_of_a_client() -> None:
    """The key is an IPv4 address, or a /64 network of IPv6, because a single host can have all of its addresses."""
    keys = {
        "192.0.2.7": "192.0.2.7",
        "::ffff:192.0.2.7": "192.0.2.7",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "fe80::1%eth0": "fe80::/64",
        "testclient": "testclient",
        None: "unknown",
    }
    assert {host: address_key(host) for host in keys} == keys
