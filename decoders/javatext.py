"""Decodes UTF-8 as Java does: malformed bytes are replaced and never refused.

Python and Java replace malformed bytes by U+FFFD under the same rule, except for one case: an encoded surrogate (ED A0
80 to ED BF BF, complete or without its last byte) is one replacement in Java and one per byte in Python. Compared with
`new String(bytes, UTF_8)` of Java 17 on 700,000 sequences of up to four bytes.
"""

import re
from typing import Final

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
# This byte never occurs in UTF-8, so both languages replace it by one character.
_INVALID_BYTE: Final = b"\xff"


def java_text(data: bytes) -> str:
    """Return the text that `new String(data, UTF_8)` gives."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_INVALID_BYTE, data).decode("utf-8", "replace")
