"""Tables of stories: a row has the arguments of a function and, last, the expected result."""

from collections.abc import Callable, Mapping
from typing import Any


def wrong(table: Mapping[str, tuple[Any, ...]], function: Callable[..., Any]) -> list[str]:
    """Return a sentence for each row whose last value is not the result of the function for its other values."""
    found = {story: function(*row[:-1]) for story, row in table.items()}
    return [f"{story}: {found[story]!r}, not {row[-1]!r}" for story, row in table.items() if found[story] != row[-1]]
