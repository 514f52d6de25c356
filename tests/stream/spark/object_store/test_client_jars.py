"""Tests of the check of the jars of Hadoop's S3 client."""

from pathlib import Path

import pytest

from sandbox.kafka.jars import checksums
from stream.errors import ExitCode, Refusal
from stream.spark.object_store.client_jars import find_jars


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
