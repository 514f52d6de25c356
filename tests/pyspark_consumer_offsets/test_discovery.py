"""PySpark's search for data sources among the installed packages."""

import subprocess
import sys
from typing import Final

_LOOKUP: Final = """
import sys, pyspark.sql.worker.lookup_data_sources as lookup
found, before = [], set(sys.modules)
lookup.write_int = lambda number, file: None
lookup.write_with_length = lambda name, file: found.append(name.decode())
lookup.pickleSer._write_with_length = lambda source, file: found.append(source.__name__)
lookup._main(None, None)
print(*found, *sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def test_pyspark_finds_the_data_source_and_loads_little() -> None:
    """The first query with any Python data source imports the package: neither the Kafka client nor the decoders."""
    answer = subprocess.run([sys.executable, "-c", _LOOKUP], check=True, capture_output=True, text=True).stdout.split()
    assert answer[:2] == ["consumer_offsets", "ConsumerOffsets"]
    assert not {"kafka", "pydantic", "decoders"} & set(answer)
