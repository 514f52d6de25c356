"""The pages for a person with a browser: `/` shows the fleet, `/group?name=…` one group. HTML and CSS, no script.

Everything that comes from the cluster is a name somebody chose, so all of it is escaped, characters that do not print
are made visible, and writing direction cannot leak out of a name (`exporters.page.words`).
"""

from __future__ import annotations

from exporters.page.fleet import ROWS, render_page
from exporters.page.group import Page, render_group_page
from exporters.page.templates import stylesheet

__all__ = ["ROWS", "Page", "render_group_page", "render_page", "stylesheet"]
