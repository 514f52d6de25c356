"""The configured part of the other exporters' metrics: which exporters, and the name of the cluster in their labels."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from exporters.compatibility.burrow import BURROW
from exporters.compatibility.peers import PEER_BY_NAME, STATUS_PEERS

if TYPE_CHECKING:
    from exporters.compatibility.peer import Peer, PeerMetric


@dataclasses.dataclass(frozen=True, slots=True)
class PeerSelection:
    """The option `metrics.compatibility` with what belongs to it. Raises KeyError on use if a name is unknown.

    `cluster` is the value of the labels `cluster` and `cluster_name`. With `hide_members` no label names a member.
    """

    names: tuple[str, ...] = ()
    cluster: str = "kafka"
    hide_members: bool = False

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The exporters, each once."""
        return tuple(PEER_BY_NAME[name] for name in dict.fromkeys(self.names))

    @property
    def needs_burrow(self) -> bool:
        """True if a metric has the status by Burrow's rules."""
        return not STATUS_PEERS.isdisjoint(self.names)

    @property
    def needs_every_partition(self) -> bool:
        """True if a metric has a value for each partition of a topic for which a group has a commit."""
        return any(peer.every_partition for peer in self.peers)

    @property
    def has_burrow_api(self) -> bool:
        """True if the paths of Burrow's API are served (`exporters.http.burrow_api`)."""
        return BURROW.name in self.names

    @property
    def snapshot_metrics(self) -> tuple[PeerMetric, ...]:
        """The metrics that are rendered once per snapshot."""
        return tuple(metric for peer in self.peers for metric in peer.snapshot_metrics)

    @property
    def cluster_metrics(self) -> tuple[PeerMetric, ...]:
        """The metrics that are rendered once per poll of the cluster."""
        return tuple(metric for peer in self.peers for metric in peer.cluster_metrics)
