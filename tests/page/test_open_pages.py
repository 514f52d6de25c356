"""Pages that stay open while the world goes on: what is brought up to date, and what a reader keeps meanwhile."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import pytest

from exporters.readmodel import TOPICS, Snapshot
from tests.exporters.snapshots import HOSTILE_NAMES, small_world, snapshot, table
from tests.page.demo_data import detail_of, fleet

if TYPE_CHECKING:
    from tests.page.chromium import Browser, Page
    from tests.page.conftest import Serve

pytestmark = pytest.mark.page

GROUP = "group?name=billing-invoices"
CONTENT = r"""
(() => {
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/[0-9.]+ (s|min|h|d)( [0-9]+ (s|min|h))?/g, "#");
    const attributes = [...node.attributes].map(({ name, value }) => `${name}=${value}`).sort();
    const kept = "keep" in node.dataset || node.localName === "noscript";
    return [node.localName, attributes, kept ? [] : [...node.childNodes].map(read)];
  };
  return JSON.stringify(read(document.getElementById("main")));
})()
"""
"""The page's content without what the reader's side owns, and without ages, which go on."""


def now_refresh(page: Page) -> None:
    """Have the page ask at once, as when its tab is looked at again."""
    page.run("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize("path", ["", GROUP, "?filter=e"], ids=["fleet", "group", "filtered"])
def test_an_open_page_becomes_what_a_fresh_one_is(browser: Browser, serve: Serve, path: str) -> None:
    """Law: however the world changed, the page that was open shows the very elements of one that is loaded now."""
    now = time.time()
    first = fleet(now)
    worlds = [
        fleet(now, more=30),
        dataclasses.replace(first, groups=first.groups.slice(3), verdict_groups=first.verdict_groups.slice(2)),
        small_world(),
        dataclasses.replace(first, topics=table(TOPICS, [{"group": "billing-invoices", "topic": t} for t in "ab"])),
        snapshot(groups=[{"group": name, "severity": "warning"} for name in HOSTILE_NAMES]),
        fleet(now),
    ]
    served = serve(first, lambda name, _: detail_of(name, now))
    with browser.page() as old, browser.page() as new:
        old.open(served.url + path)
        for world in worlds:
            served.show(dataclasses.replace(world, taken_at=now))
            new.open(served.url + path)
            wanted = new.run(CONTENT)
            now_refresh(old)
            old.wait_until(CONTENT, wanted)


def test_a_reader_keeps_focus_and_place(browser: Browser, serve: Serve) -> None:
    """While rows change places around it, the link that has the focus keeps it, and nothing is scrolled."""
    served = serve(fleet(time.time(), more=80))
    with browser.page() as page:
        page.open(served.url)
        page.run("document.querySelector('a[href*=checkout]').focus(); scrollTo(0, 900)")
        place = page.run("scrollY")
        worse = fleet(time.time(), more=81)
        served.show(dataclasses.replace(worse, groups=worse.groups.slice(1)))
        page.wait_for("document.querySelectorAll('a[href*=\"service-00080\"]').length === 1")
        assert page.run("document.activeElement.textContent") == "checkout"
        assert page.run("scrollY") == place


def test_what_is_typed_is_not_overwritten(browser: Browser, serve: Serve) -> None:
    """News may come while somebody types."""
    served = serve(fleet(time.time()))
    with browser.page() as page:
        page.open(served.url)
        page.run("document.getElementById('filter').focus()")
        page.type("ware")
        page.wait_for("document.querySelectorAll('.stuck li').length === 1")
        now_refresh(page)
        page.type("house")
        page.wait_for("location.search === '?filter=warehouse'")
        assert page.run("document.getElementById('filter').value") == "warehouse"


def test_an_instance_that_is_gone_is_said_and_its_return_is_seen(browser: Browser, serve: Serve) -> None:
    """What is shown stays, and a line says since when there is no news; with the next answer the line is gone."""
    served = serve(fleet(time.time()))
    with browser.page() as page:
        page.open(served.url)
        page.wait_for("document.getElementById('trouble').hidden")
        served.__exit__()
        now_refresh(page)
        page.wait_for("!document.getElementById('trouble').hidden")
        assert "No answer from lagwarden since" in page.run("document.getElementById('trouble').textContent")
        assert page.run("document.querySelectorAll('.stuck li').length") == 5
        serve(fleet(time.time()), detail_of, served.port)
        now_refresh(page)
        page.wait_for("document.getElementById('trouble').hidden")


def test_the_chart_draws_what_is_known(browser: Browser, serve: Serve) -> None:
    """Both curves over the snapshots that were read, a mark where the verdict changed, the value under the pointer."""
    begun = time.time() - 100
    worlds = [dataclasses.replace(fleet(begun + at), taken_at=begun + at) for at in range(0, 100, 10)]
    served = serve(worlds[0], lambda name, _: detail_of(name, begun + 15 + 14.3 * 60))
    with browser.page() as page:
        page.open(served.url + GROUP)
        for world in worlds:
            served.show(world)
            page.run("fetch('api/v1/groups').then((answer) => answer.text())")
        now_refresh(page)
        page.wait_for("document.querySelectorAll('#chart path.curve').length === 2")
        page.wait_for("document.querySelector('#chart path.curve').getAttribute('d').split('L').length === 10")
        assert page.run("document.querySelectorAll('#chart svg line.mark').length") == 2
        assert "poison record" in page.run("document.querySelector('#chart line.mark title').textContent")
        assert page.run("document.querySelector('#chart svg title').textContent").startswith(
            "Lag (offsets) over 1 min 30 s"
        )
        box = page.run("(({x, y}) => [x, y])(document.querySelector('#chart svg').getBoundingClientRect())")
        page.send("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + 300, y=box[1] + 50)
        page.wait_for("document.querySelectorAll('#chart circle.dot').length === 2")
        assert "before)" in page.run("document.querySelector('#chart .reading').textContent")
        assert page.complaints() == []


def test_a_lower_bound_is_marked_in_the_chart_too(browser: Browser, serve: Serve) -> None:
    """Where the facts say that records wait for at least so long, the chart does not say that it is exactly so."""
    with browser.page() as page:
        for name, least in (("audit-archive", True), ("billing-invoices", False)):
            page.open(f"{serve(fleet(time.time())).url}group?name={name}")
            page.wait_for("document.querySelectorAll('#chart figure').length === 2")
            for place in (".reading", "svg title"):
                said = page.run(f"document.querySelector('#chart figure:last-child {place}').textContent")
                assert ("\N{GREATER-THAN OR EQUAL TO}" in said) == least


def test_numbers_that_are_not_known_leave_a_gap(browser: Browser, serve: Serve) -> None:
    """The curve does not run through a moment of which nothing is known."""
    begun = time.time() - 60
    served = serve(world_with(begun, 5))
    with browser.page() as page:
        page.open(served.url + "group?name=g")
        for second, lag in ((100, None), (200, 7), (210, 8)):
            served.show(world_with(begun + second, lag))
            page.run("fetch('api/v1/groups').then((answer) => answer.text())")
        now_refresh(page)
        page.wait_for("document.querySelectorAll('#chart figure:first-child path.curve').length === 1")
        assert page.run("document.querySelectorAll('#chart figure:first-child circle.dot').length") == 1
        assert "unknown" in page.run("document.querySelector('#chart figure:last-child .reading').textContent")


def world_with(taken_at: float, lag: int | None) -> Snapshot:
    """Make a world of one group with this lag and no known time lag."""
    return dataclasses.replace(snapshot(groups=[{"group": "g", "lag_sum": lag}]), taken_at=taken_at)
