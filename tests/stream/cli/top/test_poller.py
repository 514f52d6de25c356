"""The requests of `lagwarden top` in a separate thread."""

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from stream.cli.top.poller import PollResult, poll_forever
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
    polling = (client, 3600.0, PollResult(client.groups()), opened, results.put)
    threading.Thread(target=poll_forever, args=polling, daemon=True).start()
    opened.put("billing")
    result = results.get(timeout=PATIENCE)
    assert client.requests == ["", "billing"]
    assert (result.detail is not None) == (answer == {"group": "billing"})
    assert result.error == error
    assert result.listed is not None
