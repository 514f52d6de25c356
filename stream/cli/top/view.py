"""The texts of `lagwarden top`: the lines around the list of groups, its table, and the explanation of one group. Pure.

`now` is Unix seconds, widths are terminal cells.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.text import Text

from exporters.wording import SEVERITIES, duration
from stream.cli.group_source import age, format_time_lag, time_left, unix_time
from stream.cli.render.blocks import COLOURS, draw_blocks
from stream.cli.render.explanation import explain
from stream.cli.render.group_tables import common_cause_lines
from stream.cli.render.tables import display_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from stream.cli.group_source import Answer
    from stream.cli.top.model import GroupListState
    from stream.cli.top.poller import PollResult

LIST_KEYS: Final = "type to filter · ↑↓ · Enter opens · q quits"
TYPING_KEYS: Final = "↑↓ · Enter opens · Esc shows all · Ctrl-C quits"
GROUP_KEYS: Final = "↑↓ scrolls · Esc goes back · q quits"

_NAME_WIDTH: Final = 16
"""The smallest width of a group's name."""
_GAP: Final = 2


@dataclasses.dataclass(frozen=True, slots=True)
class _LiveColumn:
    head: str
    cell: Callable[[Answer, float], str]
    is_right: bool = True


_COLUMNS: Final = (
    # The last ones are dropped first in a narrow window.
    _LiveColumn("VERDICT", lambda group, _: _word(group["verdict"]), is_right=False),
    _LiveColumn("LAG", lambda group, _: _number(group["lag_sum"])),
    _LiveColumn("TIME-LAG", lambda group, _: format_time_lag(group["time_lag_max"], exact=group["time_lag_max_exact"])),
    _LiveColumn("FOR", lambda group, now: age(group["verdict_since"], now)),
    _LiveColumn("SEVERITY", lambda group, _: _word(group["severity"]), is_right=False),
    _LiveColumn("STATE", lambda group, _: _word(group["state"]), is_right=False),
    _LiveColumn("MEMBERS", lambda group, _: _number(group["members"])),
    _LiveColumn("COMMIT", lambda group, now: age(group["last_commit_time"], now)),
    _LiveColumn("EXPIRES", lambda group, now: time_left(group["first_offset_expiry_time"], now)),
    _LiveColumn("PARTITIONS", lambda group, _: _number(group["partitions"])),
)


def status_line(result: PollResult, address: str, now: float) -> Text:
    """Return the name of the cluster, the number of groups, also by severity, the age of the snapshot, the address."""
    groups = result.groups or ()
    counts = collections.Counter(group["severity"] for group in groups if group["state"] != "Dead")
    line = Text(f"{display_text(result.cluster_name)} · " if result.cluster_name else "", "bold")
    line.append(f"{len(groups):,} groups", "bold")
    for severity in reversed(SEVERITIES):
        if counts[severity]:
            line.append(" · ").append(f"{counts[severity]:,} {severity}", COLOURS[severity])
    snapshot_time = unix_time(result.snapshot_time)
    if snapshot_time is not None:
        line.append(f" · {duration(max(now - snapshot_time, 0.0))} old", "dim")
    return line.append(f" · {address}", "dim")


def notices_text(result: PollResult) -> Text:
    """Return a line per common cause of unhealthy groups, and one that names other instances; empty without any."""
    lines = [Text(line, COLOURS["critical"]) for line in common_cause_lines(result.common_causes)]
    lines += [Text(result.note, "dim")] if result.note else []
    return Text("\n").join(lines)


def filter_line(state: GroupListState) -> Text:
    """Return the filter and the number of groups that match it; empty while nothing is typed."""
    if not state.is_typing:
        return Text("")
    words = display_text(state.filter) if state.filter else ""
    return Text.assemble(
        ("filter: ", "bold"),
        words,
        "\N{LEFT ONE EIGHTH BLOCK}",
        (f"  {len(state.rows):,} of {len(state.groups):,}", "dim"),
    )


def error_line(error: str) -> Text:
    """Return why there are no newer answers; empty for no error."""
    return Text(display_text(error) if error else "", "bold red")


def table_lines(rows: Sequence[Answer], selected: int, width: int, now: float) -> list[Text]:
    """Return the heads and a line per row, each exactly `width` cells wide.

    The row with the index `selected` is reversed. A column is as wide as its cells, the name takes the rest. Columns
    that do not fit are dropped.
    """
    cells = [[column.head, *(column.cell(row, now) for row in rows)] for column in _COLUMNS]
    widths = [max(map(len, column)) for column in cells]
    while widths and width - sum(widths) - _GAP * len(widths) < _NAME_WIDTH:
        widths.pop()
    name_width = width - sum(widths) - _GAP * len(widths)
    lines = []
    for line_number, name in enumerate(["GROUP", *(display_text(row["group"]) for row in rows)]):
        parts = [_fit(name, name_width, is_right=False)]
        parts += [
            _fit(column[line_number], column_width, is_right=kind.is_right)
            for column, column_width, kind in zip(cells, widths, _COLUMNS, strict=False)
        ]
        style = _row_style(rows[line_number - 1]) if line_number else "bold underline"
        line = Text((" " * _GAP).join(parts), style, no_wrap=True, overflow="crop")
        if line_number - 1 == selected:
            line.stylize("reverse")
        lines.append(line)
    return lines


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


def _row_style(group: Answer) -> str:
    return "dim" if group["state"] == "Dead" else _colour(group)


def _fit(text: str, width: int, *, is_right: bool) -> str:
    """Truncate or pad a text to a width in cells: some characters are two cells wide."""
    cell = Text(text)
    cell.truncate(max(width, 1), overflow="ellipsis")
    padding = " " * max(width - cell.cell_len, 0)
    return padding + cell.plain if is_right else cell.plain + padding


def _colour(group: Answer) -> str:
    return "" if group["severity"] == "fine" else COLOURS.get(group["severity"], "")


def _word(word: str | None) -> str:
    return "-" if word is None else display_text(word).replace("_", " ")


def _number(value: int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if abs(value) < 10**8 else f"{value:.3g}"
