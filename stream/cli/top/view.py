"""The state of the list in `lagwarden top`, and the texts that show it. Pure.

`now` is Unix seconds, widths are terminal cells.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from exporters.wording import SEVERITIES, duration, unix_time
from stream.cli.api_client import note_of_part
from stream.cli.group_source import Answer, age, format_time_lag, time_left
from stream.cli.render.explanation import explain
from stream.cli.render.group_tables import common_cause_lines
from stream.cli.render.tables import COLOURS, TableColumn, TextTable, display_text, draw_blocks, fit_columns
from stream.cli.top.poller import PollResult

if TYPE_CHECKING:
    from rich.console import RenderableType


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
        if not (words := self.filter.casefold()):
            return self.groups
        texts = (f"{row['group']}\n{(row['verdict'] or '').replace('_', ' ')}" for row in self.groups)
        return [row for row, text in zip(self.groups, texts, strict=True) if words in text.casefold()]

    @property
    def selected_row(self) -> int:
        """The index of the selected group; 0 if it is not among the rows."""
        return next((row for row, group in enumerate(self.rows) if group["group"] == self.selected), 0)


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


def set_filter(state: GroupListState, words: str, *, is_typing: bool | None = None) -> GroupListState:
    """Filter by words, by default until they are empty, and scroll to the top.

    The selected group stays selected if it is among the rows.
    """
    is_typing = bool(words) if is_typing is None else is_typing
    return dataclasses.replace(state, filter=words, is_typing=is_typing, first_row=0)


LIST_KEYS: Final = "type to filter · ↑↓ · Enter opens · q quits"
TYPING_KEYS: Final = "↑↓ · Enter opens · Esc shows all · Ctrl-C quits"
GROUP_KEYS: Final = "↑↓ scrolls · Esc goes back · q quits"

_COLUMNS: Final = (
    *map(TableColumn, ("GROUP", "VERDICT")),
    # The last ones are dropped first in a narrow window.
    *(TableColumn(head, head not in {"SEVERITY", "STATE"}, at) for at, head in enumerate(
        ("LAG", "TIME-LAG", "FOR", "SEVERITY", "STATE", "MEMBERS", "COMMIT", "EXPIRES", "PARTITIONS"), 1)),
)  # fmt: skip


def status_line(result: PollResult, address: str, now: float) -> Text:
    """Return the name of the cluster, the number of groups, also by severity, the age of the snapshot, the address."""
    listed = result.listed or {"groups": ()}
    groups, cluster = listed["groups"], listed.get("cluster_name")
    counts = collections.Counter(group["severity"] for group in groups if group["state"] != "Dead")
    line = Text(f"{display_text(cluster)} · " if cluster else "", "bold")
    line.append(f"{len(groups):,} groups", "bold")
    for severity in reversed(SEVERITIES):
        if counts[severity]:
            line.append(" · ").append(f"{counts[severity]:,} {severity}", COLOURS[severity])
    snapshot_time = unix_time(listed.get("snapshot_time"))
    if snapshot_time is not None:
        line.append(f" · {duration(max(now - snapshot_time, 0.0))} old", "dim")
    return line.append(f" · {address}", "dim")


def notices_text(result: PollResult) -> Text:
    """Return a line per common cause of unhealthy groups, and one that names other instances; empty without any."""
    listed = result.listed or {}
    causes = common_cause_lines(listed.get("common_causes", ()))  # older instances have none
    lines = [Text(line, COLOURS["critical"]) for line in causes] + [Text(note_of_part(listed), "dim")]
    return Text("\n").join(filter(None, lines))


def filter_line(state: GroupListState) -> Text:
    """Return the filter and the number of groups that match it; empty while nothing is typed."""
    if not state.is_typing:
        return Text("")
    return Text.assemble(
        ("filter: ", "bold"),
        display_text(state.filter) if state.filter else "",
        "\N{LEFT ONE EIGHTH BLOCK}",
        (f"  {len(state.rows):,} of {len(state.groups):,}", "dim"),
    )


def error_line(error: str) -> Text:
    """Return why there are no newer answers; empty for no error."""
    return Text(display_text(error) if error else "", "bold red")


def groups_table(state: GroupListState, height: int, width: int, now: float) -> Table:
    """Return the rows in the window under the heads; the selected one is reversed. Columns that do not fit are dropped.

    `height` is the number of rows.
    """
    rows = state.rows[state.first_row : state.first_row + height]
    fitted = fit_columns(TextTable(_COLUMNS, [_cells(row, now) for row in rows]), width)
    table = Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    for column in fitted.columns:
        ratio = None if table.columns else 1  # the name takes the rest
        table.add_column(column.head, justify="right" if column.right else "left", no_wrap=True, ratio=ratio)
    for at, (row, cells) in enumerate(zip(rows, fitted.rows, strict=True), state.first_row):
        style = "dim" if row["state"] == "Dead" else _colour(row)
        table.add_row(*map(Text, cells), style=f"{style} reverse" if at == state.selected_row else style)
    return table


def _cells(group: Answer, now: float) -> list[str]:
    return [
        display_text(group["group"]),
        _word(group["verdict"]),
        _number(group["lag_sum"]),
        format_time_lag(group["time_lag_max"], exact=group["time_lag_max_exact"]),
        age(group["verdict_since"], now),
        _word(group["severity"]),
        _word(group["state"]),
        _number(group["members"]),
        age(group["last_commit_time"], now),
        time_left(group["first_offset_expiry_time"], now),
        _number(group["partitions"]),
    ]


def sentence_lines(state: GroupListState, width: int) -> list[Text]:
    """Return two lines: the sentence of the selected group's verdict, or why it died."""
    rows = state.rows
    if not rows:
        text = Text("no group matches the filter" if state.filter else "", "dim")
    else:
        group = rows[state.selected_row]
        if group["state"] == "Dead":
            text = Text(f"died: {display_text(group['death_cause'] or 'cause unknown')}", "dim")
        else:
            text = Text(display_text(group["sentence"]) if group["sentence"] else "", _colour(group))
    first, second, *rest = [*text.wrap(Console(width=width), width), Text(""), Text("")]
    if len(rest) > 2:
        second.truncate(width - 1)
        second.append("…")
    return [first, second]


def explanation(group: Answer, now: float) -> RenderableType:
    """Return the explanation of a group as printed by `lagwarden explain`."""
    return Group(*draw_blocks(explain(group, now)))


def _colour(group: Answer) -> str:
    return "" if group["severity"] == "fine" else COLOURS.get(group["severity"], "")


def _word(word: str | None) -> str:
    return "-" if word is None else display_text(word).replace("_", " ")


def _number(value: int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if abs(value) < 10**8 else f"{value:.3g}"
