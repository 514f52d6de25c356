"""All scenarios there are, and the play of all of them on a broker of its own.

`python -m sandbox.scenarios.everything` plays them with the replay as witness, and records the play for the tests.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.clients.java_clients import JavaClients
from sandbox.scenarios import classic, ends, newer
from sandbox.scenarios.recording import HistoryRecorder
from sandbox.scenarios.replay_observer import ReplayObserver, TopicNames
from sandbox.scenarios.runner import HistoryBroker, HistoryRunner
from stream.cluster.transport.client import Cluster
from stream.offline.live import LiveTopics
from stream.offline.rows import OFFSETS_TOPIC

if TYPE_CHECKING:
    from sandbox.scenarios.comparison import GroupComparison
    from sandbox.scenarios.history import GroupHistory

SCENARIOS: Final[tuple[GroupHistory, ...]] = (*classic.SCENARIOS, *newer.SCENARIOS, *ends.SCENARIOS)
CAPTURES: Final = Path(__file__).resolve().parents[2] / "tests" / "captures"


def replayed(cluster: Cluster) -> ReplayObserver:
    """Give the witness that reads the offsets topic of this cluster."""
    return ReplayObserver(
        lambda last: LiveTopics(cluster, [OFFSETS_TOPIC]).rows(last),
        lambda: TopicNames({topic.topic_id.bytes: topic.name for topic in cluster.metadata(None).topics}),
    )


def record(folder: Path) -> list[GroupComparison]:
    """Play everything and keep it in a folder; gives the scenes."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(HistoryBroker())
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        desk = stack.enter_context(JavaClients(broker.bootstrap, scratch / "desk.log"))
        cluster = stack.enter_context(Cluster([broker.bootstrap]))
        watching = replayed(cluster)
        recorder = HistoryRecorder(watching)
        play = stack.enter_context(
            HistoryRunner(desk, SCENARIOS, [watching], sweep=broker.sweep, after_look=recorder.note)
        )
        play.run(lambda said: print(said, flush=True))
        recorder.write(folder, LiveTopics(cluster, [OFFSETS_TOPIC]).origin)
    return play.scenes


def main() -> int:
    """Record the play for the tests; gives the exit code, 1 where something is not as it must be."""
    wrong = [f"{scene.scenario}, {scene.story}: {fault}" for scene in record(CAPTURES) for fault in scene.all_faults()]
    print("\n".join(wrong) or f"{len(SCENARIOS)} scenarios, all as they must be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
