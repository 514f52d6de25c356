"""What users enter as text: keys and values in hexadecimal or base64, one pair per line, times, and time ranges."""

import base64
import binascii
import dataclasses
import datetime as dt
import enum
from collections.abc import Iterable, Iterator
from typing import Final

from stream.offline.rows import LogRow

_NULLS: Final = frozenset({"", "-", "null", "NULL"})


class Encoding(enum.StrEnum):
    """The encoding of bytes. `auto`: hexadecimal if the text is valid hexadecimal, else base64."""

    AUTO = "auto"
    HEX = "hex"
    BASE64 = "base64"


def parse_bytes(text: str, encoding: Encoding = Encoding.AUTO) -> bytes | None:
    """Parse bytes; an empty text, `-` and `null` are None. Raises ValueError.

    Base64 may be URL-safe and without padding.
    """
    if text in _NULLS:
        return None
    if encoding is not Encoding.BASE64:
        try:
            return bytes.fromhex(text.removeprefix("0x").replace(":", ""))
        except ValueError:
            if encoding is Encoding.HEX:
                raise ValueError(f"{_short(text)} is not hexadecimal") from None
    try:
        plain = text.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        problem = "not base64" if encoding is Encoding.BASE64 else "neither hexadecimal nor base64"
        raise ValueError(f"{_short(text)} is {problem}") from None


def parse_pairs(lines: Iterable[str], topic: str, encoding: Encoding) -> Iterator[LogRow | str]:
    """Yield a row per line with a key and a value, separated by blanks, or an error message. A missing value is null.

    The offset of a row is the number of its line, from 0. Empty lines are skipped.
    """
    for number, line in enumerate(lines):
        words = line.split()
        if not words:
            continue
        if len(words) > 2:
            yield f"line {number + 1}: {len(words)} words instead of a key and a value"
            continue
        try:
            key, value = (parse_bytes(word, encoding) for word in [*words, "-"][:2])
        except ValueError as error:
            yield f"line {number + 1}: {error}"
            continue
        yield LogRow(topic, 0, number, None, key, value)


def parse_time(text: str) -> int:
    """Parse a time as Unix milliseconds; without a time zone it is in UTC. Raises ValueError for other formats."""
    try:
        if text.lstrip("-").isdecimal():
            return int(text)
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither ISO 8601, such as 2026-01-31T09:30, nor Unix milliseconds") from None
    with_zone = time if time.tzinfo else time.replace(tzinfo=dt.UTC)
    return round(with_zone.timestamp() * 1000)


@dataclasses.dataclass(frozen=True, slots=True)
class TimeRange:
    """The times from `start` to before `end`, in Unix ms. None: no limit."""

    start: int | None = None
    end: int | None = None

    def contains(self, timestamp: int | None) -> bool:
        """Return whether a timestamp is in the range; None is only in the range without limits."""
        if timestamp is None:
            return self.start is None and self.end is None
        return (self.start is None or timestamp >= self.start) and (self.end is None or timestamp < self.end)

    def filter(self, rows: Iterable[LogRow]) -> Iterator[LogRow]:
        """Return the rows with a timestamp in the range."""
        return (row for row in rows if self.contains(row.timestamp))


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
