"""Bytes as the text that Java makes of them: UTF-8 in which nothing is refused.

Python and Java put U+FFFD for malformed bytes by the same rule but for one case: an encoded surrogate (ED A0 80 to
ED BF BF, whole or without its last byte) is one replacement in Java and one per byte in Python. Compared with
`new String(bytes, UTF_8)` of Java 17 on 700,000 sequences of up to four bytes.
"""

from __future__ import annotations

import re
from typing import Final

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
# A byte that never occurs in UTF-8, so that both languages replace it by one character.
_NEVER: Final = b"\xff"


def java_text(data: bytes) -> str:
    """Decode as `new String(data, UTF_8)` does."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_NEVER, data).decode("utf-8", "replace")
