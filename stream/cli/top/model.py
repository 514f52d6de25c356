"""The state of the list of groups in `lagwarden top`, and the pure functions that change it. No terminal, no clock."""

import dataclasses
from collections.abc import Sequence

from stream.cli.group_source import Answer


@dataclasses.dataclass(frozen=True, slots=True)
class GroupListState:
    """The groups, the filter and the selected row.

    The selection is the name of a group, because rows appear, disappear and change places.
    """

    groups: tuple[Answer, ...] = ()
    """All known groups, the worst first."""
    filter: str = ""
    is_typing: bool = False
    """Whether every character belongs to the filter, including those that are commands otherwise."""
    selected: str | None = None
    first_row: int = 0
    """The index of the row at the top of the window."""

    @property
    def rows(self) -> Sequence[Answer]:
        """The groups whose name or verdict contains the filter, without regard to case."""
        words = self.filter.casefold()
        return [group for group in self.groups if words in _searched_text(group)] if words else self.groups

    @property
    def selected_row(self) -> int:
        """The index of the selected group; 0 if it is not among the rows."""
        return next((row for row, group in enumerate(self.rows) if group["group"] == self.selected), 0)


def _searched_text(group: Answer) -> str:
    verdict = (group["verdict"] or "").replace("_", " ")
    return f"{group['group']}\n{verdict}".casefold()


def select_row(state: GroupListState, row: int, height: int) -> GroupListState:
    """Select a row, the nearest one if there is no such row, and scroll no further than necessary to show it.

    `height` is the number of rows in the window.
    """
    rows = state.rows
    if not rows:
        return dataclasses.replace(state, selected=None, first_row=0)
    row = min(max(row, 0), len(rows) - 1)
    height = max(height, 1)
    first_row = min(max(state.first_row, row - height + 1), row)
    # No row is scrolled out if all of them fit.
    first_row = min(first_row, max(len(rows) - height, 0))
    return dataclasses.replace(state, selected=rows[row]["group"], first_row=first_row)


def show_selection(state: GroupListState, height: int) -> GroupListState:
    """Scroll the selected row into the window, after rows or the size of the window have changed."""
    return select_row(state, state.selected_row, height)


def begin_filter(state: GroupListState) -> GroupListState:
    """Start an empty filter: the next character belongs to it even if it is a command otherwise."""
    return dataclasses.replace(state, is_typing=True)


def type_character(state: GroupListState, character: str) -> GroupListState:
    """Append a character to the filter."""
    return _set_filter(state, state.filter + character, is_typing=True)


def erase_character(state: GroupListState) -> GroupListState:
    """Remove the last character of the filter; typing ends with an empty filter."""
    return _set_filter(state, state.filter[:-1], is_typing=len(state.filter) > 1)


def clear_filter(state: GroupListState) -> GroupListState:
    """Remove the filter."""
    return _set_filter(state, "", is_typing=False)


def _set_filter(state: GroupListState, words: str, *, is_typing: bool) -> GroupListState:
    """Scroll to the top; the selected group stays selected if it is among the rows."""
    return dataclasses.replace(state, filter=words, is_typing=is_typing, first_row=0)
