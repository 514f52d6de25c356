"""Releases of Kafka that the sandbox can run, with each of their coordinators and kinds of metadata."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient

from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import release
from sandbox.kafka.zookeeper import ZooKeeper
from stream.groups.expiry.broker_rules import ExpiryRules
from tests.support.processes import LIMIT, wait_until


class Release(NamedTuple):
    """A release and its finalized level of `metadata.version`, which is None with ZooKeeper.

    `classic` is true if its group coordinator is the one of Kafka 3 and before.
    """

    version: str
    level: int | None
    classic: bool = False

    def is_before(self, version: str) -> bool:
        return release(self.version) < release(version)

    @property
    def rules(self) -> ExpiryRules:
        """The rules of offset expiration of its brokers, by the version alone."""
        since = {"2.1": ExpiryRules.PER_OFFSET, "2.4": ExpiryRules.EMPTY_ONLY, "3.2": ExpiryRules.UNSUBSCRIBED}
        since |= {"4.0": ExpiryRules.UNSUBSCRIBED_IF_STABLE}
        return next((rules for end, rules in since.items() if self.is_before(end)), ExpiryRules.NONE_PENDING)

    @contextlib.contextmanager
    def running(self, **properties: str) -> Iterator[Broker]:
        """Yield a broker that knows its controller; the names of properties have _ in place of dots."""
        own = {"group.coordinator.rebalance.protocols": "classic"} if self.classic else {}
        own |= {name.replace("_", "."): value for name, value in properties.items()}
        with contextlib.ExitStack() as servers:
            port = None if self.level else servers.enter_context(ZooKeeper()).port
            broker = servers.enter_context(Broker(version=self.version, properties=own, zookeeper_port=port))
            wait_for_controller(broker)
            yield broker


def wait_for_controller(broker: Broker) -> None:
    """Wait until the broker knows the controller: with ZooKeeper it opens its port before."""

    def controller() -> int:
        return (
            AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
            .list_topics(timeout=LIMIT)
            .controller_id
        )

    wait_until(lambda: controller() == 1, "the controller")


RELEASES: Final = (
    Release("1.1.1", None, classic=True),
    Release("2.0.1", None, classic=True),
    Release("2.3.1", None, classic=True),
    Release("2.4.1", None, classic=True),
    Release("2.8.2", None, classic=True),
    Release("3.3.2", 7, classic=True),
    Release("3.6.2", 14, classic=True),
    Release("3.7.2", None, classic=True),
    Release("3.7.2", 19),
    Release("3.8.1", 20, classic=True),
    Release("3.8.1", 20),
    Release("3.9.2", None, classic=True),
    Release("3.9.2", 21, classic=True),
    Release("3.9.2", 21),
    Release("4.0.2", 25),
    Release("4.1.2", 27),
    Release("4.2.1", 29),
    Release("4.3.1", 30),
    Release("4.4.0", 33),
)


def releases(*touched: str) -> list[Any]:
    """Return all releases as parameters; a submission runs those whose version is in `touched`, `make full` all."""
    return [
        pytest.param(case, marks=() if case.version in touched else pytest.mark.releases, id="-".join(map(str, case)))
        for case in RELEASES
    ]
