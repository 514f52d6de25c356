"""The parts of `lagwarden top` without a terminal: keys, what they change, and what is drawn."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from exporters.http.api import group_json, groups_json
from exporters.text.exposition import PublishedSnapshot
from stream.cli.top.keys import Key, Keys
from stream.cli.top.model import State, press, worst_first
from stream.cli.top.poller import Answers, Asking, answered
from stream.cli.top.view import rows_seen, screen
from stream.errors import ExitCode, Refusal
from tests.exporters.snapshots import HOSTILE_NAMES, NOON, detail, small_world, snapshot
from tests.support.laws import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cli.api_client import Running

NOW = NOON / 1000 + 5
WHERE = "http://here"


def groups_of(rows: list[dict[str, Any]] | None = None) -> tuple[dict[str, Any], ...]:
    """Give the groups of the small world, or of one with these rows, as the instance tells them."""
    world = small_world() if rows is None else snapshot(groups=rows)
    return worst_first(json.loads(groups_json(PublishedSnapshot.build(world)))["groups"])


def many(number: int) -> State:
    """Give a list of so many groups that are fine."""
    return State(groups_of([{"group": f"g{at:03}", "severity": "fine", "verdict": "ok"} for at in range(number)]))


def after(state: State, *keys: str, height: int = 5) -> State:
    """Press one key after the other."""
    for key in keys:
        state = press(state, key, height)
    return state


def drawn(state: State, width: int = 100, height: int = 14) -> list[str]:
    """Give the lines of the screen without styles, and without what fills a line."""
    return [line.plain.rstrip() for line in screen(state, WHERE, width, height, NOW)[1]]


class TestKeys:
    """Bytes of a terminal become keys."""

    @pytest.mark.parametrize(
        ("came", "keys"),
        [
            (b"aq/", ["a", "q", "/"]),
            ("ß消\U0001f40c".encode(), ["ß", "消", "\U0001f40c"]),
            (b"\x1b[A\x1b[B\x1bOA\x1bOB", [Key.UP, Key.DOWN, Key.UP, Key.DOWN]),
            (
                b"\x1b[5~\x1b[6~\x1b[1~\x1b[4~\x1b[H\x1b[F",
                [Key.PAGE_UP, Key.PAGE_DOWN, Key.HOME, Key.END, Key.HOME, Key.END],
            ),
            (b"\r\n\x7f\x08\x15\x0c", [Key.ENTER, Key.ENTER, Key.BACKSPACE, Key.BACKSPACE, Key.CLEAR, Key.REDRAW]),
            (b"\x1b[1;5A\x1b[200~x\x1b[15~\x1bx", ["x"]),
            (b"\x1b\x1b[A", [Key.ESCAPE, Key.UP]),
            (b"\x01\x00\xff\xfe", []),
        ],
        ids=[
            "signs",
            "other scripts",
            "arrows",
            "far",
            "controls",
            "what is no key of ours",
            "escape first",
            "garbage",
        ],
    )
    def test_of_bytes(self, came: bytes, keys: list[str]) -> None:
        """Each is told once; what is no key is nothing."""
        assert Keys().feed(came) == keys

    @given(
        st.lists(st.sampled_from([b"a", "消".encode(), b"\x1b[A", b"\x1bOB", b"\x1b[6~", b"\r", b"\x7f"])), st.data()
    )
    def test_however_they_are_cut(self, parts: list[bytes], data: st.DataObject) -> None:
        """Law: keys do not depend on how the bytes arrive."""
        came = b"".join(parts)
        at = data.draw(st.integers(0, len(came)))
        keys = Keys()
        assert keys.feed(came[:at]) + keys.feed(came[at:]) == Keys().feed(came)

    @given(st.binary(max_size=40))
    def test_any_bytes(self, came: bytes) -> None:
        """Law: whatever comes, each key is a sign that prints or one of those with names."""
        keys = Keys()
        assert all(
            isinstance(key, Key) or (len(key) == 1 and key.isprintable()) for key in keys.feed(came) + keys.rest()
        )

    def test_an_escape_alone_waits(self) -> None:
        """Whether it is the key or begins a sequence, only time tells."""
        keys = Keys()
        assert keys.feed(b"\x1b") == []
        assert keys.waiting
        assert keys.rest() == [Key.ESCAPE]
        assert not keys.waiting


class TestState:
    """What a key makes of what is shown."""

    def test_the_worst_come_first(self) -> None:
        """By severity, then by how long records wait, then by lag, then by name; the dead are last."""
        assert [group["group"] for group in groups_of()] == ["billing", "plain", 'say "hi"\\\nthere', "gone"]
        rows = [
            {"group": "a", "severity": "warning", "lag_sum": 5},
            {"group": "b", "severity": "warning", "lag_sum": 9},
            {"group": "c", "severity": "warning", "time_lag_max": 1.0},
            {"group": "d", "severity": "critical"},
            {"group": "e", "severity": "warning", "lag_sum": 5},
        ]
        assert [group["group"] for group in groups_of(rows)] == ["d", "c", "b", "a", "e"]

    @pytest.mark.parametrize(
        ("typed", "names"),
        [
            pytest.param("BILL", ["billing"], id="a part of the name, in whatever case"),
            pytest.param("stopped", ["billing"], id="a verdict"),
            pytest.param("caught up", ['say "hi"\\\nthere'], id="a verdict of two words"),
            pytest.param("nothing", [], id="none"),
        ],
    )
    def test_filter_as_one_types(self, typed: str, names: list[str]) -> None:
        """Every sign narrows the list at once, and each one taken back widens it."""
        state = after(State(groups_of()), *typed)
        assert [group["group"] for group in state.rows] == names
        assert state.chosen == (names[0] if names else None)
        assert len(after(state, *[Key.BACKSPACE] * len(typed)).rows) == 4
        assert len(after(state, Key.ESCAPE).rows) == len(after(state, Key.CLEAR).rows) == 4

    def test_q_ends_but_for_who_types(self) -> None:
        """While a filter is typed q is a sign like any; a slash begins a filter that begins with q."""
        state = State(groups_of())
        assert after(state, "q").ended
        assert after(state, "a", "q").filter == "aq"
        assert after(state, "/", "q").filter == "q"
        assert after(state, "/", "q", Key.BACKSPACE, "q").ended
        assert not after(state, "a", "q").ended

    @pytest.mark.parametrize(
        ("keys", "chosen", "first"),
        [
            ([Key.DOWN], "g001", 0),
            ([Key.UP], "g000", 0),
            ([Key.DOWN] * 5, "g005", 1),
            ([Key.PAGE_DOWN], "g005", 1),
            ([Key.END], "g019", 15),
            ([Key.END, Key.UP], "g018", 15),
            ([Key.END, *[Key.UP] * 5], "g014", 14),
            ([Key.END, Key.HOME], "g000", 0),
            ([Key.END, Key.PAGE_UP], "g014", 14),
            ([Key.END, Key.DOWN], "g019", 15),
        ],
    )
    def test_choosing(self, keys: list[str], chosen: str, first: int) -> None:
        """The chosen row is always seen, and the list moves no further than it must."""
        state = after(many(20), *keys)
        assert (state.chosen, state.first) == (chosen, first)

    @examples(60)
    @given(st.lists(st.sampled_from([*Key, "g", "1", "q", "/"]), max_size=30), st.integers(1, 9), st.integers(0, 25))
    def test_any_keys(self, keys: list[str], height: int, number: int) -> None:
        """Law: whatever is pressed, what is chosen is among the rows and on the screen."""
        state = after(many(number), *keys, height=height)
        if state.opened is None and state.rows:
            assert 0 <= state.place - state.first < height
            assert state.chosen is None or state.chosen in {group["group"] for group in state.rows}

    def test_what_is_chosen_stays_so_when_rows_change_places(self) -> None:
        """The name is what was chosen, not the line."""
        state = after(many(20), Key.DOWN, Key.DOWN)
        worse = dataclasses.replace(
            state, groups=groups_of([{"group": "g002", "severity": "critical"}, {"group": "a"}])
        )
        assert worse.rows[worse.place]["group"] == "g002"

    def test_open_and_back(self) -> None:
        """Enter opens the chosen group; escape leads back to the same row, with the filter as it was."""
        state = after(many(20), "g", "0", "1", Key.DOWN, Key.ENTER)
        assert state.opened == "g011"
        back = after(state, Key.DOWN, Key.ESCAPE)
        assert (back.opened, back.chosen, back.filter) == (None, "g011", "g01")
        assert after(state, "q").ended
        assert after(State(), Key.ENTER).opened is None


class TestScreen:
    """What is drawn."""

    def test_the_list(self) -> None:
        """The fleet in a line, the groups, what there is to say of the chosen one, and the keys."""
        state = State(groups_of(), snapshot_time=NOON / 1000)
        lines = drawn(state, 100, 11)
        assert lines[:2] == ["4 groups · 1 critical · 1 unknown · 1 fine · 5s old · http://here", ""]
        assert [re.split("  +", line) for line in lines[2:7]] == [
            ["GROUP", "VERDICT", "LAG", "TIME-LAG", "FOR", "SEVERITY", "STATE", "MEMBERS", "COMMIT", "EXPIRES"],
            ["billing", "stopped", f"{2**62:.3g}", "≥1m1s", "35s", "critical", "Stable", "3", "5s", "-"],
            ["plain", "unknown", "-", "-", "-", "unknown", "-", "-", "-", "-"],
            ['say "hi"\\\\nthere', "caught up", "0", "0s", "1m5s", "fine", "Empty", "0", "5s", "59m55s"],
            ["gone", "-", "-", "-", "-", "-", "Dead", "-", "-", "-"],
        ]
        assert lines[7:] == [
            "",
            "1 of 2 partitions; orders-0: No commit for 30 s: 1 offset unread.",
            "",
            "type to filter · ↑↓ · Enter opens · q quits",
        ]

    @pytest.mark.parametrize("width", [20, 33, 60, 100, 300])
    @pytest.mark.parametrize("height", [8, 9, 30])
    def test_it_fills_the_window_and_no_more(self, width: int, height: int) -> None:
        """As many lines as there are, none wider than the window, however wide the signs of a name are."""
        names = [*HOSTILE_NAMES, "消" * 80, "\x1b[2J", "a\u0301" * 90]
        rows = [{"group": name, "severity": "critical", "sentence": name * 9, "verdict": name} for name in names]
        for state in (State(groups_of(rows)), after(State(groups_of(rows)), "消"), State(trouble="x" * 400)):
            lines = screen(state, WHERE, width, height, NOW)[1]
            assert len(lines) == height
            assert all(cell_len(line.plain) <= width for line in lines)
            assert all(line.plain.isprintable() for line in lines)

    def test_the_chosen_row_stands_out(self) -> None:
        """In reverse, in the colour of its severity."""
        lines = screen(after(State(groups_of()), Key.DOWN), WHERE, 100, 14, NOW)[1]
        styled = [line.plain[:7] for line in lines if any("reverse" in str(span.style) for span in line.spans)]
        assert styled == ["plain  "]
        assert "red" in str(lines[3].style)

    def test_a_group_is_explained(self) -> None:
        """Opened, it is told as `lagwarden explain` tells it, and can be scrolled to its end and no further."""
        answer = group_json(small_world(), "billing", detail())
        assert answer is not None
        state = State(groups_of(), opened="billing", detail=json.loads(answer))
        assert drawn(state)[:2] == ["", "billing: stopped (critical) for 35 s."]
        assert "lines more" in drawn(state)[-1]
        end, lines = screen(after(state, Key.END), WHERE, 100, 14, NOW)
        assert lines[-1].plain == "↑↓ scrolls · Esc goes back · q quits"
        assert "forgotten" in lines[-2].plain
        assert 0 < end.scrolled < 60
        assert drawn(dataclasses.replace(state, detail=None))[1] == "asking for billing …"

    def test_trouble_is_said_and_what_is_known_stays(self) -> None:
        """The list is old then, and a line says why there is nothing newer."""
        lines = drawn(State(groups_of(), trouble="no lagwarden answers at http://here"))
        assert lines[1] == "no lagwarden answers at http://here"
        assert lines[3].startswith("billing")

    def test_a_window_too_narrow_for_all_keeps_what_matters(self) -> None:
        """Columns are given up from the last; name and verdict stay."""
        assert drawn(State(groups_of()), width=40)[2].split() == ["GROUP", "VERDICT", "LAG"]
        assert rows_seen(1) == 1


class Instance:
    """An instance that answers as it is told to."""

    def __init__(self, group: Callable[[str], Any]) -> None:
        self.asked: list[str] = []
        self._group = group

    def groups(self) -> dict[str, Any]:
        """Give one group."""
        self.asked.append("")
        return {"snapshot_time": "2023-11-14T22:13:20.000Z", "groups": list(groups_of())}

    def group(self, name: str) -> Any:
        """Give what the test says, which may be a refusal."""
        self.asked.append(name)
        return self._group(name)


class TestAsking:
    """News come on a thread of their own."""

    @pytest.mark.parametrize(
        ("answer", "trouble"),
        [
            pytest.param({"group": "billing"}, "", id="there"),
            pytest.param(None, "this group is not known any more", id="gone meanwhile"),
            pytest.param(Refusal("no lagwarden answers", "", ExitCode.NO_INSTANCE), "no lagwarden answers", id="away"),
        ],
    )
    def test_an_opened_group_is_asked_for_at_once(self, answer: Any, trouble: str) -> None:
        """Whatever becomes of it, the list that is known stays; the waiting side is woken up."""

        def told(_: str) -> Any:
            if isinstance(answer, Refusal):
                raise answer
            return answer

        instance: Any = Instance(told)
        source: Running = instance
        with Asking(source, 3600.0, answered(source)) as asking:
            asking.look_at("billing")
            while not asking.quietened(60):
                pass
            assert instance.asked == ["", "billing"]
            assert (asking.answers.detail is None) == (answer is None or isinstance(answer, Refusal))
            assert asking.answers.trouble == trouble
            assert asking.answers.groups is not None
        assert Answers().groups is None
