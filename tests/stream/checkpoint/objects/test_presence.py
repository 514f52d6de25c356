"""Tests of the detection of a deleted or replaced checkpoint in an object store."""

import pytest

from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import ObjectStore, StoreUnavailableError
from stream.checkpoint.storage_watch import ObjectPresence


class Polled:
    """A presence that polls the store at every call of `lost`."""

    def __init__(self, root: ObjectPath) -> None:
        self.now = 0.0
        self.presence = ObjectPresence(root, lambda: self.now)

    def lost(self) -> str | None:
        """Check again, ten seconds later."""
        self.now += 10.0
        return self.presence.lost()


@pytest.fixture
def polled(root: ObjectPath) -> Polled:
    for name in ("lagwarden.json", "spark/metadata"):
        (root / name).write_bytes(b"{}")
    polled = Polled(root)
    assert polled.lost() is None
    return polled


def test_deleted_manifest_is_named(root: ObjectPath, polled: Polled) -> None:
    """A new object of Spark is no loss. The loss of the manifest is found at the next poll, not before."""
    (root / "spark" / "offsets" / "1").write_bytes(b"v1")
    assert polled.lost() is None
    (root / "lagwarden.json").unlink()
    assert polled.presence.lost() is None
    assert polled.lost() == "s3a://kafka-state/team/lagwarden/lagwarden.json was deleted"


def test_replaced_metadata_is_named(root: ObjectPath, polled: Polled) -> None:
    """Metadata that another query has written are reported as replaced."""
    (root / "spark" / "metadata").write_bytes(b'{"id": "other"}')
    assert polled.lost() == "s3a://kafka-state/team/lagwarden/spark/metadata was replaced"


def test_objects_of_a_new_checkpoint_are_watched_once_they_exist(root: ObjectPath) -> None:
    """Metadata written after the first check are no loss, and their later deletion is reported."""
    polled = Polled(root)
    assert polled.lost() is None
    (root / "spark" / "metadata").write_bytes(b"{}")
    assert polled.lost() is None
    (root / "spark" / "metadata").unlink()
    assert "was deleted" in str(polled.lost())


def test_checkpoint_that_was_set_aside_is_no_loss(root: ObjectPath, polled: Polled) -> None:
    """No loss is reported after `close`, because later objects are those of the next checkpoint."""
    polled.presence.close()
    (root / "spark" / "metadata").write_bytes(b'{"id": "next"}')
    assert polled.lost() is None


def test_store_that_is_away_is_no_loss(polled: Polled, monkeypatch: pytest.MonkeyPatch) -> None:
    """No loss is reported while the store does not answer."""

    def away(*_: object) -> None:
        raise StoreUnavailableError(113, "no route")

    monkeypatch.setattr(ObjectStore, "info", away)
    assert polled.lost() is None
