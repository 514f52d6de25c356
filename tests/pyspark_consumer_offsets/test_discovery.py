"""PySpark's search for data sources among the installed packages."""

import subprocess
import sys

_LOOKUP = """
import sys, pyspark.sql.worker.lookup_data_sources as lookup
lookup.write_int = lookup.write_with_length = lambda *_: None
lookup.pickleSer._write_with_length = lambda source, _: print(source.name())
lookup._main(None, None)
print(*sys.modules)
"""


def test_pyspark_finds_the_data_source_and_loads_little() -> None:
    """The first query with any Python data source imports the package: neither the Kafka client nor the decoders."""
    found, *loaded = subprocess.check_output([sys.executable, "-c", _LOOKUP], text=True).split()
    assert found == "consumer_offsets"
    assert not {"kafka", "pydantic", "decoders"} & set(loaded)
