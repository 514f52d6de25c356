"""The two screens of `lagwarden top`: the list of groups, and one group in full."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from stream.cli.group_source import Answer
from stream.cli.render.tables import display_text
from stream.cli.top import view
from stream.cli.top.poller import PollResult

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType


class GroupListScreen(Screen[None]):
    """All groups, the worst first. Typing filters them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)"),
        Binding("down", "move(1)"),
        Binding("pageup", "page(-1)"),
        Binding("pagedown", "page(1)"),
        Binding("home", "select(0)"),
        Binding("end", f"select({sys.maxsize})"),
        Binding("enter,ctrl+j", "open"),
        Binding("right", "open_unless_typing"),
        Binding("backspace,ctrl+h", "erase_character"),
        Binding("escape,ctrl+u", "clear_filter"),
    ]

    def __init__(
        self, result: PollResult, address: str, clock: Callable[[], float], open_group: Callable[[str], None]
    ) -> None:
        super().__init__()
        self.state = view.GroupListState()
        self._address = address
        self._clock = clock
        self._open_group = open_group
        self._status = Static(classes="line")
        self._notices = Static(id="notices")
        self._filter = Static(classes="line")
        self._table = Static(id="groups")
        self._sentence = Static(id="sentence")
        self._keys = Static(classes="line")
        self._keep(result)

    @property
    def _height(self) -> int:
        """The number of rows that fit under the heads, at least 1."""
        return max(self._table.size.height - 1, 1)

    def compose(self) -> ComposeResult:
        """See Screen."""
        yield from (self._status, self._notices, self._filter, self._table, self._sentence, self._keys)

    def on_mount(self) -> None:
        """Redraw once the widgets exist."""
        self.redraw()

    def on_resize(self) -> None:
        """Keep the selected row in the window, once the new layout is known."""
        self.call_after_refresh(self.redraw)

    def on_screen_resume(self) -> None:
        """Redraw with the current ages when the list is shown again."""
        self.redraw()

    def show(self, result: PollResult) -> None:
        """Replace the groups by newer ones."""
        self._keep(result)
        if self.is_current:
            self.redraw()

    def _keep(self, result: PollResult) -> None:
        self._result = result
        if result.listed is not None:
            self.state = dataclasses.replace(self.state, groups=tuple(result.listed["groups"]))

    def redraw(self) -> None:
        """Redraw everything with the current ages."""
        now = self._clock()
        self.state = view.show_selection(self.state, self._height)
        self._table.update(view.groups_table(self.state, self._height, max(self._table.size.width, 1), now))
        self._status.update(view.status_line(self._result, self._address, now))
        notices = view.notices_text(self._result)
        self._notices.update(notices)
        self._notices.set_class(not notices, "empty")
        self._filter.update(view.error_line(self._result.error) if self._result.error else view.filter_line(self.state))
        self._sentence.update(Text("\n").join(view.sentence_lines(self.state, max(self.size.width, 2))))
        self._keys.update(Text(view.TYPING_KEYS if self.state.is_typing else view.LIST_KEYS, "dim"))

    def on_key(self, event: events.Key) -> None:
        """Filter by what is typed. Before that `q` quits, and `/` begins a filter that may begin with a q."""
        if event.character is None or not event.is_printable:
            return
        event.stop()
        if not self.state.is_typing and event.character == "q":
            self.app.exit()
        elif not self.state.is_typing and event.character == "/":
            self._filter_by("", is_typing=True)
        else:
            self._filter_by(self.state.filter + event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Filter by what is pasted."""
        event.stop()  # the application would send it back to the screen
        self._filter_by(self.state.filter + "".join(filter(str.isprintable, event.text)))

    def action_move(self, rows: int) -> None:
        """Move the selection by rows."""
        self.action_select(self.state.selected_row + rows)

    def action_page(self, pages: int) -> None:
        """Move the selection by windows."""
        self.action_select(self.state.selected_row + pages * self._height)

    def action_select(self, row: int) -> None:
        """Select a row, the nearest one if there is no such row."""
        self.state = view.select_row(self.state, row, self._height)
        self.redraw()

    def action_erase_character(self) -> None:
        """Remove the last character of the filter; typing ends with an empty filter."""
        self._filter_by(self.state.filter[:-1])

    def action_clear_filter(self) -> None:
        """Show all groups again."""
        self._filter_by("")

    def action_open_unless_typing(self) -> None:
        """Open the selected group, unless a filter is being typed."""
        if not self.state.is_typing:
            self.action_open()

    def action_open(self) -> None:
        """Open the selected group."""
        if self.state.rows:
            self._open_group(self.state.rows[self.state.selected_row]["group"])

    def _filter_by(self, words: str, *, is_typing: bool | None = None) -> None:
        self.state = view.set_filter(self.state, words, is_typing=is_typing)
        self.redraw()


class GroupScreen(Screen[None]):
    """One group as `lagwarden explain` prints it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,left,backspace,ctrl+h,enter,ctrl+j", "dismiss"),
        Binding("q", "app.quit"),
    ]

    def __init__(self, group: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self.group = group
        self._clock = clock
        self._answer: Answer | None = None
        self._error = ""
        self._error_line = Static(classes="line")
        self._explanation = Static()
        self._scroller = VerticalScroll(self._explanation)
        self._keys = Static(classes="line")

    def compose(self) -> ComposeResult:
        """See Screen."""
        yield from (self._error_line, self._scroller, self._keys)

    def on_mount(self) -> None:
        """Redraw once the widgets exist, and count the hidden lines whenever their number may have changed."""
        for attribute in ("scroll_y", "virtual_size", "size"):
            self.watch(self._scroller, attribute, self._show_keys, init=False)
        self.redraw()

    def show(self, result: PollResult) -> None:
        """Replace the answer by a newer one. An answer about another group is not shown."""
        if result.detail is not None and result.detail["group"] == self.group:
            self._answer = result.detail
        self._error = result.error
        self.redraw()

    def redraw(self) -> None:
        """Redraw everything with the current ages."""
        self._error_line.update(view.error_line(self._error))
        if self._answer is None:
            self._explanation.update(Text(f"requesting {display_text(self.group)} …"))
        else:
            self._explanation.update(view.explanation(self._answer, self._clock()))
        self._show_keys()

    def _show_keys(self) -> None:
        hidden = round(self._scroller.max_scroll_y - self._scroller.scroll_y)
        more = f" · {hidden} lines more" if hidden > 0 else ""
        self._keys.update(Text(f"{view.GROUP_KEYS}{more}", "dim"))
