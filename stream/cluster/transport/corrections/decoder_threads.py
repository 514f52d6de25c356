"""Compiles the decoder of a response in one thread at a time.

Symptom: kafka-python compiles a decoder at its first use, and replaces the data class of the response meanwhile. If two
clients compile the same one at once, the decoder that stays can raise "TypeError: not a type object" for each response.
"""

import threading
from typing import Any, Final

from kafka.protocol.schemas.fields.struct import StructField

_COMPILING: Final = threading.RLock()
_decoder_of_library: Final = StructField.compiled_decode_from


def decoder(struct: Any, *args: Any, **options: Any) -> Any:
    """Return the decoder of a response, compiled at its first use by one thread at a time."""
    with _COMPILING:
        return _decoder_of_library(struct, *args, **options)


def install() -> None:
    """Replace the method of the library, for all clients of the process. Idempotent."""
    StructField.compiled_decode_from = decoder
