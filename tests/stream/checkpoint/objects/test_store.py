"""Tests of the client of an object store: conditional writes, and errors as those of files."""

import pytest
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from sandbox.ports import LOOPBACK, free_port
from stream.checkpoint.objects import store
from stream.checkpoint.objects.store import ConditionFailedError, ObjectStore, StoreUnavailableError


def test_conditional_writes(bucket: ObjectStore) -> None:
    """An object is written once if absent, and replaced if unchanged; another condition fails and changes nothing."""
    first = bucket.write_if_absent("lock", b"one")
    with pytest.raises(ConditionFailedError):
        bucket.write_if_absent("lock", b"two")
    assert bucket.read("lock") == b"one"
    second = bucket.write_if_unchanged("lock", b"two", first)
    assert bucket.read_version("lock") == (b"two", second)
    with pytest.raises(ConditionFailedError):
        bucket.write_if_unchanged("lock", b"three", first)
    assert bucket.read("lock") == b"two"


def test_missing_object_is_a_missing_file(bucket: ObjectStore) -> None:
    """Reading and conditional replacing of a missing object raise FileNotFoundError. Its information is None."""
    with pytest.raises(FileNotFoundError, match="s3a://kafka-state/none does not exist"):
        bucket.read("none")
    with pytest.raises(FileNotFoundError):
        bucket.write_if_unchanged("none", b"", '"etag"')
    assert bucket.info("none") is None


def test_missing_bucket_is_no_missing_file(bucket: ObjectStore) -> None:
    """Reads, lists and writes in a missing bucket raise StoreUnavailableError."""
    elsewhere = ObjectStore("nowhere", region="us-east-1")
    for call in (lambda: elsewhere.read("x"), lambda: elsewhere.list("x"), lambda: elsewhere.write("x", b"")):
        with pytest.raises(StoreUnavailableError, match="the bucket nowhere does not exist"):
            call()
    assert bucket.list("") == {}


def test_missing_credentials_raise_a_permission_error(bucket: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read without credentials from variables, files or an instance raises PermissionError."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(PermissionError, match="no usable AWS credentials"):
        ObjectStore(bucket.bucket, region="us-east-1").read("x")


def test_unreachable_store_is_no_missing_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store at an unused port raises StoreUnavailableError."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    url = f"http://{LOOPBACK}:{free_port()}"
    with pytest.raises(StoreUnavailableError, match=f'Could not connect to the endpoint URL: "{url}/b/x"'):
        ObjectStore("b", url, "us-east-1").info("x")


def test_more_objects_than_a_response_has_are_listed(bucket: ObjectStore) -> None:
    """All 1003 objects are listed although a response has at most 1000. A limit is respected."""
    kept = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]
    for number in range(1003):
        kept.put_object(bucket.bucket, f"x/{number:04}", b"1")
    bucket.write("y", b"1")
    assert [*bucket.list("x/")] == [f"x/{number:04}" for number in range(1003)]
    assert len(bucket.list("x/", 2)) == 2


def test_an_answer_without_a_message_is_named_by_its_code() -> None:
    """The code stands alone if the store says no more than that."""
    for error in ({"Code": "SlowDown"}, {"Code": "SlowDown", "Message": "SlowDown"}):
        answer = {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 503}}
        assert str(store._of_response(answer, "b", "x")).endswith("the object store answers SlowDown")
