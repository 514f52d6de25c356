"""The names of modules in the wheel."""

import pytest

from deploy.release.wheel_names import with_names

MODULES = {"stream", "stream.errors", "stream.spark", "exporters.page"}
SAME = (
    "import streams, upstream.errors\nfrom streams import errors",
    "from . import errors",
    "from stream.unknown import x",
    "stream = open(name)\nstream.read()",
    'word = "stream"',
    '"""Reads stream.errors, and so on."""',
)
CHANGED = {
    "from stream import errors": "from lagwarden.stream import errors",
    "if True:\n    from stream.errors import (\n        Refusal,\n    )": (
        "if True:\n    from lagwarden.stream.errors import (\n        Refusal,\n    )"
    ),
    "import os, stream.spark\n": "import os, lagwarden.stream.spark\n",
    "import stream.errors as stream; stream.x": "import lagwarden.stream.errors as stream; stream.x",
    'é = "é", "stream.spark"': 'é = "é", "lagwarden.stream.spark"',
}
REFUSED = {
    "import stream.errors\n\nstream.errors.x": "line 3: stream is used by its name",
    'x = r"stream.errors"': "line 1: the name stream.errors is not where it is expected",
    "x = 'stream.' 'errors'": "line 1: the name stream.errors is not where it is expected",
    "from  stream import errors": "line 1: the name stream is not where it is expected",
}


def test_imports_and_names_of_modules_are_changed_and_nothing_else() -> None:
    """Only whole names of known modules are changed, where they are imported or a string."""
    for source, changed in {**{text: text for text in SAME}, **CHANGED}.items():
        assert with_names(source.encode(), MODULES).decode() == changed


def test_a_form_that_is_not_known_ends_the_build() -> None:
    """The error has the line."""
    for source, error in REFUSED.items():
        with pytest.raises(ValueError, match=error):
            with_names(source.encode(), MODULES)
