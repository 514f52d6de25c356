"""The driver's address for executors, a master that does not answer, and a missing interpreter."""

import contextlib
import socket
import sys

import pytest

from stream.config.master_url import MasterUrl
from stream.errors import ExitCode, Refusal
from stream.spark.executors.driver_machine import address_for, check_python, check_reachable


def _has_ipv6_loopback() -> bool:
    """Return whether this machine has the address ::1."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        probe.bind(("::1", 0))
        return True
    return False


IPV6 = pytest.mark.skipif(not _has_ipv6_loopback(), reason="this machine has no IPv6 loopback address")


ADDRESSES = {
    "local[2]": "127.0.0.1",
    "local-cluster[2,1,1024]": "127.0.0.1",
    "spark://127.0.0.1:7077": "127.0.0.1",
    "k8s://https://127.0.0.1:6443": "127.0.0.1",
    "spark://no.invalid:1,127.0.0.1:1": "127.0.0.1",
}
IPV6_ADDRESSES = {
    "spark://127.0.0.1:1,[::1]:1": "127.0.0.1",
    "spark://[::1]:1,127.0.0.1:1": "::1",
    "spark://no.invalid:1,[::1]:1,127.0.0.1:1": "::1",
    "k8s://https://[::1]:6443": "::1",
}


@pytest.mark.parametrize("addresses", [ADDRESSES, pytest.param(IPV6_ADDRESSES, marks=IPV6)], ids=["IPv4", "IPv6"])
def test_address_is_that_of_the_route_to_the_master(addresses: dict[str, str]) -> None:
    """The address is that of the route to the first master that can be resolved, even if no process listens there.

    It is loopback if all executors run on the machine of the driver.
    """
    assert {master: address_for(MasterUrl.parse(master)) for master in addresses} == addresses


def test_master_that_cannot_be_resolved_is_refused_with_the_option_to_set() -> None:
    """The refusal names the option job.driver_host."""
    with pytest.raises(Refusal, match=r"job.driver_host") as raised:
        address_for(MasterUrl.parse("spark://no-such-host.invalid:7077"))
    assert raised.value.code == ExitCode.SPARK_UNAVAILABLE


def test_master_that_does_not_listen_is_refused_with_its_address() -> None:
    """The refusal has the address and the cause. One of several masters that listens is sufficient."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        open_port, closed_port = server.getsockname()[1], closed.getsockname()[1]
        check_reachable(MasterUrl.parse(f"spark://127.0.0.1:{open_port}"))
        check_reachable(MasterUrl.parse(f"spark://127.0.0.1:{closed_port},127.0.0.1:{open_port}"))
        with pytest.raises(Refusal, match=f"127.0.0.1 port {closed_port}: Connection refused"):
            check_reachable(MasterUrl.parse(f"spark://127.0.0.1:{closed_port}"))


def test_interpreter_of_executors_must_be_on_this_machine() -> None:
    """A path, a name on PATH and no value are accepted. A path that does not exist is refused."""
    check_python(sys.executable)
    check_python("sh")
    check_python(None)
    with pytest.raises(Refusal, match="/no/such/python, is not on this machine"):
        check_python("/no/such/python")
