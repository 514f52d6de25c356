"""The jars of Hadoop's S3 client, which are no part of PySpark. Imports no PySpark: the JVM starts before it."""

from pathlib import Path
from typing import Final

from stream.errors import ExitCode, Refusal
from stream.spark.java import spark_home

_CLOUD: Final = "spark-hadoop-cloud_*.jar"
_ADVICE: Final = "fetch the jars as docs/object-store.md says, and set checkpoint.s3_jars to their folder"


def find_jars(folder: Path) -> tuple[Path, ...]:
    """Return the jars of a folder in name order. Raises Refusal if Hadoop's client is missing or of another version."""
    (api,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    client = f"hadoop-aws-{api.stem.removeprefix('hadoop-client-api-')}.jar"
    jars = tuple(sorted(folder.glob("*.jar")))
    missing = [name for name in (client, _CLOUD) if not any(jar.match(name) for jar in jars)]
    if missing:
        raise Refusal(f"checkpoint.s3_jars: {folder} has no {missing[0]}", _ADVICE, ExitCode.CHECKPOINT_UNUSABLE)
    return jars
