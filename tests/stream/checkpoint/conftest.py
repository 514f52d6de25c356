"""Fixtures of tests with an object store in the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from moto import mock_aws

from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def bucket() -> Iterator[ObjectStore]:
    """Return a store with an empty bucket, which moto keeps in memory."""
    with mock_aws():
        store = ObjectStore("kafka-state", region="us-east-1")
        store._client.create_bucket(Bucket="kafka-state")
        yield store


@pytest.fixture
def root(bucket: ObjectStore) -> ObjectPath:
    return ObjectPath(bucket, "team/lagwarden")
