"""Measures the time of a browser for an update of the overview page and a filter: `python -m tests.page.speed`.

The output is a Markdown table. Each figure is the median of RUNS runs by the browser's clock (`performance.now()`).
"""

import dataclasses
import statistics
import time
from typing import Final

from tests.page.chromium import Browser, Page, find
from tests.page.demo_data import demo_snapshot
from tests.page.served import Served

GROUPS: Final = (50, 500, 2_000, 5_000)
"""Numbers of further groups."""
RUNS: Final = 9

UPDATE: Final = """
(async () => {
  const { patch } = await import("./view.js");
  const main = document.getElementById("main");
  const begun = performance.now();
  const response = await fetch(location.href, { headers: { accept: "application/vnd.lagwarden.view+json" } });
  const text = await response.text();
  const received = performance.now();
  patch(main, JSON.parse(text).main);
  main.getBoundingClientRect();
  return [received - begun, performance.now() - received];
})()
"""
"""Requests the view and applies it; returns the milliseconds of both, the second with the layout."""

TYPE: Final = """
(async (text) => {
  const field = document.getElementById("filter");
  const main = document.getElementById("main");
  const isShown = () => document.querySelectorAll("table.lines tbody tr").length === 1;
  const begun = performance.now();
  field.value = text;
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await new Promise((resolve) => {
    const observer = new MutationObserver(() => isShown() && (observer.disconnect(), resolve()));
    observer.observe(main, { childList: true, subtree: true });
  });
  main.getBoundingClientRect();
  return performance.now() - begun;
})
"""
"""Filters by a text that one group matches; returns the milliseconds until its row is the only one."""


@dataclasses.dataclass(frozen=True, slots=True)
class UpdateTimes:
    """Medians in milliseconds: from the request of a view until it is received, and from then until it is shown."""

    received: float
    shown: float


def update_times(page: Page, served: Served, more: int) -> UpdateTimes:
    """Return the times of updates of the open overview page, each to a snapshot with other lags and trends."""
    begun = time.time()
    taken = []
    for run in range(RUNS + 1):
        served.record([demo_snapshot(begun + 5 * run, more)])
        taken.append(page.run(UPDATE))
    # The first run compiles the script.
    received, shown = zip(*taken[1:], strict=True)
    return UpdateTimes(statistics.median(received), statistics.median(shown))


def filter_time(page: Page, more: int) -> float:
    """Return the median of the milliseconds from a text in the filter until its only group is shown."""
    names = [f"service-{more - 1 - run:05}" for run in range(RUNS)]
    return statistics.median(page.run(f"{TYPE}({name!r})") for name in names)


def main() -> None:
    program = find()
    if program is None:
        raise SystemExit("no Chromium: sandbox/programs/install_browser.sh gets Debian's")
    print("| groups | view received ms | view shown ms | filter ms | elements |")  # noqa: T201 -- the result
    print("| -----: | ---------------: | ------------: | --------: | -------: |")  # noqa: T201
    with Browser(program) as browser:
        for more in GROUPS:
            with Served(demo_snapshot(time.time(), more)) as served, browser.page() as page:
                page.open(served.url)
                times = update_times(page, served, more)
                elements = page.run("document.querySelectorAll('*').length")
                milliseconds = (times.received, times.shown, filter_time(page, more))
                cells = (f"{more:,}", *(f"{each:.0f}" for each in milliseconds), f"{elements:,}")
                print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
