"""The state of the metadata quorum of a KRaft cluster: leader, voters, observers, and how far they have read.

One DescribeQuorum request (KIP-595, KIP-836), which the broker forwards to the leader of the quorum. All times are of
the leader's clock. Errors are values. `kafka-metadata-quorum describe` shows the same.
"""

import dataclasses
import enum
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from uuid import UUID

from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

FETCH_PATIENCE: Final = 10_000
"""The longest time between two fetches of a voter that follows, in ms.

Controllers fetch twice a second and begin an election after 2 s without an answer (controller.quorum.fetch.timeout.ms).
"""

CATCH_UP_PATIENCE: Final = 60_000
"""The longest time in which a voter that fetches may not have the whole log, in ms."""

_NO_DIRECTORY: Final = 0
_UNKNOWN: Final = -1


class QuorumRole(enum.StrEnum):
    """The role of a replica of the metadata log."""

    VOTER = "voter"
    OBSERVER = "observer"


class QuorumReplica(NamedTuple):
    """A node that holds the metadata log. None: the leader does not know it, or its version does not report it."""

    replica: int
    role: QuorumRole
    # Null before Kafka 3.9, which has no ids of directories (KIP-853).
    directory: UUID | None
    log_end_offset: int | None
    # The distance to the leader's end, in records of the metadata log.
    lag: int | None
    # Unix milliseconds, null before Kafka 3.3 (KIP-836).
    last_fetch_time: int | None
    last_caught_up_time: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Quorum:
    """The quorum as its leader describes it; voters first, then observers, both by id.

    A node whose disk was replaced can be listed with both directories. The one that fetched last is kept, because the
    other one is no longer in use.
    """

    leader: int | None
    leader_epoch: int
    high_watermark: int | None
    replicas: tuple[QuorumReplica, ...]

    @property
    def voters(self) -> int:
        """The number of voters."""
        return sum(each.role is QuorumRole.VOTER for each in self.replicas)

    @property
    def voters_behind(self) -> int | None:
        """The number of voters that do not follow the leader; None without a leader, and before Kafka 3.3.

        Those that have not fetched for FETCH_PATIENCE, or not had the whole log for CATCH_UP_PATIENCE, by the clock of
        the leader, whose own times are those of the answer (org.apache.kafka.raft.LeaderState#describeReplicaState).
        """
        voters = [each for each in self.replicas if each.role is QuorumRole.VOTER]
        now = next((each.last_fetch_time for each in voters if each.replica == self.leader), None)
        return None if now is None else sum(_is_behind(each, now) for each in voters)


def read_quorum(cluster: Cluster) -> Quorum | ErrorReason:
    """Read the state of the quorum, or return why it is unknown: UNSUPPORTED with ZooKeeper and before Kafka 3.0.

    Needs the right to describe the cluster. Raises nothing.
    """
    try:
        answer = cluster.call_any(requests.describe_quorum())
    except ClusterError as error:
        return reasons.of_failure(error)
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        return refused
    partition = next((partition for topic in answer.topics for partition in topic.partitions), None)
    if partition is None:
        return ErrorReason.OTHER
    refused = reasons.of_code(partition.error_code)
    return _quorum(partition) if refused is None else refused


def _quorum(partition: Any) -> Quorum:
    described = [
        *((state, QuorumRole.VOTER) for state in partition.current_voters),
        *((state, QuorumRole.OBSERVER) for state in partition.observers),
    ]
    ends = {state.replica_id: _known(state.log_end_offset) for state, _ in described}
    # The leader is a voter, unless it is about to be removed from the voters.
    end = ends.get(partition.leader_id)
    return Quorum(
        leader=_known(partition.leader_id),
        leader_epoch=partition.leader_epoch,
        high_watermark=_known(partition.high_watermark),
        replicas=tuple(_one_per_node(_replica(state, role, end) for state, role in described)),
    )


def _is_behind(voter: QuorumReplica, now: int) -> bool:
    """Return whether a voter does not follow. Null times: it has not fetched, or not caught up, since the election."""
    fetched, caught_up = voter.last_fetch_time, voter.last_caught_up_time
    if fetched is None or now - fetched > FETCH_PATIENCE:
        return True
    return caught_up is None or now - caught_up > CATCH_UP_PATIENCE


def _replica(state: Any, role: QuorumRole, leader_end: int | None) -> QuorumReplica:
    end = _known(state.log_end_offset)
    directory = state.replica_directory_id
    return QuorumReplica(
        replica=state.replica_id,
        role=role,
        directory=None if directory is None or directory.int == _NO_DIRECTORY else directory,
        log_end_offset=end,
        lag=None if end is None or leader_end is None else leader_end - end,
        last_fetch_time=_known(state.last_fetch_timestamp),
        last_caught_up_time=_known(state.last_caught_up_timestamp),
    )


def _one_per_node(replicas: Iterable[QuorumReplica]) -> Iterator[QuorumReplica]:
    newest: dict[tuple[bool, int], QuorumReplica] = {}
    for each in sorted(replicas, key=lambda each: each.last_fetch_time or 0, reverse=True):
        newest.setdefault((each.role is QuorumRole.OBSERVER, each.replica), each)
    yield from (newest[key] for key in sorted(newest))


def _known(value: int) -> int | None:
    """Return a value of an answer; None for -1, which is also the value of a field that the version does not have."""
    return None if value == _UNKNOWN else value
