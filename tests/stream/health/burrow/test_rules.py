"""Burrow's rules with their peculiarities, compared with an implementation that evaluates one window at a time."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sandbox.verdict_scenarios.burrow_store import BurrowSlot, Ring, columns_of_rings
from stream.health.burrow import INTERVALS, NONE, BurrowStatus, evaluate
from tests.stream.health.tables import wrong

NOW = 1_700_000_000_000
SECOND = 1_000


def ring(offsets: list[int], lags: list[int], *, last: int = 0, every: int = 10) -> Ring:
    """Return a ring with a commit every `every` seconds, the newest one `last` seconds ago."""
    made = Ring()
    times = [NOW - (last + every * (len(offsets) - 1 - at)) * SECOND for at in range(len(offsets))]
    made.slots = [BurrowSlot(*each) for each in zip(offsets, range(len(offsets)), times, lags, strict=True)]
    return made


UP = [100, 110, 120, 130, 140, 150, 160, 170, 180, 190]
LAGS = [5, 4, 6, 4, 6, 4, 6, 4, 6, 4]
GROWS = [1, 2, 3, 3, 5, 6, 7, 8, 9, 10]
CASES = {
    "no commit at all": (Ring(), [500], BurrowStatus.OK),
    "no lag now, no commit for an hour": (ring(UP, GROWS, last=3600), [190], BurrowStatus.OK),
    "no commit for longer than the window spans": (ring(UP, LAGS, last=91), [500], BurrowStatus.STOP),
    "no commit for exactly as long as the window spans": (ring(UP, LAGS, last=90), [500], BurrowStatus.OK),
    "no commit, but no lag at a recent end": (ring(UP, LAGS, last=91), [190, 500], BurrowStatus.OK),
    "one commit and lag: stopped at once": (ring([100], [3], last=1), [500], BurrowStatus.STOP),
    "went back and stayed there": (ring([100, 110, 50, 60], [5, 4, 60, 61]), [500], BurrowStatus.REWIND),
    "went back and returned": (ring([100, 110, 50, 110], [5, 4, 60, 61]), [500], BurrowStatus.OK),
    "no lag once": (ring([100, 100, 100], [5, 0, 7]), [500], BurrowStatus.OK),
    "repeated commits": (ring([100, 100, 100], [5, 6, 7]), [500], BurrowStatus.STALL),
    "lag grows with every commit": (ring(UP, GROWS), [500], BurrowStatus.WARN),
    "lag stays the same": (ring(UP, [7] * 10), [500], BurrowStatus.WARN),
    "lag goes down once": (ring(UP, LAGS), [500], BurrowStatus.OK),
    "all slots were filled in late": (ring(UP, [NONE] * 10), [500], BurrowStatus.WARN),
}


def test_a_window_has_the_status_of_burrow() -> None:
    """The cases have each of the six rules at its limit."""
    assert wrong(CASES, lambda made, ends: BurrowStatus(int(evaluate(columns_of_rings([made], [ends]), NOW)[0]))) == []


def reference_status(made: Ring, ends: list[int], now: int) -> BurrowStatus:  # noqa: PLR0911 - six rules
    window = made.slots
    if not window or not ends or ends[-1] <= window[-1].offset:
        return BurrowStatus.OK
    zero = any(end <= window[-1].offset for end in ends)
    if now // 1000 * 1000 - window[-1].timestamp > window[-1].timestamp - window[0].timestamp and not zero:
        return BurrowStatus.STOP
    for at in range(1, len(window)):
        if window[at].offset < window[at - 1].offset:
            if not any(later.offset >= window[at - 1].offset for later in window[at:]):
                return BurrowStatus.REWIND
            break
    lags = [slot.lag for slot in window if slot.lag != NONE]
    if 0 in lags:
        return BurrowStatus.OK
    if all(slot.offset == window[0].offset for slot in window):
        return BurrowStatus.STALL
    if all(earlier <= later for earlier, later in itertools.pairwise(lags)):
        return BurrowStatus.WARN
    return BurrowStatus.OK


SLOTS = st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 4), st.integers(0, 40)), max_size=INTERVALS)


@given(
    st.lists(st.tuples(SLOTS, st.lists(st.integers(0, 12), max_size=INTERVALS)), min_size=1, max_size=5),
    st.integers(0, 60),
)
def test_columns_have_the_status_of_the_reference_implementation(
    drawn: list[tuple[list[tuple[int, int, int]], list[int]]], later: int
) -> None:
    """Both implementations have the same status for any windows and ends."""
    rings, ends = [], []
    for slots, known in drawn:
        made, time = Ring(), 0
        for order, (offset, lag, pause) in enumerate(slots):
            time += pause
            made.slots.append(BurrowSlot(offset, order, NOW + time * SECOND, lag))
        rings.append(made)
        ends.append(known)
    now = NOW + later * SECOND + 999
    found = evaluate(columns_of_rings(rings, ends), now)
    assert found.tolist() == [reference_status(*each, now) for each in zip(rings, ends, strict=True)]
