"""Tests of the options of a checkpoint in an object store."""

from typing import Final

import pytest

from stream.config.loader import ConfigRefusal, load
from stream.config.object_address import ObjectAddress

SERVERS: Final = {"kafka.bootstrap_servers": "b:9092"}
STORE: Final = {"checkpoint.dir": "s3a://bucket/a/b", "checkpoint.s3_jars": "/jars"}


def test_address_has_a_bucket_and_a_path() -> None:
    """A slash at the end of an address is ignored."""
    address = ObjectAddress.parse("s3a://kafka-state/team/lagwarden/")
    assert (address.bucket, address.path) == ("kafka-state", "team/lagwarden")
    assert str(address) == "s3a://kafka-state/team/lagwarden"


def test_address_without_bucket_or_path_is_refused() -> None:
    """An address needs a path, because a checkpoint is not a whole bucket."""
    for text in ("s3a://", "s3a://bucket", "s3a://bucket/", "s3a:///x", "s3a://b/x", "s3a://BUCKET/x"):
        with pytest.raises(ConfigRefusal, match=f"{text}' must be s3a://BUCKET/PATH"):
            load(flags={**SERVERS, "checkpoint.dir": text, "checkpoint.s3_jars": "/jars"})


def test_address_that_hadoop_reads_differently_is_refused() -> None:
    """An address must name the same objects for the process and for Hadoop."""
    for text in ("s3a://bucket/a//b", "s3a://bucket/a b", "s3a://bucket/a?b", "s3a://bucket/../b"):
        with pytest.raises(ValueError, match="must"):
            ObjectAddress.parse(text)


# Per row: the options and a part of the error.
REFUSED: Final[list[tuple[dict[str, str], str]]] = [
    ({"checkpoint.dir": "s3a://bucket/a"}, "checkpoint.s3_jars.*is required with s3a://bucket/a: fetch the jars"),
    ({"checkpoint.dir": "/x", "checkpoint.s3_jars": "/jars"}, "s3_jars.*has no effect with a directory"),
    ({"checkpoint.s3_endpoint": "http://h:9000"}, "s3_endpoint.*has no effect with a directory"),
    ({"checkpoint.s3_region": "eu-west-1"}, "s3_region.*has no effect with a directory"),
    ({**STORE, "checkpoint.shared": "true"}, "shared.*has no effect with s3a://bucket/a/b.*remove it"),
    ({**STORE, "checkpoint.s3_endpoint": "minio:9000"}, "must be a URL such as https://minio.example.com:9000"),
    ({**STORE, "checkpoint.s3_endpoint": "http://u:p@minio:9000"}, "without user name, password"),
    ({**STORE, "webhook.url": "https://hooks"}, "webhook.url.*needs a checkpoint in a directory for its queue"),
    ({**STORE, "job.spark_options": "spark.hadoop.fs.s3a.secret.key=x"}, "is set by the environment of the process"),
    ({**STORE, "job.spark_options": "spark.hadoop.fs.s3a.endpoint=x"}, "is set by checkpoint.s3_endpoint"),
]


def test_wrong_combinations_are_refused_with_what_to_do() -> None:
    """`check-config` and `run` refuse options that could not work together, or would have no effect."""
    for flags, advice in REFUSED:
        with pytest.raises(ConfigRefusal, match=advice):
            load(flags={**SERVERS, **flags})
