"""Takes the pictures of the documentation from a run of the demo: `make pictures`, which takes seven minutes.

It writes the pages into docs/pictures, and prints `lagwarden explain` of the group on the page
for the README. `python -m tests.page.pictures FOLDER` writes pictures of all pages, both colour schemes and a phone, to
look at them after a change. Those show the demo data of the tests after ten minutes, without its hostile names.
"""

import dataclasses
import itertools
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.readmodel import Snapshot
from sandbox.demo.run import VERDICTS_KNOWN
from tests.page.chromium import Browser, find
from tests.page.demo_data import demo_snapshot
from tests.page.served import Served

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
UPDATED: Final = "performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"
"""True if the page has drawn its charts."""
SECONDS: Final = 600
STEP: Final = 10
MORE: Final = 40
"""Groups without a fault."""


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """A page in a window, width and height in pixels."""

    path: str
    width: int
    height: int
    dark: bool = False


PATHS: Final = {"overview": "", "group": "group?name=billing-invoices", "topic": "topic?name=invoices"}
SHOWN: Final = "stalled"
"""The group of the demo whose page is a picture."""
OF_DOCUMENTATION: Final = {
    "overview": Picture("", 1280, 1100),
    "group": Picture(f"group?name={SHOWN}", 1280, 1290),
}
DEMO: Final = ("make", "demo", "DURATION=480")
ALL: Final = {
    f"{name}-{width}-{'dark' if dark else 'light'}": Picture(path, width, height, dark)
    for (name, path), (width, height), dark in itertools.product(
        PATHS.items(), ((1440, 2400), (1280, 2400), (390, 2800)), (False, True)
    )
}


def pictured(now: float, end: float) -> Snapshot:
    """Return the demo snapshot of a time, of groups with plain and short names; lags grow until `end`."""
    snapshot = demo_snapshot(now, MORE, end)
    names = snapshot.groups.column("group").cast(pa.string())
    plain = pc.match_substring_regex(names, r"\A[a-z0-9.-]{1,60}\z")
    return dataclasses.replace(snapshot, groups=snapshot.groups.filter(plain), taken_at=now)


def take(browser: Browser, url: str, picture: Picture, file: Path) -> None:
    """Write the picture of a page of the server at a URL, which ends in a slash."""
    with browser.page(width=picture.width, height=picture.height, dark=picture.dark) as page:
        page.open(url + picture.path)
        page.wait_for(UPDATED)
        page.wait_for("document.fonts.status === 'loaded'")
        page.picture(file)


def of_demo(program: str, url: str) -> None:
    """Wait until the demo's verdicts are known, write the pictures of its pages, and explain the group shown."""
    time.sleep(VERDICTS_KNOWN)
    with Browser(program) as browser:
        for name, picture in OF_DOCUMENTATION.items():
            take(browser, url, picture, FOLDER / f"{name}.png")
    command = [str(Path(sys.executable).with_name("lagwarden")), "explain", SHOWN, "--url", url.rstrip("/")]
    print(subprocess.run(command, capture_output=True, text=True, check=False).stdout)  # noqa: T201  # for the README


def main(arguments: Sequence[str]) -> None:
    """Write the pictures of the documentation, or all into a folder."""
    program = find()
    if program is None:
        raise SystemExit("no Chromium: sandbox/programs/install_browser.sh gets Debian's")
    if not arguments:
        with subprocess.Popen(DEMO, stdout=subprocess.PIPE, text=True) as demo:
            urls = (re.search(r"(http://127\.0\.0\.1:\d+/)metrics", line) for line in demo.stdout or ())
            of_demo(program, next(found[1] for found in urls if found))
            demo.communicate()
        return
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time()
    with Served(pictured(now - SECONDS, now)) as served, Browser(program) as browser:
        served.record(pictured(now - back, now) for back in range(SECONDS, 0, -STEP))
        for name, picture in ALL.items():
            served.record([pictured(time.time(), now)])
            take(browser, served.url, picture, folder / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
