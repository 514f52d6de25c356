"""One group of a scenario with its topics and running clients: what the actions of both catalogues have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from confluent_kafka.admin import AdminClient

from sandbox.clients.group_names import topic_name
from sandbox.clients.members import client_config
from sandbox.waiting import LIMIT, wait_until

if TYPE_CHECKING:
    from sandbox.clients.java_clients import JavaClients


class ClosableClient(Protocol):
    """A client that can leave its group."""

    def close(self, *, leaving: bool) -> None:
        """Leave the group, or (`leaving` false) stop without a leave request."""


ClientT = TypeVar("ClientT", bound=ClosableClient)


class GroupControl(Generic[ClientT]):
    """A group and its clients by name. Methods take the short names of topics."""

    def __init__(self, java_clients: JavaClients, group: str) -> None:
        self.java_clients: Final = java_clients
        self.bootstrap: Final = java_clients.bootstrap
        self.group: Final = group
        self.clients: Final[dict[str, ClientT]] = {}

    def topic(self, short: str) -> str:
        """Return the full name of one of the group's topics."""
        return topic_name(self.group, short)

    def admin(self) -> AdminClient:
        """Return a new admin client. Keep it until its answers are there: they end with the client."""
        return AdminClient(client_config(self.bootstrap))

    def delete_topic(self, short: str) -> None:
        """Delete a topic and wait until the metadata no longer has it."""
        name, admin = self.topic(short), self.admin()
        admin.delete_topics([name])[name].result(LIMIT)
        wait_until(lambda: name not in admin.list_topics(timeout=LIMIT).topics, f"the deletion of {name}")

    def close_client(self, name: str, *, leaving: bool = True) -> None:
        """Close and remove a client."""
        self.clients.pop(name).close(leaving=leaving)
