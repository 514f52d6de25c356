"""Details of a packed tick are those of the evaluated tick."""

from __future__ import annotations

import dataclasses

from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.tick_details import TickDetails
from tests.stream.tick.timeline import LIMITS
from tests.stream.tick.verdicts.test_evaluate import Story


def test_details_keep_the_findings_and_drop_the_commits() -> None:
    """The packed tick has the findings and the topics of a group, but no commits."""
    evaluated, _ = Story(600).run(VerdictEvaluator(LIMITS), 900)
    details = TickDetails.pack(evaluated)
    finding = details.finding("g")
    assert finding is not None
    assert finding.verdict == "stopped"
    assert finding == evaluated.finding("g")
    assert details.partition_findings("g") == evaluated.partition_findings("g") != ()
    assert len(details.hidden.state.runs) == 0
    assert details.hidden.state.topics_of("g") == ["t"]


def test_an_unknown_or_dead_group_has_no_findings() -> None:
    """An unknown or dead group has no findings before the tick is packed, and none after it."""
    evaluated, _ = Story(600).run(VerdictEvaluator(LIMITS), 900)
    dead = dataclasses.replace(evaluated, alive=~evaluated.alive)
    for tick, group in ((evaluated, "stranger"), (evaluated, "a"), (dead, "g")):
        for shown in (tick, TickDetails.pack(tick)):
            assert (shown.finding(group), shown.partition_findings(group)) == (None, ())
