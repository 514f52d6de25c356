"""Open pages: their updates, and the focus, the scroll position and the input that they keep."""

import dataclasses
import re
import time

import pytest

from exporters.readmodel import TOPICS, Snapshot
from tests.exporters.snapshots import HOSTILE_NAMES, small_snapshot, snapshot, table
from tests.page.chromium import Browser, Page
from tests.page.conftest import Serve
from tests.page.demo_data import demo_snapshot, detail_of

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
"""The content of the page, without the parts that the script owns and without ages."""


def now_refresh(page: Page) -> None:
    """Make the page update at once, as when its tab becomes visible."""
    page.run("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize("path", ["", GROUP, "?filter=e"], ids=["overview", "group", "filtered"])
def test_an_open_page_becomes_equal_to_a_new_one(browser: Browser, serve: Serve, path: str) -> None:
    """Law: after any change of the snapshot, an open page has the same elements as a page that is loaded now."""
    now = time.time()
    first = demo_snapshot(now)
    snapshots = [
        demo_snapshot(now, more=30),
        dataclasses.replace(first, groups=first.groups.slice(3), verdict_groups=first.verdict_groups.slice(2)),
        small_snapshot(),
        dataclasses.replace(first, topics=table(TOPICS, [{"group": "billing-invoices", "topic": t} for t in "ab"])),
        snapshot(groups=[{"group": name, "severity": "warning"} for name in HOSTILE_NAMES]),
        demo_snapshot(now),
    ]
    served = serve(first, lambda name, _: detail_of(name, now))
    with browser.page() as old, browser.page() as new:
        old.open(served.url + path)
        for each in snapshots:
            served.show(dataclasses.replace(each, taken_at=now))
            new.open(served.url + path)
            wanted = new.run(CONTENT)
            now_refresh(old)
            old.wait_until(CONTENT, wanted)


def test_an_update_keeps_focus_and_scroll_position(browser: Browser, serve: Serve) -> None:
    """The focused link keeps the focus while rows move, and the page does not scroll."""
    served = serve(demo_snapshot(time.time(), more=80))
    with browser.page() as page:
        page.open(served.url)
        page.run("document.querySelector('a[href*=checkout]').focus(); scrollTo(0, 900)")
        place = page.run("scrollY")
        worse = demo_snapshot(time.time(), more=81)
        served.show(dataclasses.replace(worse, groups=worse.groups.slice(1)))
        page.wait_for("document.querySelectorAll('a[href*=\"service-00080\"]').length === 1")
        assert page.run("document.activeElement.textContent") == "checkout"
        assert page.run("scrollY") == place


def test_an_update_keeps_the_input(browser: Browser, serve: Serve) -> None:
    """An update while the user types does not change the text in the input, and leaves opened filters open."""
    served = serve(demo_snapshot(time.time()))
    with browser.page() as page:
        page.open(served.url)
        page.run("document.getElementById('filter').focus()")
        page.type("ware")
        page.wait_for("document.querySelectorAll('.stuck li').length === 1")
        now_refresh(page)
        page.type("house")
        page.wait_for("location.search === '?filter=warehouse'")
        assert page.run("document.getElementById('filter').value") == "warehouse"
        page.run("document.querySelector('form details').open = true")
        field = "document.getElementById('filter')"
        page.run(f"{field}.value = ''; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        page.wait_for("location.search === '' && document.querySelector('a.all') === null")
        assert page.run("document.querySelector('form details').open"), "also when the link beside it disappears"


def test_an_unreachable_server_is_shown_until_it_responds(browser: Browser, serve: Serve) -> None:
    """The content stays. A line has the time of the last response until the next one."""
    served = serve(demo_snapshot(time.time()))
    with browser.page() as page:
        page.open(served.url)
        page.wait_for("document.getElementById('connection-error').hidden")
        served.__exit__()
        now_refresh(page)
        page.wait_for("!document.getElementById('connection-error').hidden")
        assert "No response from lagwarden since" in page.run("document.getElementById('connection-error').textContent")
        assert page.run("document.querySelectorAll('.stuck li').length") == 5
        serve(demo_snapshot(time.time()), detail_of, served.port)
        now_refresh(page)
        page.wait_for("document.getElementById('connection-error').hidden")


def test_the_chart_draws_the_samples(browser: Browser, serve: Serve) -> None:
    """The chart has four curves over the snapshots, a mark per verdict change, and the values at the pointer."""
    begun = time.time() - 100
    snapshots = [dataclasses.replace(demo_snapshot(begun + at), taken_at=begun + at) for at in range(0, 100, 10)]
    served = serve(snapshots[0], lambda name, _: detail_of(name, begun + 15 + 14.3 * 60))
    with browser.page() as page:
        page.open(served.url + GROUP)
        for each in snapshots:
            served.show(each)
            page.run("fetch('api/v1/groups').then((answer) => answer.text())")
        now_refresh(page)
        page.wait_for("document.querySelectorAll('#chart svg[role=img] path.curve').length === 4")
        page.wait_for("document.querySelector('#chart path.curve').getAttribute('d').split('L').length === 10")
        assert page.run("document.querySelectorAll('#chart svg .mark.verdict').length") == 3
        assert page.run("document.querySelectorAll('#chart svg .mark.group').length") == 3
        assert "poison record" in page.run("document.querySelector('#chart .mark.verdict title').textContent")
        assert page.run("document.querySelector('#chart svg title').textContent").startswith(
            "Lag (offsets) over 1 min 30 s"
        )
        box = page.run("(({x, y}) => [x, y])(document.querySelector('#chart svg').getBoundingClientRect())")
        page.send("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + 300, y=box[1] + 50)
        page.wait_for("document.querySelectorAll('#chart circle.dot').length === 4")
        assert "before)" in page.run("document.querySelector('#chart .reading').textContent")
        rates = page.run("document.querySelector('#chart figure:last-child .reading').textContent")
        assert re.match(r"Rate [\d,.]+/s produced, [\d,.]+/s consumed ", rates)
        assert page.complaints() == []


def test_unknown_values_leave_a_gap(browser: Browser, serve: Serve) -> None:
    """The curve is interrupted at a sample with an unknown value."""
    begun = time.time() - 60
    served = serve(snapshot_with_lag(begun, 5))
    with browser.page() as page:
        page.open(served.url + "group?name=g")
        for second, lag in ((100, None), (200, 7), (210, 8)):
            served.show(snapshot_with_lag(begun + second, lag))
            page.run("fetch('api/v1/groups').then((answer) => answer.text())")
        now_refresh(page)
        page.wait_for("document.querySelectorAll('#chart figure:first-child path.curve').length === 1")
        assert page.run("document.querySelectorAll('#chart figure:first-child circle.dot').length") == 1
        for panel in (2, 3):
            reading = page.run(f"document.querySelector('#chart figure:nth-child({panel}) .reading').textContent")
            assert "unknown" in reading


def snapshot_with_lag(taken_at: float, lag: int | None) -> Snapshot:
    """Return a snapshot of one group with this lag and an unknown time lag."""
    return dataclasses.replace(snapshot(groups=[{"group": "g", "lag_sum": lag}]), taken_at=taken_at)


def test_a_column_header_sorts_the_table_and_the_address_has_the_order(browser: Browser, url: str) -> None:
    """A click sorts by the column; the address of the page then shows the same order in another tab."""
    names = "[...document.querySelectorAll('table.lines tbody th')].map((head) => head.textContent)"
    with browser.page() as page, browser.page() as other:
        page.open(url)
        page.run("[...document.querySelectorAll('table.lines thead a')].find((a) => a.textContent === 'Group').click()")
        page.wait_for("location.search === '?sort=name'")
        page.wait_for("document.querySelector('[aria-sort]')?.textContent === 'Group'")
        shown = page.run(names)
        assert len(shown) > 5
        assert shown == sorted(shown)
        other.open(page.run("location.href"))
        assert other.run(names) == shown


def test_inputs_filter_while_the_user_types_and_the_address_keeps_them(browser: Browser, url: str) -> None:
    """Each input is a parameter of the address, and the page of this address has the same input and groups."""
    names = "[...document.querySelectorAll('table.lines tbody th')].map((head) => head.textContent)"
    with browser.page() as page, browser.page() as other:
        for field, text, groups in (
            ("topic", "invoices", ["billing-invoices"]),
            ("client", "search-indexer-1", ["search-indexer"]),
            ("host", "10.0.3.22", ["checkout"]),
            ("owner", "payments", ["audit-archive", "billing-invoices"]),
        ):
            page.open(url)
            page.run("document.querySelector('form details').open = true")
            page.run(f"document.getElementById({field!r}).focus()")
            page.type(text)
            # A part of the text may select the same groups.
            page.wait_for(f"location.search === '?{field}={text}'")
            page.wait(lambda groups=groups: page.run(names) == groups, f"the groups {groups}")
            other.open(page.run("location.href"))
            assert other.run(f"document.getElementById({field!r}).value") == text
            assert other.run(names) == groups
            assert page.complaints() == []


def test_a_command_is_copied_or_selected(browser: Browser, url: str) -> None:
    """The text is selected for a manual copy if the page may not write to the clipboard.

    A command of lagwarden has the address of the page, also after an update.
    """
    explain = f"lagwarden explain --url {url.rstrip('/')} billing-invoices"
    with browser.page() as page:
        page.open(url + GROUP)
        page.wait_for("document.querySelector('.commands span').textContent !== ''")
        page.run("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))")
        page.run("document.querySelector('.commands button').click()")
        page.wait_for(f"getSelection().toString() === '{explain}'")
        now_refresh(page)
        page.run("navigator.clipboard.writeText = (words) => { window.copied = words; return Promise.resolve(); }")
        page.run("document.querySelector('.commands button').click()")
        page.wait_for(f"window.copied === '{explain}'")
        page.wait_for("document.getElementById('announcement').textContent === 'Copied'")


def test_a_page_with_a_link_to_another_server_is_updated(browser: Browser, serve: Serve) -> None:
    """An open page keeps the link of an owner to another server. A script as a link is refused."""
    owned = {"group": "g", "lag_sum": 1, "team": "payments", "link": "https://wiki.example/payments"}
    served = serve(snapshot(groups=[owned]), lambda name, _: detail_of(name, time.time()))
    with browser.page() as page:
        page.open(served.url + "group?name=g")
        served.show(dataclasses.replace(snapshot(groups=[owned | {"lag_sum": 77}]), taken_at=time.time()))
        now_refresh(page)
        page.wait_for("document.getElementById('main').textContent.includes('77 offsets')")
        assert page.run("document.querySelector('dd a').href") == "https://wiki.example/payments"
        tree = "[['a', {href: 'javascript:0'}, []]]"
        build = f"import('./view.js').then(({{patch}}) => patch(document.createElement('p'), {tree}))"
        assert page.run(f"{build}.then(() => 'built', (error) => error.message)") == "only links to http(s)"
