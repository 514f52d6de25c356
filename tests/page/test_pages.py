"""The pages in a real browser: requests, hostile names, colour schemes, window sizes and accessibility."""

import urllib.parse

import pytest

from exporters.wording import printable
from stream.config.values import cache_folder
from tests.exporters.snapshots import HOSTILE_NAMES, snapshot
from tests.page.chromium import Browser, Page
from tests.page.conftest import Serve
from tests.page.demo_data import detail_of

pytestmark = pytest.mark.page

GROUP = "group?name=billing-invoices"
TOPIC = "topic?name=invoices"
PAGES = pytest.mark.parametrize(
    "path",
    ["", GROUP, TOPIC, "group?name=unknown", "runbook/LagwardenGroupStuck"],
    ids=["overview", "group", "topic", "unknown group", "runbook"],
)
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
AXE = cache_folder() / "axe-core" / "package" / "axe.min.js"
UPDATED = "performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"
"""True if the page has requested its view at least once."""


@PAGES
def test_the_console_is_empty_and_all_requests_are_local(browser: Browser, url: str, path: str) -> None:
    """The strict content security policy causes no message in the console, and every URL is one of lagwarden.

    The page names the cluster.
    """
    with browser.page() as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        missing = [f"error: Failed to load resource: the server responded with a status of 404 (Not Found) {url}{path}"]
        # The browser itself logs the 404 of an unknown group.
        assert set(page.complaints()) <= (set(missing) if "name=unknown" in path else set())
        assert "eu-payments" in page.run("document.querySelector('.brand').textContent")
        urls = page.requested_urls()
        assert len(urls) >= 5
        assert [address for address in urls if not address.startswith((url, "data:,"))] == []


def test_a_name_is_shown_literally(browser: Browser, serve: Serve) -> None:
    """A name on the overview, on its page and after an update creates no element and no script."""
    shown = "[...document.querySelectorAll('li bdi, table bdi')].map((node) => node.textContent)"
    for name in (*HOSTILE_NAMES, "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u05d0\u05d1"):
        row = {"group": name, "topic": name, "partition": 0, "verdict": name, "lag_unknown_reason": name}
        group = {"group": name, "verdict": name, "severity": "critical", "sentence": name, "state": name, "kind": name}
        served = serve(snapshot([row], [group]), lambda _, now, name=name: detail_of(name, now))
        wanted = printable(name) or "(empty name)"
        with browser.page() as page:
            page.open(served.url)
            for _ in range(2):
                assert page.run(shown) == [wanted] * 2
                assert page.run("document.querySelectorAll('main script, main img, main iframe').length") == 0
                page.wait_for(UPDATED)
            page.run("document.querySelector('tbody a').click()")
            page.wait_for("document.querySelector('h1.name') !== null")
            assert page.run("document.querySelector('h1').textContent") == wanted
            query = urllib.parse.parse_qs(page.run("location.search.slice(1)"), keep_blank_values=True)
            assert query == {"name": [name]}
            assert page.complaints() == []


@PAGES
@pytest.mark.parametrize(("width", "dark"), [(320, False), (390, True), (1280, False), (1440, True), (1920, False)])
def test_a_page_fits_every_window(browser: Browser, url: str, path: str, *, width: int, dark: bool) -> None:
    """The page, the list of groups and the long texts of a group are never wider than the window: other tables scroll.

    The list has name, verdict, lag and time lag in every window. On a screen the partitions of a group fit, too.

    The background has the colour of the scheme.
    """
    with browser.page(width=width, height=844, dark=dark) as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        assert page.run("document.documentElement.scrollWidth") <= width
        if path == "":
            table = "document.querySelector('table.groups').parentElement"
            assert page.run(f"{table}.scrollWidth - {table}.clientWidth") == 0
            cells = "[...document.querySelectorAll('table.groups tr:nth-child(2) > *')]"
            shown = page.run(f"{cells}.filter((cell) => cell.offsetParent).length")
            assert shown == {320: 4, 390: 4, 1280: 10, 1440: 11, 1920: 15}[width]
        if path == GROUP:
            edges = page.run("[...document.querySelectorAll('td.long')].map((n) => n.getBoundingClientRect().right)")
            assert len(edges) == 7
            assert max(edges) <= width
            table = "document.querySelector('[aria-label=\"Partitions, as a table\"]')"
            assert width < 1280 or page.run(f"{table}.scrollWidth - {table}.clientWidth") == 0
        ground = page.run("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        assert (sum(ground) / 3 < 100) == dark


def test_a_group_has_a_line_of_its_latest_lags(browser: Browser, url: str) -> None:
    """Every group with a known lag has a line inside its picture, with the values as text."""
    with browser.page() as page:
        page.open(url)
        for _ in range(2):
            unknown = "[...document.querySelectorAll('table.lines tbody tr:not(:has(.sparkline)) th')]"
            assert page.run(f"{unknown}.map((head) => head.textContent)") == ["legacy-import"]
            points = page.run("document.querySelector('.sparkline path').getAttribute('d').split('L').length")
            assert points == 3
            box = "(({x, y, width, height}) => [x >= 0, y >= 0, x + width <= 80, y + height <= 18])"
            boxes = page.run(f"[...document.querySelectorAll('.sparkline path')].map((path) => {box}(path.getBBox()))")
            assert all(all(within) for within in boxes)
            words = page.run("document.querySelector('.sparkline').getAttribute('aria-label')")
            assert words.startswith("lag over 20 s: from ")
            page.wait_for(UPDATED)


@PAGES
@SCHEMES
def test_axe_finds_no_violation(browser: Browser, url: str, path: str, dark: bool) -> None:  # noqa: FBT001  # a table
    """The whole page conforms to the rules of axe-core for WCAG 2.2 level AA and best practices.

    Among them are the contrast of texts, and names of links, inputs and charts. Groups have a name, too.
    """
    if not AXE.exists():
        pytest.skip("no axe-core on this machine; sandbox/programs/install_axe.sh gets it")
    with browser.page(dark=dark) as page:
        page.send("Page.setBypassCSP", enabled=True)  # axe adds a style sheet
        page.open(url + path)
        page.wait_for(UPDATED)
        groups = "[...document.querySelectorAll('[role=group]')]"
        assert page.run(f"{groups}.filter((group) => !group.getAttribute('aria-label')).length") == 0
        page.run(f"{AXE.read_text()};0")
        found = "({passes, violations}) => [passes.length, violations.map(({id}) => id)]"
        results = page.run(f"axe.run({{rules: {{'target-size': {{enabled: true}}}}}}).then({found})")
        assert results[0] > 10
        assert results[1] == []


@pytest.mark.parametrize(
    ("path", "required"),
    [
        ("", ["a.skip", "#filter", "#client", "#host", "#owner", "form button", "thead a", "td a", ".wide", "summary"]),
        (GROUP, ["a.skip", "nav.outside a", "dd a", ".commands button", ".wide"]),
        (TOPIC, ["a.skip", "tbody th a", "td a", ".wide"]),
    ],
    ids=["overview", "group", "topic"],
)
def test_the_keyboard_reaches_every_link_in_order(browser: Browser, url: str, path: str, required: list[str]) -> None:
    """Tab visits the elements in the order of the document, and shows where the focus is.

    Tab skips the cells of partitions: the rows of the table below are the same, and there can be a thousand cells.
    """
    with browser.page() as page:
        page.open(url + path)
        page.wait_for(UPDATED)
        assert [each for each in required if page.run(f"document.querySelector({each!r})") is None] == []
        assert (page.run("document.querySelectorAll('a.cell').length") > 1) == (path == GROUP)
        reachable = ":is(a[href], button, input:not([type=hidden]), summary, [tabindex='0']):not(.cell)"
        shown = f"[...document.querySelectorAll({reachable!r})].filter((node) => node.checkVisibility())"
        total = page.run(f"{shown}.length")
        assert total > 10
        for at in range(total):
            page.send("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
            page.send("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
            assert page.run(f"{shown}.indexOf(document.activeElement)") == at
            assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_page_works_without_javascript(browser: Browser, url: str) -> None:
    """Without JavaScript, the form filters the groups by the address, and the page asks the browser to reload it."""
    with browser.page(script=False) as page:
        page.open(url)
        assert "billing-invoices" in html(page)
        root = page.send("DOM.getDocument")["root"]["nodeId"]
        page.send("DOM.focus", nodeId=page.send("DOM.querySelector", nodeId=root, selector="#filter")["nodeId"])
        page.type("ware")
        page.press("Enter", "\r")
        page.wait(lambda: len(page.events("Page.loadEventFired")) == 2, "the filtered page")
        address = page.events("Page.frameNavigated")[-1]["frame"]["url"]
        assert urllib.parse.parse_qs(urllib.parse.urlsplit(address).query) == {"filter": ["ware"]}
        assert "warehouse-sync" in html(page)
        assert "billing-invoices" not in html(page)
        assert 'http-equiv="refresh"' in html(page)


def html(page: Page) -> str:
    """Return the HTML of a page, also of one without JavaScript."""
    root = page.send("DOM.getDocument")["root"]["nodeId"]
    return str(page.send("DOM.getOuterHTML", nodeId=root)["outerHTML"])
