"""`lagwarden top` in a terminal of Textual's pilot: the lines on the screen after keys, answers and changes of size."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from exporters.http.api import group_json
from exporters.http.openapi.small_world import NOON
from stream.cli.top.app import TopApp
from stream.cli.top.poller import PollResult
from stream.cli.top.screens import GroupListScreen
from tests.exporters.snapshots import detail, small_snapshot
from tests.stream.cli.top.api_answers import groups_of

NOW = NOON / 1000 + 5
BILLING = json.loads(group_json(small_snapshot(), "billing", detail()) or "")


def answer(groups: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"snapshot_time": "2023-11-14T22:13:20.000Z", "groups": groups}


class SilentClient:
    """A client of an instance that has the group billing. Its list of groups does not change."""

    address = "http://here"

    def __init__(self) -> None:
        self.groups_answer = answer(groups_of())

    def groups(self, _query: object = None) -> dict[str, Any]:
        return self.groups_answer

    def group(self, name: str) -> Any:
        """Return billing; None for any other name."""
        return BILLING if name == "billing" else None


class Session:
    """The application under a pilot."""

    def __init__(self, app: TopApp, pilot: Pilot[None]) -> None:
        self.app = app
        self._pilot = pilot

    @property
    def lines(self) -> list[str]:
        """The lines of the screen without styles and trailing blanks."""
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def state(self) -> Any:
        return self.app.list.state

    async def press(self, *keys: str) -> None:
        """Press keys and wait until they are processed."""
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)
        await self._pilot.pause()

    async def receive(self, result: PollResult) -> None:
        self.app.show(result)
        await self._pilot.pause()

    async def wait_for(self, is_reached: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        while not is_reached():
            await asyncio.sleep(0.01)
            await self._pilot.pause()


def run(
    scenario: Callable[[Session], Coroutine[Any, Any, None]],
    groups: tuple[dict[str, Any], ...] | None = None,
    size: tuple[int, int] = (100, 14),
) -> TopApp:
    """Run a scenario with these groups (default: those of the small world), without polling by time."""
    client: Any = SilentClient()
    known = groups_of() if groups is None else groups
    first = PollResult(answer(known))
    app = TopApp(client, 3600.0, first, lambda: NOW)

    async def main() -> None:
        async with asyncio.timeout(60), app.run_test(size=size) as pilot:
            await pilot.pause()
            await scenario(Session(app, pilot))

    asyncio.run(main())
    return app


def test_list_fits_into_80_columns_and_24_lines() -> None:
    """The screen has the number of groups, the table, the sentence of the selected group and the keys."""

    async def scenario(session: Session) -> None:
        lines = session.lines
        assert lines[:2] == ["4 groups · 1 critical · 1 unknown · 1 fine · 5 s old · http://here", ""]
        assert [re.split("  +", line) for line in lines[2:7]] == [
            ["GROUP", "VERDICT", "LAG", "TIME-LAG", "FOR", "SEVERITY", "STATE"],
            ["billing", "stopped", f"{2**62:.3g}", "≥ 1 min 1 s", "35 s", "critical", "Stable"],
            ["plain", "unknown", "-", "-", "-", "unknown", "-"],
            ['say "hi"\\\\nthere', "caught up", "0", "0", "1 min 5 s", "fine", "Empty"],
            ["gone", "-", "-", "-", "-", "-", "Dead"],
        ]
        assert lines[7:21] == [""] * 14
        await session.resize(120, 24)
        assert [re.split("  +", line)[-2:] for line in session.lines[2:5]] == [
            ["COMMIT", "EXPIRES"],
            ["5 s", "-"],
            ["-", "-"],
        ]
        assert re.split("  +", session.lines[5])[-2:] == ["5 s", "59 min 55 s"]
        assert lines[21:] == [
            "orders-0 has had no commit for 30 s: 1 offset unread.",
            "",
            "type to filter · ↑↓ · Enter opens · q quits",
        ]

    run(scenario, size=(80, 24))


def test_typing_filters_and_escape_shows_all() -> None:
    """Typed characters filter the list, also those of commands. Escape shows all groups."""

    async def scenario(session: Session) -> None:
        await session.press(*"Pla")
        assert session.lines[1] == "filter: Pla▏  1 of 4"
        assert session.lines[3].startswith("plain ")
        assert session.lines[4] == ""
        assert session.lines[-1] == "↑↓ · Enter opens · Esc shows all · Ctrl-C quits"
        await session.press("escape")
        assert session.lines[1] == ""
        await session.press("slash", "q")
        assert session.lines[1] == "filter: q▏  0 of 4"
        assert session.lines[-3] == "no group matches the filter"
        await session.press("enter", "right")
        assert isinstance(session.app.screen, GroupListScreen)
        await session.press("backspace")
        assert session.lines[1] == ""
        session.app.screen.post_message(events.Paste("bil\nling"))
        await session.press("ctrl+l")
        assert session.lines[1] == "filter: billing▏  1 of 4"
        await session.press("ctrl+u")
        assert session.lines[-1] == "type to filter · ↑↓ · Enter opens · q quits"

    run(scenario)


@pytest.mark.parametrize(
    ("open_key", "close_key"), [("enter", "escape"), ("right", "left"), ("enter", "backspace"), ("enter", "enter")]
)
def test_group_is_explained(open_key: str, close_key: str) -> None:
    """The explanation scrolls to its end and no further; the list is shown afterwards."""

    async def scenario(session: Session) -> None:
        await session.press("end", "home", open_key)
        await session.wait_for(lambda: "billing: stopped" in session.lines[1])
        assert session.lines[:2] == ["", "billing: stopped (critical) for 35 s."]
        assert re.fullmatch(r"↑↓ scrolls · Esc goes back · q quits · \d+ lines more", session.lines[-1])
        await session.press("down")
        assert session.lines[1].startswith("orders-0 has had no commit")
        await session.press("end", "down")
        assert session.lines[-1] == "↑↓ scrolls · Esc goes back · q quits"
        assert "forgotten" in session.lines[-2]
        await session.press("pageup", "home")
        assert session.lines[1].startswith("billing: stopped")
        await session.press(close_key)
        assert session.lines[3].startswith("billing ")

    run(scenario)


LOST = "no lagwarden answers at http://here"


def test_lines_above_the_groups() -> None:
    """The second line has the reason of a failure until new groups arrive, or the common cause of an answer."""

    async def scenario(session: Session) -> None:
        await session.receive(PollResult(answer(groups_of()), None, LOST))
        assert session.lines[1] == LOST
        assert session.lines[3].startswith("billing")
        common_causes = ({"sentence": "17 of 18 groups coordinated by broker 3 stopped within 20 s."},)
        await session.receive(PollResult(answer(groups_of()) | {"common_causes": common_causes}))
        assert session.lines[1] == "common cause: 17 of 18 groups coordinated by broker 3 stopped within 20 s."
        assert session.lines[4].startswith("billing")
        await session.receive(PollResult(answer(groups_of([{"group": "new"}]))))
        assert [session.lines[at] for at in (1, 4)] == ["", ""]
        assert session.lines[3].startswith("new ")

    run(scenario)
