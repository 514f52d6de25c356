"""Holds the driver state and publishes a snapshot of it at each tick."""

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from exporters.cluster.model import ClusterFacts
from exporters.readmodel import GroupDetail
from exporters.text.exposition import PublishedSnapshot
from stream.cluster.offsets_topic import NAME
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.config.ownership import GroupPolicies
from stream.groups.commits.counts import CommitCounts
from stream.groups.driver_state import DriverState, GroupColumns
from stream.groups.lifecycle.model import Transition
from stream.groups.membership.model import find_groups
from stream.groups.shard import ShardChange, ShardState
from stream.health.features.window import Window
from stream.process_memory import release_memory
from stream.tick.context_poller import ContextPoller
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.polled_cluster import PollReader
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.offsets_topic_lag import UnansweredPartition
from stream.tick.run_tick import TickParts, TickResult, read_facts, run_tick
from stream.tick.snapshot.build import group_detail, with_share_partitions
from stream.tick.terminations import Terminations
from stream.tick.verdicts.evaluate import VerdictEvaluator


class Publisher:
    """The driver state and the result of the last tick.

    The batch thread calls `apply`, the tick thread `tick` and `finish_tick`; any thread calls `current` and `details`.
    """

    def __init__(self, dead_grace: float = 3600.0, parts: TickParts | None = None) -> None:
        """Start with no groups. Dead groups are shown for `dead_grace` seconds."""
        self._dead_grace = dead_grace
        self._lock = threading.Lock()
        self._driver_state = DriverState(CommitCounts())
        self._parts = parts or TickParts()
        self._window: Window | None = None
        self._transitions: deque[tuple[str, Transition]] = deque(maxlen=10_000)

    def current(self) -> PublishedSnapshot | None:
        """Return the published snapshot; None before the first."""
        tick = self._parts.last
        return None if tick is None else tick.published

    def details(self, group: str) -> GroupDetail | None:
        """Return members, history and findings of a group as of the published snapshot; None if it is not in there."""
        tick = self._parts.last
        if tick is None:
            return None
        details, derived = tick.details, tick.details.derived
        state = derived.state
        found = state.memberships.get(group), state.histories.get(group)
        if found == (None, None):  # unknown, or in quarantine
            return None
        hidden = derived.hidden.memberships.get(group)
        with self._lock:
            known = self._driver_state if hidden is None else hidden
            members = known.members(group, derived.facts.cluster.topic_names)
        detail = group_detail(group, found, members, state.topics_of(group), derived)
        verdicts = details.share_partition_verdicts(group)
        return dataclasses.replace(
            with_share_partitions(detail, derived.facts.polled.share_progress, verdicts),
            finding=details.finding(group),
            partition_findings=details.partition_findings(group),
            verdicts=self._parts.evaluator.changes_of(group),
        )

    def groups_of_client(self, client: str | None, host: str | None) -> frozenset[str]:
        """Return the groups of the published snapshot with a member of this client id and on this host; None: any.

        Hosts are compared without the slash that Java puts before an address. Reads every member of every group.
        """
        tick = self._parts.last
        return frozenset() if tick is None else find_groups(tick.details.derived.state.memberships, client, host)

    def evaluate_with(self, evaluator: VerdictEvaluator, lookups: LookupScheduler) -> None:
        """Use this evaluator and these lookups from the next tick on."""
        self._parts.evaluator, self._parts.lookups = evaluator, lookups

    def use(self, policies: GroupPolicies, targets: tuple[tuple[str, float], ...]) -> None:
        """Use these policies and targets from the next tick on. Call it from the tick thread."""
        self._parts.policies = policies
        self._parts.evaluate_next()
        self._parts.selector.use_targets(targets)

    def read_polls(self, facts: Callable[[], ClusterFacts | None]) -> None:
        """Use the last `facts` about the cluster from the next tick on: share groups, replicas."""
        self._parts.polled = PollReader(facts).current

    def save_verdicts(self) -> None:
        """Write the verdict file. Call it from the tick thread, or after that has ended."""
        self._parts.evaluator.save()

    def seed(self, states: list[tuple[int, ShardState]]) -> None:
        """Start from the shards of the state store; nothing in them is a change."""
        with self._lock:
            for shard, state in states:
                self._driver_state.seed(shard, state)

    def apply(self, changes: list[tuple[int, ShardChange]], *, catching_up: bool) -> None:
        """Apply the changes of one batch, all at once; `catching_up`: it was read before the catch-up was complete."""
        with self._lock:
            for shard, change in changes:
                events = self._driver_state.apply(shard, change, catching_up=catching_up)
                self._parts.terminations.record(events, catching_up=catching_up)
                self._transitions.extend(each for each in events.transitions if each[1].live)

    def take_transitions(self) -> list[tuple[str, Transition]]:
        """Return the newest transitions since the last call, each with its group, without those of the catch-up."""
        with self._lock:
            taken = list(self._transitions)
            self._transitions.clear()
        return taken

    def start_over(self) -> None:
        """Discard all groups, because the state that they come from cannot be used. Not to be called during a tick."""
        with self._lock:
            self._driver_state = DriverState(self._driver_state.commit_counts)
            self._parts.terminations = Terminations()
        self.clear()

    def clear(self) -> None:
        """Publish nothing any more, because what was published is wrong."""
        self._parts.last = None
        self._parts.evaluator.reset()

    def poll_offsets_topic(self, cluster: Cluster) -> tuple[UnansweredPartition, ...]:
        """Return the offsets partitions without end offsets, before the first tick. Raises ClusterError."""
        self._parts.offsets_topic.record_unanswered(EndsIndex(read_ends(cluster, [NAME])), time.time())
        return self._parts.offsets_topic.unanswered

    def tick(
        self,
        cluster: Cluster,
        poller: ContextPoller | None = None,
        positions: Mapping[int, int] | None = None,
        *,
        current: bool = False,
    ) -> TickResult:
        """Publish a new snapshot and return what it was made from (see `read_facts`, `run_tick`).

        Raises ClusterError if no broker answers; the last snapshot then stays published.
        """
        facts = read_facts(self._parts, self._copy_state, cluster, poller, positions or {}, current=current)
        result = run_tick(self._parts, facts)
        self._window = None if result.evaluated is None else result.evaluated.evaluation.window
        return result

    def finish_tick(self) -> None:
        """Do what must not delay the publication: search offset times for the next tick, pack this one, release memory.

        The caller must have dropped the result of the tick, whose columns would otherwise stay in memory.
        """
        tick, parts = self._parts.last, self._parts
        window, self._window = self._window, None
        if window is None or tick is None:
            return
        if parts.lookups is not None and parts.lookups.search_offset_times(window, parts.evaluator.end_history):
            parts.evaluate_next()
        del window
        tick.details.pack()
        release_memory()

    def _copy_state(self, with_records: frozenset[str]) -> GroupColumns:
        """Drop groups that died long ago, and return the driver state as columns.

        The result has the membership records of the groups `with_records`.
        """
        with self._lock:
            now = int(time.time() * 1000)
            self._driver_state.drop_dead(now - int(self._dead_grace * 1000), now)
            return self._driver_state.columns(with_records)
