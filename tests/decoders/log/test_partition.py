"""Whole partitions: files of the log, transactions, damage, and both readers of records."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log import partition as partition_module
from decoders.log.batch import RecordBatch
from decoders.log.control import BatchOutcome
from decoders.log.errors import LogError, LogFault
from decoders.log.partition import PartitionDirectory, PartitionLog, list_segments, read_directory
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED, opened, partition, simple_batches


def data(offset: int, producer_id: int = -1, *, count: int = 1, epoch: int = 0) -> bytes:
    """Encode a batch of records with key `k`; with a producer id it is transactional."""
    records = [write.Rec(n, n, b"k", b"%d" % (offset + n)) for n in range(count)]
    attributes = 0x10 if producer_id >= 0 else 0
    return write.batch(offset, records, attributes=attributes, producer_id=producer_id, producer_epoch=epoch)


# directories


DIRECTORIES = {
    "__consumer_offsets-7": ("__consumer_offsets", 7, None),
    "a-b-c-12": ("a-b-c", 12, None),
    "t-0.0123456789abcdef0123456789abcdef-delete": ("t", 0, "delete"),
    "a.b-3.0123456789abcdef0123456789abcdef-future": ("a.b", 3, "future"),
    "t-1.0123456789abcdef0123456789abcdef-stray": ("t", 1, "stray"),
}


METADATA = {
    "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n": bytes(range(16)),
    **dict.fromkeys(("", "version: 0\n", "version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"), None),
    **dict.fromkeys(("version: 0\ntopic_id: AAAA\n", "version: 0\ntopic_id: !\n", "\xff\0"), None),
}


def test_the_topic_id_is_that_of_partition_metadata(tmp_path: Path) -> None:
    """The file that a real broker wrote is read; one that is missing, of another version or malformed has no id."""
    assert len(read_directory(RECORDED / "__consumer_offsets-0").topic_id or b"") == 16
    path = partition(tmp_path, {})
    assert read_directory(path).topic_id is None
    for text, expected in METADATA.items():
        (path / "partition.metadata").write_text(text, encoding="latin-1")
        assert read_directory(path).topic_id == expected, text


def test_the_directory_name_has_topic_and_partition(tmp_path: Path) -> None:
    """The name is split at its last dash; directories being deleted, moved or stray have a marker."""
    directories = {name: read_directory(partition(tmp_path, {}, name)) for name in DIRECTORIES}
    assert {name: (each.topic, each.partition, each.marker) for name, each in directories.items()} == DIRECTORIES


LISTED = {
    "plain segments": (["0.log", "5.log"], ["0.log", "5.log"]),
    "deleted segments are ignored": (["0.log", "5.log.deleted", "9.log"], ["0.log", "9.log"]),
    "an unfinished compaction is ignored": (["0.log", "0.log.cleaned"], ["0.log"]),
    "a finished compaction replaces its range": (["0.log", "5.log", "0.log.swap"], ["0.log.swap", "5.log"]),
    "a compaction replaces all segments in its range": (["3.log", "0.log.swap", "9.log"], ["0.log.swap", "9.log"]),
    "a swap at or above .cleaned is not finished": (["0.log", "0.log.swap", "0.log.cleaned"], ["0.log"]),
    "a swap below .cleaned is finished": (["0.log.swap", "9.log", "9.log.cleaned"], ["0.log.swap", "9.log"]),
    "other files are not segments": (["0.index", "0.timeindex", "0.snapshot"], []),
}


def test_the_files_of_the_log_are_listed(tmp_path: Path) -> None:
    """Files of compactions and deletions are handled as by a broker at startup; each file has five offsets."""
    for number, (story, (files, expected)) in enumerate(LISTED.items()):
        path = partition(tmp_path, {}, f"t-{number}")
        for file in files:
            base, _, suffix = file.partition(".")
            batches = simple_batches(5, first=int(base))
            (path / f"{int(base):020}.{suffix}").write_bytes(b"".join(batches))
        assert [f"{base}{file.name[20:]}" for base, file in list_segments(path).items()] == expected, story


# transactions


def test_markers_are_matched_by_producer_and_not_by_epoch(tmp_path: Path) -> None:
    """The epoch of a marker is above that of its data since KIP-890."""
    batches = [data(0, 1, epoch=4), write.marker(1, 1, committed=True, producer_epoch=5)]
    with opened(partition(tmp_path, {0: batches})) as log:
        assert [placed.record.offset for placed in log.records()] == [0]


EVENTS = st.lists(st.tuples(st.sampled_from(["data", "commit", "abort"]), st.integers(0, 3)), max_size=30)


@given(EVENTS)
def test_outcomes_agree_with_a_simple_simulation(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, int]]
) -> None:
    """The visible records of any interleaving of producers and markers are those of a simulated coordinator."""
    batches, pending, visible = [], dict[int, list[int]](), []
    for offset, (kind, producer) in enumerate(events):
        if kind == "data":
            batches.append(data(offset, producer - 1))
            if producer:
                pending.setdefault(producer - 1, []).append(offset)
            else:
                visible.append(offset)
        else:
            batches.append(write.marker(offset, producer, committed=kind == "commit"))
            ended = pending.pop(producer, [])
            visible += ended if kind == "commit" else []
    with opened(partition(tmp_path_factory.mktemp("log"), {0: batches})) as log:
        assert [placed.record.offset for placed in log.records()] == sorted(visible)
        outcomes = {(each.producer_id, each.outcome) for each in log.records(only_committed=False)}
        assert {producer for producer, outcome in outcomes if outcome is BatchOutcome.PENDING} == set(pending)


def test_a_recorded_log_agrees_with_its_index_of_aborted_transactions() -> None:
    """The records left out of a real offsets partition are those of the aborted transactions in its `.txnindex`."""
    with opened(RECORDED / "__consumer_offsets-0") as log:
        visible = [placed.record.offset for placed in log.records()]
        aborted = [each for each in log.records(only_committed=False) if each.outcome is BatchOutcome.ABORTED]
        assert len(aborted) == 3
        assert not {each.record.offset for each in aborted} & set(visible)
        assert log.errors == []


# damage


def test_damage_in_one_segment_does_not_affect_the_others(tmp_path: Path) -> None:
    """A damaged batch ends its segment with one error; the next segment is read."""
    first = simple_batches(4)
    first[2] = first[2][:-1] + b"\x7f"
    path = partition(tmp_path, {0: first, 4: simple_batches(2, first=4)})
    with opened(path) as log:
        assert [placed.record.offset for placed in log.records()] == [0, 1, 4, 5]
        assert [(error.fault, error.offset) for error in log.errors] == [(LogFault.BAD_CRC, 2)]


def test_a_torn_tail_is_an_error_only_before_the_last_segment(tmp_path: Path) -> None:
    """Only the active segment may end inside a batch."""
    truncated = [b"".join(simple_batches(2))[:-1]]
    with opened(partition(tmp_path, {0: truncated, 2: truncated}, "a-0")) as log:
        assert [placed.record.offset for placed in log.records()] == [0]
        assert [error.fault for error in log.errors] == [LogFault.TORN, LogFault.OFFSET_ORDER]
    with opened(partition(tmp_path, {0: truncated}, "b-0")) as log:
        assert [placed.record.offset for placed in log.records()] == [0]
        assert log.errors == []


def test_a_batch_that_cannot_be_decompressed_is_an_error_and_skipped(tmp_path: Path) -> None:
    """Content above the limit is one error; the other batches are read."""
    bomb = write.batch(1, [write.Rec(0, 0, b"k", bytes(1 << 20))], write.ZSTD)
    path = partition(tmp_path, {0: [data(0), bomb, data(2)]})
    with opened(path, limit=1 << 16) as log:
        assert [placed.record.offset for placed in log.records()] == [0, 2]
        assert [(error.fault, error.offset) for error in log.errors] == [(LogFault.EXPANDS_PAST_LIMIT, 1)]


def test_a_compacted_log_of_a_real_broker_is_read() -> None:
    """A log with gaps, tombstones with a delete horizon and files being deleted is read without errors."""
    folder = RECORDED / "compacted-0"
    assert list(folder.glob("*.log.deleted"))
    with opened(folder) as log:
        batches = [batch for _, block in log.blocks() for batch in block.batches()]
        offsets = [placed.record.offset for placed in log.records()]
        assert log.errors == []
    assert offsets == sorted(set(offsets))
    assert len(offsets) < offsets[-1] - offsets[0] + 1
    assert any(isinstance(batch, RecordBatch) and batch.delete_horizon is not None for batch in batches)


def test_files_renamed_between_listing_and_opening_are_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compaction that finishes during the listing does not fail the read."""
    path = partition(tmp_path, {0: simple_batches(2), 2: simple_batches(1, first=2)})
    listed = []

    def list_then_rename(folder: Path) -> PartitionDirectory | LogError:
        directory = read_directory(folder)
        if not listed:
            (path / f"{2:020}.log").rename(path / f"{2:020}.log.deleted")
        listed.append(directory)
        return directory

    monkeypatch.setattr(partition_module, "read_directory", list_then_rename)
    with opened(path) as log:
        assert [placed.record.offset for placed in log.records()] == [0, 1]
    assert len(listed) == 2


def test_overlapping_segments_give_each_offset_once(tmp_path: Path) -> None:
    """The batches already read from another segment are errors."""
    path = partition(tmp_path, {0: simple_batches(4), 2: simple_batches(4, first=2)})
    with opened(path) as log:
        assert [placed.record.offset for placed in log.records()] == [0, 1, 2, 3, 4, 5]
        assert [error.fault for error in log.errors] == [LogFault.OFFSET_ORDER] * 2


def test_other_paths_are_the_wrong_kind(tmp_path: Path) -> None:
    """A directory of another kind and a missing directory are one typed error."""
    for name in ("data", "topic-", "-3", "topic-x", "t-0.abc-delete"):
        (tmp_path / name).mkdir()
        for path in (tmp_path / name, tmp_path / "nothing-0"):
            assert PartitionLog.open(path).fault is LogFault.WRONG_KIND
