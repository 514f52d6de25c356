"""What `lagwarden top` shows, as lines of a width and a height: the list, or one group. Draws; decides nothing."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.text import Text

from exporters.wording import SEVERITIES
from stream.cli.group_source import duration, unix_time, waits
from stream.cli.render.blocks import COLOURS, drawn
from stream.cli.render.explanation import explain
from stream.cli.render.tables import shown
from stream.cli.top.model import settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream.cli.group_source import Answer
    from stream.cli.top.model import State

ABOVE: Final = 3
"""Lines above the rows: the fleet, the filter, the heads."""
BELOW: Final = 3
"""Lines below them: the chosen group's sentence on two, and the keys."""
_LEAST_NAME: Final = 16
_SPACE: Final = 2

_LIST_KEYS: Final = "type to filter · ↑↓ · Enter opens · q quits"
_TYPING_KEYS: Final = "↑↓ · Enter opens · Esc shows all · Ctrl-C quits"
_GROUP_KEYS: Final = "↑↓ scrolls · Esc goes back · q quits"


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
    head: str
    cell: Callable[[Answer, float], str]
    right: bool = True


_COLUMNS: Final = (
    # Where the window is too narrow the last is given up first.
    _Column("VERDICT", lambda group, _: _word(group["verdict"]), right=False),
    _Column("LAG", lambda group, _: _number(group["lag_sum"])),
    _Column("TIME-LAG", lambda group, _: waits(group["time_lag_max"], exact=group["time_lag_max_exact"])),
    _Column("FOR", lambda group, now: _age(group["verdict_since"], now)),
    _Column("SEVERITY", lambda group, _: _word(group["severity"]), right=False),
    _Column("STATE", lambda group, _: _word(group["state"]), right=False),
    _Column("MEMBERS", lambda group, _: _number(group["members"])),
    _Column("COMMIT", lambda group, now: _age(group["last_commit_time"], now)),
    _Column("EXPIRES", lambda group, now: _left(group["first_offset_expiry_time"], now)),
    _Column("PARTITIONS", lambda group, _: _number(group["partitions"])),
)


def rows_seen(height: int) -> int:
    """Give how many rows of the list a window of this height shows."""
    return max(height - ABOVE - BELOW, 1)


def lines_seen(height: int) -> int:
    """Give how many lines of an opened group it shows."""
    return max(height - 2, 1)


def screen(state: State, where: str, width: int, height: int, now: float) -> tuple[State, list[Text]]:
    """Give the lines of the screen, and the state as it fits on it. `where` is who is asked, `now` Unix seconds."""
    if state.opened is None:
        state = settled(state, rows_seen(height))
        lines = list(_list(state, where, width, height, now))
    else:
        state, lines = _opened(state, width, height, now)
    cut = [_fitted(line, width) for line in lines[:height]]
    return state, cut


def _list(state: State, where: str, width: int, height: int, now: float) -> Iterator[Text]:
    rows, seen, chosen = state.rows, rows_seen(height), state.place
    shown_rows = rows[state.first : state.first + seen]
    yield _fleet(state, where, now)
    yield _prompt(state, len(rows))
    yield from _table(shown_rows, chosen - state.first, width, now)
    yield from [Text("")] * (seen - len(shown_rows))
    yield from _story(rows[chosen] if rows else None, width)
    yield Text(_TYPING_KEYS if state.typing else _LIST_KEYS, "dim")


def _table(rows: Sequence[Answer], chosen: int, width: int, now: float) -> Iterator[Text]:
    """Give the heads and the rows, as wide as what they show; the name has what the others leave."""
    cells = [[column.head, *(column.cell(row, now) for row in rows)] for column in _COLUMNS]
    widths = [max(map(len, column)) for column in cells]
    while widths and width - sum(widths) - _SPACE * len(widths) < _LEAST_NAME:
        widths.pop()
    names = ["GROUP", *(shown(row["group"]) for row in rows)]
    left = width - sum(widths) - _SPACE * len(widths)
    for at, name in enumerate(names):
        parts = [_cell(name, left, right=False)]
        parts += [
            _cell(column[at], wide, right=kind.right)
            for column, wide, kind in zip(cells, widths, _COLUMNS, strict=False)
        ]
        line = Text((" " * _SPACE).join(parts), _style(rows[at - 1]) if at else "bold underline")
        if at - 1 == chosen:
            line.stylize("reverse")
        yield line


def _style(group: Answer) -> str:
    return "dim" if group["state"] == "Dead" else _colour(group)


def _cell(text: str, width: int, *, right: bool) -> str:
    """Bring a text to a width, as a terminal counts it: some signs take two places."""
    cell = Text(text)
    cell.truncate(max(width, 1), overflow="ellipsis")
    space = " " * max(width - cell.cell_len, 0)
    return space + cell.plain if right else cell.plain + space


def _fleet(state: State, where: str, now: float) -> Text:
    counts = collections.Counter(group["severity"] for group in state.groups if group["state"] != "Dead")
    line = Text(f"{len(state.groups):,} groups", "bold")
    for severity in reversed(SEVERITIES):
        if counts[severity]:
            line.append(" · ").append(f"{counts[severity]:,} {severity}", COLOURS[severity])
    if state.snapshot_time is not None:
        line.append(f" · {duration(now - state.snapshot_time)} old", "dim")
    return line.append(f" · {where}", "dim")


def _prompt(state: State, found: int) -> Text:
    if state.trouble:
        return _trouble(state)
    if not state.typing:
        return Text("")
    words = shown(state.filter) if state.filter else ""
    return Text.assemble(
        ("filter: ", "bold"), words, "\N{LEFT ONE EIGHTH BLOCK}", (f"  {found:,} of {len(state.groups):,}", "dim")
    )


def _trouble(state: State) -> Text:
    return Text(shown(state.trouble) if state.trouble else "", "bold red")


def _story(group: Answer | None, width: int) -> Iterator[Text]:
    """Give two lines for what there is to say of the chosen group."""
    if group is None:
        said = Text("no group is so", "dim")
    elif group["state"] == "Dead":
        said = Text(f"died: {shown(group['death_cause'] or 'cause unknown')}", "dim")
    else:
        said = Text(shown(group["sentence"]) if group["sentence"] else "", _colour(group))
    first, second, *rest = [*said.wrap(Console(width=width), width), Text(""), Text("")]
    if len(rest) > 2:
        second.truncate(width - 1)
        second.append("…")
    yield from (first, second)


def _opened(state: State, width: int, height: int, now: float) -> tuple[State, list[Text]]:
    seen = lines_seen(height)
    if state.detail is None:
        told = [Text(f"asking for {shown(state.opened or '')} …", "dim")]
    else:
        told = _told(state.detail, width, now)
    scrolled = min(state.scrolled, max(len(told) - seen, 0))
    lines = told[scrolled : scrolled + seen]
    left = len(told) - scrolled - seen
    more = f" · {left} lines more" if left > 0 else ""
    lines += [Text("")] * (seen - len(lines))
    return dataclasses.replace(state, scrolled=scrolled), [_trouble(state), *lines, Text(f"{_GROUP_KEYS}{more}", "dim")]


def _told(group: Answer, width: int, now: float) -> list[Text]:
    """Give the lines of what `lagwarden explain` says of a group."""
    console = Console(width=width, highlight=False)
    content = Group(*drawn(explain(group, now)))
    return [
        Text.assemble(*((segment.text, segment.style or "") for segment in line))
        for line in console.render_lines(content, pad=False)
    ]


def _fitted(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line


def _colour(group: Answer) -> str:
    return "" if group["severity"] == "fine" else COLOURS.get(group["severity"], "")


def _word(word: str | None) -> str:
    return "-" if word is None else shown(word).replace("_", " ")


def _number(value: int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if abs(value) < 10**8 else f"{value:.3g}"


def _left(moment: str | None, now: float) -> str:
    then = unix_time(moment)
    if then is None:
        return "-"
    return duration(then - now) if then > now else "due"


def _age(moment: str | None, now: float) -> str:
    then = unix_time(moment)
    return "-" if then is None else duration(now - then)
