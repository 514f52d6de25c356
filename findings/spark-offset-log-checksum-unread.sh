#!/usr/bin/env bash
# Spark continues a query from an offset log that no longer matches the checksums beside it.
#
# Guess: Spark writes `.N.crc` beside each file of its offset log through Hadoop, and Hadoop refuses a file that does not
#   match. So a changed or half-restored `offsets/N` fails the start of the query.
# Seen (pyspark 4.3.0, Java 17, local file system): Hadoop's own reader does refuse the file; the query reads it, continues
#   from the changed offset and ends without an error. The rows in between are missing from the output for ever.
# Why it matters: these files look like a protection of the position, and are none. A damaged disk, or a backup restored over
#   a running checkpoint, becomes a silent gap. A monitor that stores positions there must compare them itself.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
cat >"$work/query.py" <<'PYTHON'
import json
import pathlib
import sys
import time

from pyspark.sql import SparkSession

work = pathlib.Path(sys.argv[1])
checkpoint, rows = work / "checkpoint", work / "rows"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def newest(folder):
    return max((int(path.name) for path in (checkpoint / folder).glob("[0-9]*")), default=-1)


def run(batches):
    """Run the query until it has ended this many further batches; return its error, or None."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().select("value")
    goal = newest("commits") + batches
    query = source.writeStream.format("csv").option("checkpointLocation", str(checkpoint)).start(str(rows))
    try:
        for _ in range(1200):
            if newest("commits") >= goal or not query.isActive:
                break
            time.sleep(0.1)
        return query.exception()
    finally:
        query.stop()


def hadoop_reads(file):
    jvm = spark._jvm
    stream = jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).open(jvm.org.apache.hadoop.fs.Path(str(file)))
    try:
        while stream.read() >= 0:
            pass
    except Exception as error:
        return "refused" if "ChecksumException" in str(error) else str(error)
    finally:
        stream.close()
    return "read"


assert run(3) is None
last = newest("commits")
for planned in (checkpoint / "offsets").glob(f"*{last + 1}*"):  # the stop may have come in the middle of a batch
    planned.unlink()
file = checkpoint / "offsets" / str(last)
assert file.with_name(f".{last}.crc").exists(), "Spark writes no checksum any more"
print("untouched, Hadoop's reader:", hadoop_reads(file))
*head, position = file.read_text().splitlines()
position = json.loads(position)
position["offset"] += 1000
file.write_text("\n".join([*head, json.dumps(position)]))
print("changed, Hadoop's reader:", hadoop_reads(file))
error = run(1)
print("changed, Spark's query:", "continued" if error is None else "failed")
values = {int(row.value) for row in spark.read.schema("value long").csv(str(rows)).collect()}
print("rows that are missing for ever:", len(set(range(max(values) + 1)) - values))
PYTHON
"$work/venv/bin/python" "$work/query.py" "$work" 2>"$work/log" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/log"; exit 1; }
untouched, Hadoop's reader: read
changed, Hadoop's reader: refused
changed, Spark's query: continued
rows that are missing for ever: 1000
TEXT
