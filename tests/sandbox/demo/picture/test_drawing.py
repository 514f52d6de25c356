"""The animated picture of the demo: the drawing, and the file in the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from sandbox.demo.groups import DEMO_GROUPS
from sandbox.demo.picture.drawing import drawing
from sandbox.demo.picture.frames import ScreenFrame, TextRun

PICTURE: Final = Path(__file__).resolve().parents[4] / "docs" / "pictures" / "demo.svg"
SVG: Final = "{http://www.w3.org/2000/svg}"
FRAMES: Final = [
    ScreenFrame(((TextRun(0, "$ a < b"),),), 0.0, 1.0),
    ScreenFrame(((), (TextRun(2, "ok", "green"), TextRun(6, "stopped", "red", bold=True))), 5.0, 3.0),
    ScreenFrame(((TextRun(0, "end"),),), 9.0, 4.0),
]


def keyframes(text: str, frame: int) -> dict[str, str]:
    """Return when a frame is visible: percents of the whole time."""
    (body,) = re.findall(rf"@keyframes k{frame}\{{(.*?)\}}\}}", text)
    return dict(re.findall(r"([0-9.]+%)\{visibility:(\w+)", body + "}"))


def test_each_frame_is_visible_in_its_time_only() -> None:
    """The duration of each frame is proportional to the seconds that it is shown."""
    text = drawing(FRAMES, 20, "a")
    assert keyframes(text, 0) == {"0%": "visible", "12.500%": "hidden"}
    assert keyframes(text, 1) == {"0%": "hidden", "12.500%": "visible", "50.000%": "hidden"}
    assert keyframes(text, 2) == {"0%": "hidden", "50.000%": "visible", "100.000%": "visible"}
    assert "animation:k1 8s step-end infinite" in text


def test_a_viewer_without_motion_shows_the_frame_with_most_findings() -> None:
    """One frame is visible without animation, and animations respect the preference for reduced motion."""
    text = drawing(FRAMES, 20, "a")
    assert "g{visibility:hidden}#f1{visibility:visible}" in text
    assert text.index("prefers-reduced-motion:no-preference") < text.index("@keyframes k0")


def test_characters_have_their_places_and_colors() -> None:
    """A run starts at its column and is as wide as its characters. Markup in it is text."""
    root = ET.fromstring(drawing(FRAMES, 20, "a < b"))  # noqa: S314 -- the text is the test's own
    texts = list(root.iter(f"{SVG}text"))
    assert [element.text for element in texts] == ["$ a < b", "ok", "stopped", "end"]
    assert [element.get("class") for element in texts] == [None, "green", "red b", None]
    assert [element.get("textLength") for element in texts] == ["56", "16", "56", "24"]
    assert [float(element.get("x")) - float(texts[0].get("x")) for element in texts] == [0, 16, 48, 0]
    assert root.findtext(f"{SVG}title") == "a < b"


def test_both_themes_have_every_color() -> None:
    """The dark theme has other colours than the light one, with the same names."""
    light, dark = re.findall(r":root\{(.*?)\}", drawing(FRAMES, 20, "a"))
    names = [[each.split(":")[0] for each in theme.split(";")] for theme in (light, dark)]
    assert names[0] == names[1]
    assert not set(light.split(";")) & set(dark.split(";"))


def test_the_picture_of_the_documentation_is_small_and_self_contained() -> None:
    """The picture has less than 1 MB, no script and no external resource."""
    text = PICTURE.read_text("utf-8")
    assert len(text.encode()) < 1_000_000
    assert "<script" not in text
    assert not re.search(r"(?:href|src|url)\b", text.replace('xmlns="http://www.w3.org/2000/svg"', ""))


def test_the_picture_shows_the_current_groups_and_faults() -> None:
    """The picture has every group of the demo, and at least three faults that the demo's table expects."""
    root = ET.fromstring(PICTURE.read_text("utf-8"))  # noqa: S314 -- a file of the repository
    shown = {element.text.strip() for element in root.iter(f"{SVG}text") if element.text}
    words = " ".join(shown)
    assert [group.name for group in DEMO_GROUPS if f" {group.name} " not in words] == []
    faults = {verdict.replace("_", " ") for group in DEMO_GROUPS for verdict in group.verdicts} - {"ok", "caught up"}
    assert len(faults & shown) >= 3
    assert any(text.startswith("demo: ") and "agree with the official tool" in text for text in shown)
