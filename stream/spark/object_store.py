"""A checkpoint in an object store: the settings of Spark, the jars of Hadoop's S3 client, and the credentials.

The jars are no part of PySpark. Imports no PySpark: the JVM starts before it.
"""

import dataclasses
from pathlib import Path
from typing import Any, Final

from stream.errors import ExitCode, Refusal
from stream.spark.java import spark_home

_CLOUD: Final = "spark-hadoop-cloud_*.jar"
_ADVICE: Final = "fetch the jars as docs/object-store.md says, and set checkpoint.s3_jars to their folder"
_FILE_MANAGER: Final = "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
_CREDENTIALS: Final = ("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token")


def find_jars(folder: Path) -> tuple[Path, ...]:
    """Return the jars of a folder in name order. Raises Refusal if Hadoop's client is missing or of another version."""
    (api,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    client = f"hadoop-aws-{api.stem.removeprefix('hadoop-client-api-')}.jar"
    jars = tuple(sorted(folder.glob("*.jar")))
    missing = [name for name in (client, _CLOUD) if not any(jar.match(name) for jar in jars)]
    if missing:
        raise Refusal(f"checkpoint.s3_jars: {folder} has no {missing[0]}", _ADVICE, ExitCode.CHECKPOINT_UNUSABLE)
    return jars


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectStorage:
    """The object store of the checkpoint. `endpoint` None: that of AWS; `region` None: Hadoop finds it."""

    jars: tuple[Path, ...]
    endpoint: str | None
    region: str | None


def storage_settings(storage: ObjectStorage, folder: Path | None) -> dict[str, str]:
    """Return the settings of a session by name; `folder` is the driver's for temporary files."""
    hadoop = {
        "endpoint": storage.endpoint,
        "endpoint.region": storage.region,
        "path.style.access": None if storage.endpoint is None else "true",
        "connection.ssl.enabled": "false" if (storage.endpoint or "").startswith("http:") else "true",
        # The chain of botocore: environment, web identity, container, instance. Hadoop's own has no web identity.
        "aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        # With Hadoop's 30 s and 5 attempts, a store that is away would be noticed after minutes.
        "connection.establish.timeout": "5s",
        "connection.timeout": "30s",
        "attempts.maximum": "3",
        "retry.limit": "4",
        # Saves a round trip per object: most objects are small.
        "connection.expect.continue": "false",
        "buffer.dir": None if folder is None else str(folder / "s3a"),
    }
    return {
        # A file becomes visible when it is complete, by one write. The file manager of directories writes a draft and
        # renames it, which is a copy here (SPARK-40039).
        "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
        **{f"spark.hadoop.fs.s3a.{name}": value for name, value in hadoop.items() if value is not None},
    }


def executor_jars(storage: ObjectStorage, further: str = "") -> dict[str, str]:
    """Return the setting with which executors fetch the jars from the driver, in addition to `further` ones."""
    return {"spark.jars": ",".join([*filter(None, [further]), *map(str, storage.jars)])}


def forget_credentials(context: Any) -> None:
    """Remove the credentials that Spark copied from the environment into Hadoop's configuration.

    Spark sends this configuration to executors with each task, and prints it on request; the client reads the
    environment itself. `context` is the SparkContext of the JVM (`SparkHadoopUtil.appendS3CredentialsFromEnvironment`).
    """
    configuration = context.hadoopConfiguration()
    for name in _CREDENTIALS:
        configuration.unset(name)
