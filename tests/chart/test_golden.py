"""The default render, compared word by word: a change affects everyone who upgrades, and the diff shows it."""

import os
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.chart.rendering import case, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

GOLDEN: Final = Path(__file__).parent / "golden" / "default.yaml"


def test_the_default_render_is_the_golden_one() -> None:
    """The objects for minimal values equal the golden file."""
    rendered = yaml.safe_dump_all(render(case("minimal")).objects, sort_keys=True)
    if os.environ.get("LAGWARDEN_GOLDEN") == "write":
        GOLDEN.write_text(rendered)
    assert rendered == GOLDEN.read_text(), "write it again with LAGWARDEN_GOLDEN=write and check the difference"
