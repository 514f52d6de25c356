"""The legend of the overview page: every verdict with its meaning and what to do, the worst first."""

from typing import Any, Final

import pyarrow as pa

from exporters.page.blocks import table, table_row
from exporters.page.formatting import badge
from exporters.page.html_tree import Content, Element, el
from exporters.wording import SEVERITIES, phrase, printable

_TITLE: Final = "Legend of the verdicts"
_HEADS: Final = (("Verdict", ""), ("Severity", ""), ("Meaning", "long"), ("What to do", "long"))


def verdict_legend(verdicts: pa.Table) -> Content:
    """Return the closed legend of these verdicts (schema VERDICT_GROUPS); None before the first evaluation."""
    rows = [row for row in verdicts.to_pylist() if row["meaning"] is not None]
    if not rows:
        return None
    # Verdicts of one severity keep their order, which is by rank.
    rows.sort(key=lambda row: SEVERITIES.index(row["severity"]) if row["severity"] in SEVERITIES else 1)
    shown = el(
        "details",
        el("summary", "What the verdicts mean"),
        table(_TITLE, _HEADS, [_row(row) for row in reversed(rows)]),
        aria_label=_TITLE,
    )
    return el("section", shown, class_="legend", aria_label=_TITLE)


def _row(row: dict[str, Any]) -> Element:
    cells = (phrase(row["severity"]), printable(row["meaning"]), printable(row["next_step"] or ""))
    return table_row(_HEADS, badge(row["verdict"], row["severity"]), *cells, key=row["verdict"])
