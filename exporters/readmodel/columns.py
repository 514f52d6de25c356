"""Column types of all tables of the read model, and empty tables."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

NAME: Final = pa.dictionary(pa.int32(), pa.string())
TIMESTAMP: Final = pa.timestamp("ms")


def empty(schema: pa.Schema) -> pa.Table:
    """Return a table with this schema and no rows."""
    return schema.empty_table()
