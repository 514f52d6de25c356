"""The ends of earlier leader epochs in the current logs of a topic: they show that a log lost its end (KIP-320).

A leader that is elected with a shorter log, or starts with a shorter one, writes on under a new epoch. An offset alone
does not show this when the log has grown past it again; the end of the epoch under which it was read does.
"""

from collections.abc import Mapping
from typing import Final

from stream.cluster.leaders import find_leaders
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason, of_code
from stream.cluster.transport.errors import ClusterError

_PERMANENT: Final = (ErrorReason.NOT_AUTHORIZED, ErrorReason.UNSUPPORTED)
NO_EPOCH: Final = -1
"""The end of an epoch above all that the leader has: the log was replaced by an older one."""


def read_epoch_ends(cluster: Cluster, topic: str, epochs: Mapping[int, int]) -> dict[int, int | None]:
    """Return by partition where its epoch, or else the last one before that, ends in the log of the current leader.

    NO_EPOCH if the leader's own epoch is below the requested one. None if the broker cannot say: it is too old, refuses
    it to this user, or keeps no epochs. A partition whose leader does not answer now is left out. Raises ClusterError
    only when no broker answers at all. Asks nothing if no epochs are given.
    """
    if not epochs:
        return {}
    leaders = find_leaders(cluster, [topic])
    of_node: dict[int, list[tuple[int, int, int]]] = {}
    for partition, epoch in sorted(epochs.items()):
        leader = leaders.of(topic, partition)
        if not isinstance(leader, ErrorReason):
            of_node.setdefault(leader[0], []).append((partition, leader[1], epoch))
    calls = [(node, requests.epoch_ends({topic: rows})) for node, rows in of_node.items()]
    ends: dict[int, int | None] = {}
    for rows, answer in zip(of_node.values(), cluster.call_all(calls), strict=True):
        if isinstance(answer, ClusterError):
            if not answer.passes:
                ends.update(dict.fromkeys((partition for partition, _, _ in rows), None))
            continue
        current = {partition: (leader_epoch, epoch) for partition, leader_epoch, epoch in rows}
        for part in (part for each in answer.topics for part in each.partitions):
            if part.error_code:
                if of_code(part.error_code) in _PERMANENT:
                    ends[part.partition] = None
                continue
            leader_epoch, epoch = current[part.partition]
            went_back = 0 <= leader_epoch < epoch
            ends[part.partition] = part.end_offset if part.end_offset >= 0 else NO_EPOCH if went_back else None
    return ends


def is_cut(position: int, epoch_end: int | None) -> bool:
    """Return whether a log has lost what was read up to before `position` under an epoch that ends here."""
    return epoch_end is not None and epoch_end < position
