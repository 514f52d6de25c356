"""Several brokers that are also the controllers of their cluster, for tests that take voters of the quorum away."""

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from sandbox.kafka.broker import Broker
from sandbox.kafka.broker_properties import Voting
from sandbox.kafka.jars import BROKER
from sandbox.ports import free_port_pair


@contextlib.contextmanager
def running_quorum(
    voters: int = 3, properties: Mapping[str, str] | None = None, *, version: str = BROKER
) -> Iterator[dict[int, Broker]]:
    """Start brokers that are all voters and yield them by node number; stop them and remove their data at the end.

    They start at the same time, because a broker opens its port only after the quorum has a leader. Raises
    BrokerError.
    """
    ports = {node: free_port_pair() for node in range(1, voters + 1)}
    brokers = {node: Broker(voting=Voting(node, ports), properties=properties, version=version) for node in ports}
    try:
        with ThreadPoolExecutor(voters) as pool:
            list(pool.map(Broker.start, brokers.values()))
        yield brokers
    finally:
        # A controller without a majority does not stop by itself.
        for broker in brokers.values():
            broker.kill()
            broker.close()
