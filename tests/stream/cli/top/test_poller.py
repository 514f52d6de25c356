"""The requests of `lagwarden top` in a separate thread."""

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from stream.cli.top.poller import PollResult, poll_forever, poll_groups
from stream.errors import ExitCode, Refusal
from tests.stream.cli.top.api_answers import groups_of
from tests.support.terminal import PATIENCE


class ScriptedClient:
    """A client of an instance whose answers about one group are those of a function."""

    def __init__(self, answer_group: Callable[[str], Any]) -> None:
        self.requests: list[str] = []
        self._answer_group = answer_group

    def groups(self, _query: object = None) -> dict[str, Any]:
        self.requests.append("")
        return {"snapshot_time": "2023-11-14T22:13:20.000Z", "groups": list(groups_of())}

    def group(self, name: str) -> Any:
        self.requests.append(name)
        answer = self._answer_group(name)
        if isinstance(answer, Refusal):
            raise answer
        return answer


def test_an_answer_has_notes() -> None:
    """A result has the other instances, the name of the cluster and the common causes that the answer has."""
    client: Any = ScriptedClient(lambda _: None)
    alone = poll_groups(client)
    assert (alone.note, alone.cluster_name, alone.common_causes) == ("", None, ())
    causes = [{"sentence": "3 of 3 groups."}]
    more = {"instance": "1/2", "siblings": ["http://a", "http://b"], "cluster_name": "eu", "common_causes": causes}
    answer = client.groups() | more
    client.groups = lambda _query: answer
    shared = poll_groups(client)
    assert shared.note == "these are the groups of instance 1/2; the others: http://a"
    assert (shared.cluster_name, shared.common_causes) == ("eu", tuple(causes))


LOST = Refusal("no lagwarden answers", "", ExitCode.NO_INSTANCE)


@pytest.mark.parametrize(
    ("answer", "error"),
    [({"group": "billing"}, ""), (None, "this group no longer exists"), (LOST, "no lagwarden answers")],
    ids=["known group", "removed group", "lost instance"],
)
def test_opened_group_is_requested_at_once(answer: Any, error: str) -> None:
    """The request for the opened group does not wait for the interval, and any answer keeps the list of groups."""
    client: Any = ScriptedClient(lambda _: answer)
    opened, results = queue.SimpleQueue[str | None](), queue.SimpleQueue[PollResult]()
    polling = (client, 3600.0, poll_groups(client), opened, results.put)
    threading.Thread(target=poll_forever, args=polling, daemon=True).start()
    opened.put("billing")
    result = results.get(timeout=PATIENCE)
    assert client.requests == ["", "billing"]
    assert (result.detail is not None) == (answer == {"group": "billing"})
    assert result.error == error
    assert result.groups is not None
