"""The shown verdicts for sequences of verdicts of the rules."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.hysteresis import UNDECIDED, ShownVerdicts, advance
from stream.health.rules import RULES
from stream.health.verdict import CODE, SEVERITIES, SEVERITY, VERDICTS, Severity, Verdict
from tests.stream.health.simulator import TICK
from tests.stream.health.tables import wrong

V = Verdict


def shown(found: list[Verdict | None], state: ShownVerdicts | None = None) -> list[Verdict]:
    """Return the shown verdict of one row after each tick. `found` has one verdict per tick (None: undecided)."""
    state = state or ShownVerdicts.empty(1)
    verdicts = []
    for tick, each in enumerate(found):
        code = UNDECIDED if each is None else CODE[each]
        state = advance(state, np.array([code], np.int8), tick * TICK)
        verdicts.append(VERDICTS[state.verdict[0]])
    return verdicts


def words(text: str) -> list[Verdict | None]:
    """Return verdicts from their names; `-` is an undecided tick."""
    return [None if word == "-" else V(word) for word in text.split()]


CASES = {
    # The verdicts of the rules tick by tick, and the shown ones.
    "fine from the first tick": ("ok caught_up ok", "ok caught_up ok"),
    "nothing is known yet": ("- - ok", "unknown unknown ok"),
    "fault of a rule without confirmation shown at once": ("ok stopped", "ok stopped"),
    "fault of a rule with confirmation shown after two ticks": ("ok skewed ok skewed skewed", "ok ok ok ok skewed"),
    "fault withdrawn after two ticks": ("stopped ok caught_up ok", "stopped stopped caught_up ok"),
    "never committed: withdrawn after three ticks": (
        "never_committed ok ok ok",
        "never_committed never_committed never_committed ok",
    ),
    "one more tick with the fault restarts the withdrawal": (
        "stopped ok stopped ok ok",
        "stopped stopped stopped stopped ok",
    ),
    "another fault replaces a fault after two ticks": ("stopped no_members no_members", "stopped stopped no_members"),
    "a group that has failed is no batch with an unknown habit": (
        "stopped habit_unknown habit_unknown habit_unknown ok ok habit_unknown habit_unknown",
        "stopped stopped stopped stopped stopped ok ok habit_unknown",
    ),
    "unknown habit shown for a group without a fault": (
        "ok habit_unknown habit_unknown stopped",
        "ok ok habit_unknown stopped",
    ),
    "a lag that rises for two ticks is no trend": ("ok falling_behind falling_behind ok", "ok ok ok ok"),
    "a poison record is shown by the tick that proves it": ("ok poison_record", "ok poison_record"),
    "alternating faults shown although no fault lasts": ("ok skewed falling_behind skewed", "ok ok ok skewed"),
    "undecided ticks not counted": ("stopped ok - ok -", "stopped stopped stopped ok ok"),
    "notice shown and withdrawn after two ticks": ("ok recovering recovering ok ok", "ok ok recovering recovering ok"),
    "a single unknown tick not shown": ("ok unknown ok", "ok ok ok"),
}


def test_a_verdict_must_last_to_be_shown_and_to_be_withdrawn() -> None:
    """A sequence of verdicts of the rules has the expected sequence of shown verdicts."""
    assert wrong(CASES, lambda found: " ".join(shown(words(found)))) == []


def test_progress_contradicts_a_pause_while_nothing_else_can_be_decided() -> None:
    """A group that reads on after an outage is not stopped, though its window is too short for another verdict."""
    state = advance(ShownVerdicts.empty(3), np.array([CODE[V.STOPPED], CODE[V.STOPPED], CODE[V.SKEWED]], np.int8), TICK)
    state = advance(state, np.array([CODE[V.STOPPED], CODE[V.STOPPED], CODE[V.SKEWED]], np.int8), 2 * TICK)
    for tick in (3, 4):
        state = advance(state, np.full(3, UNDECIDED, np.int8), tick * TICK, np.array([2 * TICK, TICK, 2 * TICK]))
    assert [VERDICTS[code] for code in state.verdict] == [V.UNKNOWN, V.STOPPED, V.SKEWED]


def test_a_fault_is_shown_and_withdrawn_after_the_ticks_of_its_rule() -> None:
    """A fault is shown and withdrawn exactly after the ticks of its rule; a single good tick changes nothing."""
    for rule in (each for each in RULES if SEVERITY[each.verdict] >= Severity.WARNING):
        before, after = [V.OK] * 3, [V.OK] * rule.withdraw
        verdicts = shown([*before, *[rule.verdict] * rule.confirm, V.OK, rule.verdict, *after])
        assert verdicts[:-1] == [V.OK] * (2 + rule.confirm) + [rule.verdict] * (2 + rule.withdraw)
        assert verdicts[-1] is V.OK
        assert rule.withdraw >= 2


def sickness(verdicts: list[Verdict]) -> list[bool]:
    """Return which of these are faults."""
    return [bool(SEVERITIES[CODE[each]] >= Severity.WARNING) for each in verdicts]


@given(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS), st.integers(2, 40))
def test_alternating_verdicts_never_make_the_shown_verdict_alternate(one: Verdict, other: Verdict, times: int) -> None:
    """There is at most one change between healthy and faulty, for any two verdicts that alternate."""
    calls = sickness(shown([one, other] * times))
    assert sum(a != b for a, b in itertools.pairwise(calls)) <= 1


@given(st.lists(st.sampled_from([*VERDICTS, None]), max_size=60))
def test_a_fault_is_shown_for_at_least_the_ticks_of_a_withdrawal(found: list[Verdict | None]) -> None:
    """A fault is shown for two ticks at least, and only after the rules found one, for any sequence."""
    calls = [False, *sickness(shown(found))]
    starts = [at for at in range(1, len(calls)) if calls[at] and not calls[at - 1]]
    ends = [at for at in range(1, len(calls)) if not calls[at] and calls[at - 1]]
    for start in starts:
        assert found[start - 1] is not None
        assert sickness([found[start - 1] or V.OK]) == [True]
        assert all(end - start >= 2 for end in ends if end > start)


def test_a_verdict_holds_since_it_was_first_found() -> None:
    """The start of a verdict is the tick at which it was first found, not first shown."""
    state = ShownVerdicts.empty(1)
    for tick, found in enumerate([V.OK, V.SKEWED, V.SKEWED, V.SKEWED]):
        state = advance(state, np.array([CODE[found]], np.int8), tick * TICK)
        since = state.since.tolist()
        assert since == [0 if tick < 2 else TICK]
