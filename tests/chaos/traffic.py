"""Traffic of the chaos tests: the continuous traffic of the sandbox, short-lived groups, and a backlog to catch up."""

import random
from collections.abc import Callable
from typing import Final

from sandbox.clients.members import GroupKind, Member
from sandbox.demo.behaviours import TrafficWorker
from sandbox.demo.workload import Workload
from tests.integration.traffic import commit, delete_groups, make_topic

TOPIC: Final = "orders"
PARTITIONS: Final = 4
MOST_MEMBERS: Final = 3
MOST_GROUPS: Final = 12
BACKLOG: Final = "backlog"
BACKLOG_PARTITIONS: Final = 100
BACKLOG_COMMITS: Final = 60


class Churn(TrafficWorker):
    """Groups that are created and deleted, and members that join and leave, one random change per turn, from a seed."""

    name = "churn"
    settled = True

    def __init__(self, bootstrap: str, seed: int) -> None:
        self._bootstrap = bootstrap
        self._random = random.Random(seed)  # noqa: S311 - reproducible, no secret
        self._made = 0
        self._groups: list[str] = []
        self._members: list[Member] = []

    def run_turn(self) -> None:
        """See TrafficWorker."""
        changes: list[Callable[[], None]] = [self._commit, self._join, self._leave, self._delete]
        self._random.choice(changes)()
        self.idle_turn()

    def idle_turn(self) -> None:
        """See TrafficWorker."""
        for member in self._members:
            member.idle()

    def close(self) -> None:
        """See TrafficWorker."""
        for member in self._members:
            member.leave()
        self._members = []

    def _commit(self) -> None:
        if not self._groups or (len(self._groups) < MOST_GROUPS and self._random.random() < 0.5):
            self._made += 1
            self._groups.append(f"churn-{self._made}")
        offsets = {partition: self._random.randrange(40) for partition in range(self._random.randint(1, PARTITIONS))}
        commit(self._bootstrap, self._random.choice(self._groups), TOPIC, offsets)

    def _delete(self) -> None:
        if self._groups:
            delete_groups(self._bootstrap, [self._groups[-1]])
            self._groups.pop()

    def _join(self) -> None:
        """Add a member to a group of the classic or the consumer protocol."""
        if len(self._members) < MOST_MEMBERS:
            kind: GroupKind = self._random.choice(["classic", "consumer"])
            member = Member(self._bootstrap, f"churn-{kind}", kind, number=self._made)
            member.consumer.subscribe([TOPIC])
            self._members.append(member)

    def _leave(self) -> None:
        """Commit with the oldest member, and remove it from its group."""
        if self._members:
            member = self._members.pop(0)
            try:
                member.read()
                member.commit()
            finally:
                member.leave()


def continuous_traffic(bootstrap: str, seed: int) -> Workload:
    """Return the traffic of the sandbox and of short-lived groups; not started."""
    return Workload(bootstrap, more=[Churn(bootstrap, seed)])


def make_backlog_topic(bootstrap: str) -> None:
    make_topic(bootstrap, BACKLOG, BACKLOG_PARTITIONS, records=1)


def make_backlog(bootstrap: str) -> None:
    """Write some thousand commits, so that a stopped monitor has several micro-batches to catch up."""
    commit(bootstrap, BACKLOG, BACKLOG, dict.fromkeys(range(BACKLOG_PARTITIONS), 1), times=BACKLOG_COMMITS)
