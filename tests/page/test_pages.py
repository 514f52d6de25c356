"""The pages in a real browser: what they load, what they show of hostile names, by day, by night and on a phone."""

from __future__ import annotations

import dataclasses
import time
import urllib.parse
from typing import TYPE_CHECKING

import pytest

from exporters.readmodel import GROUPS
from exporters.wording import printable
from tests.exporters.snapshots import HOSTILE_NAMES, snapshot, table
from tests.page.demo_data import detail_of, fleet

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.chromium import Browser
    from tests.page.conftest import Serve

pytestmark = pytest.mark.page

GROUP = "group?name=billing-invoices"
PAGES = pytest.mark.parametrize("path", ["", GROUP, "group?name=nobody"], ids=["fleet", "group", "no such group"])
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
UPDATED = "performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"
"""Whether the page has asked for news at least once."""

CONTRAST = """
(() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const owner = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || owner.closest("noscript, svg") || !owner.getClientRects().length) continue;
    const [one, other] = [light(parse(getComputedStyle(owner).color)), light(ground(owner))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.add(`${walker.currentNode.data.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return [...poor];
})()
"""
"""Texts whose contrast is below what WCAG 2.2 asks at level AA."""


@PAGES
def test_nothing_is_complained_of_and_nothing_comes_from_outside(browser: Browser, url: str, path: str) -> None:
    """The console stays empty, under the page's own strict policy, and every address asked for is lagwarden's."""
    with browser.page() as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        missing = [f"error: Failed to load resource: the server responded with a status of 404 (Not Found) {url}{path}"]
        # A browser says itself that the address of a missing group was answered with 404.
        assert set(page.complaints()) <= (set(missing) if "nobody" in path else set())
        asked = page.asked()
        assert len(asked) >= 5
        assert [address for address in asked if not address.startswith((url, "data:,"))] == []


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u05d0\u05d1"], ids=ascii)
def test_a_name_is_shown_literally_and_is_nothing_else(browser: Browser, serve: Serve, name: str) -> None:
    """In the fleet, on its own page and after an update; no element and no script comes of it."""
    row = {"group": name, "topic": name, "partition": 0, "verdict": name, "lag_unknown_reason": name}
    group = {"group": name, "verdict": name, "severity": "critical", "sentence": name, "state": name, "kind": name}
    served = serve(snapshot([row], [group]), lambda _, now: detail_of(name, now))
    wanted = printable(name) or "(empty name)"
    with browser.page() as page:
        page.open(served.url)
        for _ in range(2):
            assert page.run("[...document.querySelectorAll('bdi')].map((node) => node.textContent)") == [wanted] * 2
            assert page.run("document.querySelectorAll('main script, main img, main iframe').length") == 0
            page.wait_for(UPDATED)
        page.run("document.querySelector('tbody a').click()")
        page.wait_for("document.querySelector('h1.name') !== null")
        assert page.run("document.querySelector('h1').textContent") == wanted
        asked = urllib.parse.parse_qs(page.run("location.search.slice(1)"), keep_blank_values=True)
        assert asked == {"name": [name]}
        assert page.complaints() == []


@PAGES
@pytest.mark.parametrize(("width", "dark"), [(320, False), (390, True), (1280, False), (1280, True)])
def test_it_fits_every_window(
    browser: Browser,
    url: str,
    path: str,
    *,
    width: int,
    dark: bool,
    tmp_path: Path,
) -> None:
    """Nothing makes the page wider than the window; wide tables move by themselves. Light is light, dark is dark."""
    with browser.page(width=width, height=844, dark=dark) as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        assert page.run("document.documentElement.scrollWidth") <= width
        ground = page.run("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        assert (sum(ground) / 3 < 100) == dark
        page.picture(tmp_path / "page.png")
        # A picture of one colour packs to less than this.
        assert (tmp_path / "page.png").stat().st_size > 10_000


def test_on_a_phone_the_stories_are_read_without_moving_a_table(browser: Browser, url: str) -> None:
    """Why a partition is not fine, and what happened to the group: each word lies within the window."""
    with browser.page(width=390, height=844) as page:
        page.open(url + GROUP)
        page.wait_for(UPDATED)
        edges = page.run("[...document.querySelectorAll('td.long')].map((n) => n.getBoundingClientRect().right)")
        assert len(edges) == 8
        assert max(edges) <= 390


def test_the_labels_of_the_chart_are_not_cut(browser: Browser, serve: Serve) -> None:
    """However long the times are that stand at its edge."""
    served = serve(fleet(time.time()))
    with browser.page(width=390, height=844) as page:
        for time_lag in (0.4, 59.0, 3_000.0, 4_900.0, 40_000.0, 8_000_000.0):
            world = fleet(time.time())
            rows = [row | {"time_lag_max": time_lag} for row in world.groups.to_pylist()]
            served.show(dataclasses.replace(world, groups=table(GROUPS, rows)))
            page.open(served.url + GROUP)
            page.wait_for("document.querySelectorAll('#chart figure').length === 2")
            left = "(n) => n.getBoundingClientRect().left - n.ownerSVGElement.getBoundingClientRect().left"
            assert page.run(f"Math.min(...[...document.querySelectorAll('#chart text')].map({left}))") >= 0


@PAGES
@SCHEMES
def test_every_text_stands_out_from_its_ground(browser: Browser, url: str, path: str, dark: bool) -> None:  # noqa: FBT001  # a table
    """The contrast is at least 4.5 to 1."""
    with browser.page(dark=dark) as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        assert page.run(CONTRAST) == []


@PAGES
def test_everything_that_can_be_reached_has_a_name(browser: Browser, url: str, path: str) -> None:
    """Who listens to the page hears what each link, field, table and drawing is."""
    with browser.page() as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        nodes = page.send("Accessibility.getFullAXTree")["nodes"]
        wanting = {"link", "button", "searchbox", "textbox", "img", "region", "group", "heading", "progressbar"}
        mute = [node for node in nodes if not node["ignored"] and node["role"]["value"] in wanting and not named(node)]
        assert mute == []
        assert page.run("document.querySelectorAll('h1').length") == 1


def test_without_a_script_the_page_is_whole(browser: Browser, url: str) -> None:
    """Everything but the chart is there, the form filters, and the browser itself loads it anew."""
    with browser.page(script=False) as page:
        page.open(f"{url}?filter=ware")
        texts = page.send("DOM.getDocument", depth=-1)
        assert page.asked()[0].endswith("?filter=ware")
        assert texts
        html = page.send("DOM.getOuterHTML", nodeId=texts["root"]["nodeId"])["outerHTML"]
        assert "warehouse-sync" in html
        assert "billing-invoices" not in html
        assert 'http-equiv="refresh"' in html


def test_a_fleet_of_thousands_stays_usable(browser: Browser, serve: Serve) -> None:
    """With 5,000 groups a page has a bounded number of elements, and the wanted one is some keys away."""
    served = serve(fleet(time.time(), more=5_000))
    with browser.page() as page:
        page.open(served.url)
        page.wait_for(UPDATED)
        assert page.run("document.querySelectorAll('*').length") < 6_000
        page.press("/", "/")
        assert page.run("document.activeElement.id") == "filter"
        page.type("service-04242")
        page.wait_for("document.querySelectorAll('section[aria-label=Groups] tbody tr').length === 1")
        assert page.run("document.querySelector('section[aria-label=Groups] tbody th').textContent").endswith("-04242")
        assert page.run("[document.activeElement.id, document.activeElement.value]") == ["filter", "service-04242"]
        assert page.run("location.search") == "?filter=service-04242"


def named(node: dict[str, dict[str, object]]) -> bool:
    """Tell whether a node of the accessibility tree has a name."""
    return bool(str(node.get("name", {}).get("value", "")).strip())
