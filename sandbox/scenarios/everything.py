"""All histories, and their run on a broker of its own.

`python -m sandbox.scenarios.everything` runs them with the replay as observer, and records the run for the tests.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.clients.java_clients import JavaClients
from sandbox.scenarios import classic, newer, removals
from sandbox.scenarios.recording import HistoryRecorder
from sandbox.scenarios.replay_observer import ReplayObserver, TopicNames
from sandbox.scenarios.runner import HistoryBroker, HistoryRunner
from stream.cluster.transport.client import Cluster
from stream.offline.live import LiveTopics
from stream.offline.rows import OFFSETS_TOPIC

if TYPE_CHECKING:
    from sandbox.scenarios.comparison import GroupComparison
    from sandbox.scenarios.history import GroupHistory

HISTORIES: Final[tuple[GroupHistory, ...]] = (*classic.HISTORIES, *newer.HISTORIES, *removals.HISTORIES)
CAPTURES: Final = Path(__file__).resolve().parents[2] / "tests" / "captures"


def replay_observer(cluster: Cluster) -> ReplayObserver:
    """Return the observer that reads the offsets topic of this cluster."""
    return ReplayObserver(
        lambda last: LiveTopics(cluster, [OFFSETS_TOPIC]).rows(last),
        lambda: TopicNames({topic.topic_id.bytes: topic.name for topic in cluster.metadata(None).topics}),
    )


def record(folder: Path) -> list[GroupComparison]:
    """Run all histories and write the recording into a folder; returns the comparisons."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(HistoryBroker())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        java_clients = stack.enter_context(JavaClients(broker.bootstrap, scratch / "java-clients.log"))
        cluster = stack.enter_context(Cluster([broker.bootstrap]))
        replay = replay_observer(cluster)
        recorder = HistoryRecorder(replay)
        runner = stack.enter_context(
            HistoryRunner(java_clients, HISTORIES, [replay], expire=broker.expire, after_comparison=recorder.record)
        )
        runner.run(lambda line: print(line, flush=True))
        recorder.write(folder, LiveTopics(cluster, [OFFSETS_TOPIC]).origin)
    return runner.comparisons


def main() -> int:
    """Record the run for the tests. Returns the exit code: 1 where something differs from the expectation."""
    wrong = [f"{each.history}, {each.description}: {fault}" for each in record(CAPTURES) for fault in each.all_faults()]
    print("\n".join(wrong) or f"{len(HISTORIES)} histories, all as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
