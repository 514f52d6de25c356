"""What a cluster needs of the driver's machine: an address, a route to the master, and the interpreter of executors."""

import contextlib
import shutil
import socket
from typing import Final

from stream.config.master_url import MasterKind, MasterUrl
from stream.errors import ExitCode, Refusal

LOOPBACK: Final = "127.0.0.1"
_CONNECT_SECONDS: Final = 5.0


def address_for(master: MasterUrl) -> str:
    """Return the address from which this machine sends to the master; loopback if all executors are on this machine.

    Sends nothing: the address is that of a connected UDP socket. Raises Refusal if no master's name can be resolved.
    """
    if not master.is_on_other_machines:
        return LOOPBACK
    for host, port in master.addresses:
        with contextlib.suppress(OSError):
            family, kind, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(target)
                return str(probe.getsockname()[0])
    raise Refusal(
        f"the address of this machine for executors is not known: {master.text} cannot be resolved or has no route",
        "correct job.master, or set job.driver_host",
        ExitCode.SPARK_UNAVAILABLE,
    )


def check_python(python: str | None) -> None:
    """Raise Refusal if the interpreter of executors (job.executor_python) is not on this machine, too."""
    if python is not None and shutil.which(python) is None:
        raise Refusal(
            f"the interpreter of executors, {python}, is not on this machine, where Spark plans with the same one",
            "install it at the same path, or set job.executor_python to a name on the PATH of all machines",
            ExitCode.SPARK_UNAVAILABLE,
        )


def check_reachable(master: MasterUrl) -> None:
    """Raise Refusal if no master of a standalone cluster accepts a connection: Spark itself tries for a minute."""
    if master.kind is not MasterKind.STANDALONE:
        return
    causes = []
    for host, port in master.addresses:
        try:
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError as error:
            causes.append(f"{host} port {port}: {error.strerror or error}")
        else:
            return
    raise Refusal(
        f"Spark's master does not answer ({'; '.join(causes)})",
        "correct job.master, or start the master",
        ExitCode.SPARK_UNAVAILABLE,
    )
