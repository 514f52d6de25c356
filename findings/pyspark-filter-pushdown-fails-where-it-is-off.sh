#!/usr/bin/env bash
# A Python data source that offers filter pushdown fails every query where pushdown is off, and off is the default.
#
# Guess: `DataSourceReader.pushFilters` is an optimisation. While spark.sql.python.filterPushdown.enabled is off, Spark does
#   not call it and evaluates the filters itself, as for sources in Java; a query without a filter has nothing to push.
# Seen (pyspark 4.3.0): the reader's class decides. Overriding the method fails the query before any row is read, with
#   DATA_SOURCE_PUSHDOWN_DISABLED, also without a filter. An attribute of the same name on the instance that looks like the
#   base class's method passes, and is called where the setting is on.
# Why it matters: a library cannot override the method as documented: with it, its users cannot read one row before they
#   change a setting of the session that they do not know.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 pyarrow==26.0.1 pandas==2.3.3
cat >"$work/query.py" <<'PYTHON'
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


class PlainReader(DataSourceReader):
    def read(self, partition):
        yield from ((number,) for number in range(10))


class PushingReader(PlainReader):
    def pushFilters(self, filters):
        return filters  # all of them are left to Spark


class Plain(DataSource):
    reader_class = PlainReader

    @classmethod
    def name(cls):
        return cls.__name__.lower()

    def schema(self):
        return "number int"

    def reader(self, schema):
        return self.reader_class()


class Pushing(Plain):
    reader_class = PushingReader


def rows(source, condition):
    try:
        return len(spark.read.format(source.name()).load().where(condition).collect())
    except Exception as error:
        return "DATA_SOURCE_PUSHDOWN_DISABLED" if "DATA_SOURCE_PUSHDOWN_DISABLED" in str(error) else repr(error)


for source in (Plain, Pushing):
    spark.dataSource.register(source)
for setting in ("default", "true"):
    if setting != "default":
        spark.conf.set("spark.sql.python.filterPushdown.enabled", setting)
    for source in (Plain, Pushing):
        print(f"{setting}, {source.name()}: filter {rows(source, 'number = 3')}, no filter {rows(source, 'true')}")
PYTHON
PYSPARK_PYTHON="$work/venv/bin/python" "$work/venv/bin/python" "$work/query.py" 2>"$work/log" | tee "$work/seen"
diff "$work/seen" - <<'TEXT' || { tail -20 "$work/log"; exit 1; }
default, plain: filter 1, no filter 10
default, pushing: filter DATA_SOURCE_PUSHDOWN_DISABLED, no filter DATA_SOURCE_PUSHDOWN_DISABLED
true, plain: filter 1, no filter 10
true, pushing: filter 1, no filter 10
TEXT
