"""The reference page of the verdicts is generated from the rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream.health.rules import RULES
from stream.tick.verdicts import reference_page

if TYPE_CHECKING:
    from stream.health.rules.rule import Rule


def test_the_page_is_generated_from_the_rules() -> None:
    """`docs/health.md` is what `python -m stream.tick.verdicts.reference_page` prints."""
    assert Path("docs/health.md").read_text() == reference_page.page()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.verdict)
def test_every_verdict_has_one_row_with_a_meaning_and_a_next_step(rule: Rule) -> None:
    """The meaning is a sentence, and the next step is not empty."""
    (row,) = [line for line in reference_page.page().splitlines() if line.startswith(f"| `{rule.verdict}` |")]
    _, _, meaning, step, _ = row.split("|")
    assert meaning.strip().endswith((".", ")"))
    assert step.strip()
