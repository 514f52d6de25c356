"""The numbers behind a verdict, with the words and units in which people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporters.page.nodes import Element, el
from exporters.page.words import UNKNOWN, ago, duration, number, phrase, printable, rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporters.page.nodes import Content
