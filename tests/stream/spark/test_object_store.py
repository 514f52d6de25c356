"""A checkpoint in an object store: the jars of Hadoop's S3 client, Spark's settings and the credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.kafka.jars import checksums
from stream.config.spark_options import FIXED, REPLACED
from stream.errors import ExitCode, Refusal
from stream.spark.object_store import ObjectStorage, executor_jars, find_jars, forget_credentials, storage_settings

JARS = (Path("/jars/a.jar"), Path("/jars/b.jar"))


def test_pinned_jars_are_those_of_the_hadoop_in_pyspark(tmp_path: Path) -> None:
    """The pinned jars match the Hadoop release of the installed PySpark, so the check finds all of them."""
    for name in checksums("s3a"):
        (tmp_path / name).touch()
    assert find_jars(tmp_path) == tuple(sorted(tmp_path / name for name in checksums("s3a")))


def test_missing_jar_is_refused_by_name(tmp_path: Path) -> None:
    """The refusal names the missing jar and the page with the download."""
    for missing in ("hadoop-aws-", "spark-hadoop-cloud_"):
        folder = tmp_path / missing
        folder.mkdir()
        for name in checksums("s3a"):
            if not name.startswith(missing):
                (folder / name).touch()
        with pytest.raises(Refusal, match=f"{folder} has no {missing}.*docs/object-store.md") as refused:
            find_jars(folder)
        assert refused.value.code == ExitCode.CHECKPOINT_UNUSABLE


def test_endpoint_of_aws_is_not_set() -> None:
    """Neither an endpoint nor path-style access is set for AWS, and TLS is on.

    Spark uses the checkpoint file manager that writes without a rename, which is a copy in an object store.
    """
    settings = storage_settings(ObjectStorage(JARS, None, None), None)
    manager = settings["spark.sql.streaming.checkpointFileManagerClass"]
    assert manager == "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
    assert not [name for name in settings if "endpoint" in name or "path.style" in name]
    assert settings["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "true"


def test_endpoint_of_another_store_is_set() -> None:
    """Endpoint, region, path-style access and the buffer folder are set. TLS is off for an HTTP address."""
    settings = storage_settings(ObjectStorage(JARS, "http://minio:9000", "us-east-1"), Path("/spare"))
    assert {name.removeprefix("spark.hadoop.fs.s3a."): value for name, value in settings.items()}.items() >= {
        "endpoint": "http://minio:9000",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "buffer.dir": "/spare/s3a",
    }.items()


def test_no_setting_is_a_credential() -> None:
    """The settings are printed and sent to executors, so they only name the class that finds credentials."""
    settings = storage_settings(ObjectStorage(JARS, "http://minio:9000", "us-east-1"), None)
    names = [name for name in settings if any(word in name for word in ("key", "secret", "token", "credential"))]
    assert names == ["spark.hadoop.fs.s3a.aws.credentials.provider"]


def test_settings_of_users_do_not_replace_those_of_the_store() -> None:
    """`job.spark_options` refuses the settings of the store's address and login."""
    own = {"endpoint", "endpoint.region", "path.style.access", "connection.ssl.enabled", "aws.credentials.provider"}
    assert {f"spark.hadoop.fs.s3a.{name}" for name in own} <= REPLACED.keys()
    assert "spark.sql.streaming.checkpointFileManagerClass" in FIXED


def test_jars_are_added_to_those_of_the_user() -> None:
    """`spark.jars` has the jars of the user and then those of the store."""
    storage = ObjectStorage(JARS, None, None)
    assert executor_jars(storage) == {"spark.jars": "/jars/a.jar,/jars/b.jar"}
    assert executor_jars(storage, "/x.jar") == {"spark.jars": "/x.jar,/jars/a.jar,/jars/b.jar"}


class Context:
    """The SparkContext and its Hadoop configuration."""

    def __init__(self) -> None:
        self.values = {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b", "fs.s3a.session.token": "c", "fs.other": "d"}

    def hadoopConfiguration(self) -> Context:  # noqa: N802 -- the name in Java
        return self

    def unset(self, name: str) -> None:
        del self.values[name]


def test_credentials_that_spark_copied_are_removed() -> None:
    """The credentials are removed from the Hadoop configuration, and all other values are kept."""
    context = Context()
    forget_credentials(context)
    assert context.values == {"fs.other": "d"}
