"""Recognises generated group names, such as those with a UUID or a random suffix, and returns their patterns."""

from __future__ import annotations

import re
from typing import Final

WILDCARD: Final = "*"
"""Stands in a pattern for the generated parts of a name."""

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_POD: Final = re.compile(r"-[0-9a-f]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
"""The suffix of a pod of a Kubernetes Deployment: the hash of its template, and five random characters."""
_CONSOLE: Final = re.compile(r"\Aconsole-consumer-[0-9]+\Z")
"""Kafka's console consumer: a random number below 100,000."""
_PART: Final = re.compile(r"[0-9A-Za-z]+")
_NUMBER: Final = re.compile(r"[1-9][0-9]{4,}")
_HEXADECIMAL: Final = re.compile(r"(?=.*[0-9])(?:[0-9a-f]{8,}|[0-9A-F]{8,})")
_LETTERS_AND_DIGITS: Final = re.compile(r"[0-9]+|[A-Za-z]+")
_MIXED_LENGTH: Final = 5
_MIXED_RUNS: Final = 4
_REPEATED: Final = re.compile(r"\*(?:[-_.:]?\*)+")


def pattern_of(name: str) -> str | None:
    """Return the name with `*` for its generated parts, or None if it has none.

    Generated are: a UUID; the suffix of a Kubernetes pod; the number of a console consumer; and between characters
    other than letters and digits, a number of five digits or more that does not begin with 0, eight or more
    hexadecimal digits of which one is decimal, and five or more characters that change at least three times between
    letters and digits.
    """
    if _CONSOLE.match(name):
        return f"console-consumer-{WILDCARD}"
    text = _POD.sub(f"-{WILDCARD}", _UUID.sub(WILDCARD, name))
    pattern = _PART.sub(lambda part: WILDCARD if _is_generated(part[0]) else part[0], text)
    return None if pattern == name else _REPEATED.sub(WILDCARD, pattern)


def _is_generated(part: str) -> bool:
    if _NUMBER.fullmatch(part) or _HEXADECIMAL.fullmatch(part):
        return True
    return len(part) >= _MIXED_LENGTH and len(_LETTERS_AND_DIGITS.findall(part)) >= _MIXED_RUNS
