"""Checkpoints with damaged, missing or stale files: a start recovers, or names the remedy; values are never wrong.

One checkpoint is prepared with real Spark and a real broker, and restored for every row of the table. Most damage is
found before a JVM is needed; those rows call the check directly. Rows that need a JVM run the
job in this process, on one session, and compare every committed offset and lag with the broker. Spark writes absolute
paths into the metadata of the state, so the checkpoint is always restored at the same path.
"""

import contextlib
import dataclasses
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from sandbox.kafka.broker import Broker
from stream.checkpoint.continuity import OffsetsTopicEnds
from stream.checkpoint.directory import open_checkpoint
from stream.checkpoint.manifest import FORMAT, Layout
from stream.cluster.offsets_topic import OffsetsTopic, describe
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.errors import ExitCode
from stream.service import kept_state
from stream.service.startup import log_bounds
from stream.spark.shard_processor import stored_shards
from stream.tick.ends_index import EndsIndex
from tests.chaos.truth import broker_values
from tests.integration.failures.refused import assert_refused
from tests.integration.traffic import commit, make_topic, offsets_ends
from tests.support.in_process_job import InProcessJob, Jvm
from tests.support.monitor import Monitor
from tests.support.processes import patience
from tests.support.scrape import Metrics

pytestmark = [pytest.mark.chaos, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(600))]

GROUPS: Final = tuple(f"group-{number}" for number in range(20))
BATCHES: Final = 4
SETTINGS: Final = {"job.shards": "4", "job.trigger_interval": "200ms"}
"""A shard per offsets partition as in most clusters."""
LAYOUT: Final = Layout(sub_shards=1, offsets_partitions=4, shuffle_partitions=2, slot_ms=30_000, keep_slots=10)
"""A layout that only an empty checkpoint accepts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """A broker, and a checkpoint of a monitor that was stopped cleanly before the last commits."""

    broker: Broker
    job: InProcessJob
    """The job over the checkpoint, which a test starts."""
    _pristine: Path
    read: dict[int, int]
    """The position of the checkpoint in each partition of the offsets topic."""

    @property
    def root(self) -> Path:
        return self.job.checkpoint

    @property
    def folder(self) -> Path:
        return self.root / f"v{FORMAT}"

    def restore(self) -> Path:
        """Restore the checkpoint, and return Spark's folder."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._pristine, self.root)
        return self.folder / "spark"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """Return a checkpoint with a snapshot and several changelogs per state partition."""
    folder = tmp_path_factory.mktemp("prepared")
    with Broker(folder / "broker") as broker, Jvm() as jvm:
        make_topic(broker.bootstrap, "t", 3, records=50)
        for number, group in enumerate(GROUPS):
            commit(broker.bootstrap, group, "t", {0: number, 1: number + 1, 2: number + 2})
        job = InProcessJob(broker.bootstrap, folder, jvm, SETTINGS)
        with job:
            job.wait_ready().wait_batch()
            for number in range(BATCHES):
                commit(broker.bootstrap, GROUPS[number], "t", {0: 30 + number})
                job.wait_read(offsets_ends(broker.bootstrap))
            assert job.stop().code == ExitCode.OK
        shutil.copytree(job.checkpoint, folder / "pristine")
        read = offsets_ends(broker.bootstrap)
        for group in GROUPS[10:]:
            commit(broker.bootstrap, group, "t", {1: 40})
        yield Prepared(broker, job, folder / "pristine", read)


def newest(folder: Path, pattern: str = "[0-9]*") -> Path:
    """Return the file with the highest number."""
    return max(folder.glob(pattern), key=lambda path: int(path.stem.partition("-")[0]))


def sums_of(path: Path) -> Path:
    """Return Hadoop's checksum file of a file."""
    return path.with_name(f".{path.name}.crc")


def empty(path: Path) -> None:
    """Truncate a file to 0 bytes, as a full volume or a power cut does."""
    path.write_bytes(b"")
    sums_of(path).unlink(missing_ok=True)


def flip(path: Path) -> None:
    """Flip bits in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def remove(*paths: Path) -> None:
    """Delete files with their checksums, or folders."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
            sums_of(path).unlink(missing_ok=True)


def numbered(folder: Path) -> list[Path]:
    """Return the files of all batches, oldest first."""
    return sorted(folder.glob("[0-9]*"), key=lambda path: int(path.name))


def changelog(spark: Path) -> Path:
    return newest(spark / "state" / "0" / "0", "[0-9]*.changelog")


def snapshot(spark: Path) -> Path:
    return newest(spark / "state" / "0" / "1", "[0-9]*.zip")


def table_file(spark: Path) -> Path:
    return newest(spark / "state" / "0" / "1" / "SSTs", "*.sst")


def operator(spark: Path) -> Path:
    return newest(spark / "state" / "0" / "_metadata" / "v2")


def schema(spark: Path) -> Path:
    (found,) = (path for path in (spark / "state" / "0" / "_stateSchema").rglob("[0-9]*") if path.is_file())
    return found


Damage = "Callable[[Path], object]"
FOUND_IN_FILES: Final[dict[str, tuple[Damage, str]]] = {
    "newest offsets empty": (lambda spark: empty(newest(spark / "offsets")), r"offsets/\d+ is empty"),
    "newest offsets flipped": (lambda spark: flip(newest(spark / "offsets")), r"offsets/\d+ does not match"),
    "newest offsets missing": (lambda spark: remove(newest(spark / "offsets")), r"offsets/\d+ is missing"),
    "offsets before the newest empty": (lambda spark: empty(numbered(spark / "offsets")[-2]), r"offsets/\d+ is empty"),
    "offsets before the newest missing": (
        lambda spark: remove(numbered(spark / "offsets")[-2]),
        r"offsets/\d+ is miss",
    ),
    "all offsets missing": (lambda spark: remove(spark / "offsets"), r"offsets/\d+ is missing"),
    "newest commit empty": (lambda spark: empty(newest(spark / "commits")), r"commits/\d+ is empty"),
    "newest commit flipped": (lambda spark: flip(newest(spark / "commits")), r"commits/\d+ does not match"),
    "newest two commits missing": (lambda spark: remove(*numbered(spark / "commits")[-2:]), r"commits/\d+ is missing"),
    "all commits missing": (lambda spark: remove(spark / "commits"), r"commits/\d+ is missing"),
    "offsets and commits missing": (lambda spark: remove(spark / "offsets", spark / "commits"), "has no batch"),
    "newest offsets and commit missing": (
        lambda spark: remove(newest(spark / "offsets"), newest(spark / "commits")),
        "the offset log ends with",
    ),
    "metadata missing": (lambda spark: remove(spark / "metadata"), "metadata is missing"),
    "metadata empty": (lambda spark: empty(spark / "metadata"), "metadata is empty"),
    "metadata flipped": (lambda spark: flip(spark / "metadata"), "metadata does not match"),
    "manifest missing": (lambda spark: remove(spark.parent / "lagwarden.json"), r"lagwarden\.json is missing"),
    "manifest empty": (lambda spark: empty(spark.parent / "lagwarden.json"), r"lagwarden\.json cannot be read"),
    "newest changelog empty": (lambda spark: empty(changelog(spark)), r"0/\d+\.changelog has no checksums"),
    "newest changelog flipped": (lambda spark: flip(changelog(spark)), r"0/\d+\.changelog does not match"),
    "newest changelog missing": (lambda spark: remove(changelog(spark)), r"0/\d+\.changelog is missing"),
    "newest changelog of older content": (
        lambda spark: shutil.copy(changelog(spark).with_name("2.changelog"), changelog(spark)),
        r"0/\d+\.changelog does not match",
    ),
    "snapshot flipped": (lambda spark: flip(snapshot(spark)), r"1/\d+\.zip does not match"),
    "snapshot missing": (lambda spark: (remove(snapshot(spark)), remove(changelog(spark))), r"changelog is missing"),
    "file of a snapshot flipped": (lambda spark: flip(table_file(spark)), r"\.sst does not match"),
    "file of a snapshot missing": (lambda spark: remove(table_file(spark)), r"\.sst is missing"),
    "file of a snapshot flipped and without checksums": (
        lambda spark: (flip(table_file(spark)), sums_of(table_file(spark)).unlink()),
        r"\.sst has no checksums",
    ),
    "state partition missing": (lambda spark: remove(spark / "state" / "0" / "1"), r"1/\d+\.changelog is missing"),
    "state missing": (lambda spark: remove(spark / "state"), "_stateSchema is missing"),
    "metadata of the operator empty": (lambda spark: empty(operator(spark)), "_metadata/v2/0 is empty"),
    "metadata of the operator flipped": (lambda spark: flip(operator(spark)), "_metadata/v2/0 does not match"),
    "metadata of the operator missing": (lambda spark: remove(operator(spark)), "_metadata is empty"),
    "schema flipped": (lambda spark: flip(schema(spark)), "_stateSchema/.* does not match"),
    "schema missing": (lambda spark: remove(schema(spark)), "_stateSchema is empty"),
}


@pytest.mark.parametrize(("damage", "words"), FOUND_IN_FILES.values(), ids=FOUND_IN_FILES.keys())
def test_damage_in_files_is_found_before_spark_reads_them(
    prepared: Prepared, damage: Callable[[Path], object], words: str
) -> None:
    """All of the state is set aside, the reason names the file, and the topic is read from its start."""
    spark = prepared.restore()
    damage(spark)
    left = {path.relative_to(spark.parent) for path in spark.rglob("*")}
    topic, ends = current_topic(prepared.broker)
    with contextlib.closing(open_checkpoint(prepared.root, topic, LAYOUT, ends)) as checkpoint:
        assert checkpoint.set_aside is not None
        assert re.search(words, checkpoint.set_aside), checkpoint.set_aside
        assert str(prepared.folder) in checkpoint.set_aside
        assert checkpoint.fresh
        assert not (prepared.folder / "spark").exists()
        assert left <= {path.relative_to(checkpoint.kept) for path in checkpoint.kept.rglob("*")}
    with contextlib.closing(open_checkpoint(prepared.root, topic, LAYOUT, ends)) as checkpoint:
        assert checkpoint.set_aside is None


def current_topic(broker: Broker) -> tuple[OffsetsTopic, OffsetsTopicEnds]:
    """Return the offsets topic and its ends, as a start reads them."""
    with Cluster([broker.bootstrap]) as cluster:
        topic = describe(cluster)
        assert topic is not None
        return topic, OffsetsTopicEnds(
            log_bounds(EndsIndex(read_ends(cluster, ["__consumer_offsets"]))), time.time(), 86_400.0
        )


def assert_equals_broker(job: InProcessJob) -> Metrics:
    """Wait until the job is ready, and compare every committed offset and every lag."""
    truth = broker_values(job.bootstrap)
    shown = job.wait_ready().wait_ticks(1)
    assert shown.committed == truth.committed
    assert shown.lags == truth.lags
    assert len(shown.committed) == 3 * len(GROUPS)
    return shown


def test_intact_checkpoint_is_continued(prepared: Prepared) -> None:
    """The check finds no damage, the state is restored, and only new records are read."""
    prepared.restore()
    with prepared.job as job:
        shown = assert_equals_broker(job)
        assert shown.value("lagwarden_resyncs_total") == 0
        # Other tests of this module commit, too.
        assert shown.records_read == sum(offsets_ends(job.bootstrap).values()) - sum(prepared.read.values())
        assert job.stop().code == ExitCode.OK


def without_checksums(spark: Path, path: Path, change: Callable[[Path], object]) -> None:
    """Damage a file that has no checksum, as after a restore from a backup without hidden files."""
    for sums in spark.rglob(".*.crc"):
        sums.unlink()
    change(path)


FOUND_BY_SPARK: Final[dict[str, Damage]] = {
    "all commits missing": lambda spark: remove(spark / "commits"),
    "changelog flipped, no checksums": lambda spark: without_checksums(spark, changelog(spark), flip),
    "changelog empty, no checksums": lambda spark: without_checksums(spark, changelog(spark), empty),
    "newest changes replaced by older ones, checksums too": lambda spark: [
        shutil.copy(old, old.with_name(old.name.replace("2.changelog", newest(old.parent, "[0-9]*.changelog").name)))
        for old in (spark / "state" / "0").glob("[01]/*2.changelog*")
        if old.name in {"2.changelog", ".2.changelog.crc"}
    ],
    "state partition swapped for another": lambda spark: (
        remove(spark / "state" / "0" / "1"),
        shutil.copytree(spark / "state" / "0" / "0", spark / "state" / "0" / "1"),
    ),
}


@pytest.mark.parametrize("damage", FOUND_BY_SPARK.values(), ids=FOUND_BY_SPARK.keys())
def test_damaged_state_is_recovered_within_the_same_start(prepared: Prepared, damage: Callable[[Path], object]) -> None:
    """The topic is read again, and every value equals the broker's."""
    damage(prepared.restore())
    with prepared.job as job:
        assert assert_equals_broker(job).value("lagwarden_resyncs_total") == 1
        assert job.stop().code == ExitCode.OK
    assert (prepared.folder / "set-aside-1" / "spark").is_dir()


def test_damage_found_by_the_query_is_recovered(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """State that is damaged between check and first batch is set aside, and the same process reads the topic again."""
    spark, read = prepared.restore(), stored_shards

    def read_then_damage(session: SparkSession, checkpoint: str) -> object:
        shards = read(session, checkpoint)
        flip(changelog(spark))
        return shards

    monkeypatch.setattr(kept_state, "stored_shards", read_then_damage)
    with prepared.job as job:
        assert assert_equals_broker(job).value("lagwarden_resyncs_total") == 1
        assert job.stop().code == ExitCode.OK


def test_checkpoint_deleted_while_in_use_ends_the_job(prepared: Prepared) -> None:
    """The job kills its JVM, and ends with one line that names the folder, and a specific exit code.

    The next start reads the whole topic, and every value equals the broker's.
    """
    prepared.restore()
    with prepared.job as job:
        job.wait_ready()
        (prepared.folder / "spark").rename(prepared.folder.with_name("deleted"))  # at once: the JVM still writes there
        assert job.ending(30).code == ExitCode.CHECKPOINT_DAMAGED
        assert job.jvms_killed == 1
        (line,) = (line for line in job.lines if "checkpoint deleted while in use" in line.get("event", ""))
        assert str(prepared.folder / "spark") in line["why"]
        shown = assert_equals_broker(job.start())
        assert shown.records_read == sum(offsets_ends(job.bootstrap).values())
        assert job.stop().code == ExitCode.OK


def on_small_volume(folder: Path, *, full: bool) -> tuple[str, ...]:
    """Return a program for `Monitor` that has a volume of 4 MiB mounted at a folder, in a namespace of its own."""
    fill = '; head -c 8M /dev/zero > "$0/filler" 2> /dev/null' if full else ""
    mount = f'mount -t tmpfs -o size=4m tmpfs "$0"{fill}; exec "$@"'
    words = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(folder))
    return (
        "-c",
        f"import os, sys; os.execvp({words[0]!r}, [*{words!r}, sys.executable, '-m', 'stream.cli', *sys.argv[1:]])",
    )


@pytest.mark.parametrize("full", [True, False], ids=["full at the start", "full while the query runs"])
def test_volume_without_space_is_refused_with_its_cause(prepared: Prepared, tmp_path: Path, *, full: bool) -> None:
    """The exit code is that of an unusable checkpoint, and one line has the cause."""
    volume = tmp_path / "checkpoint"
    volume.mkdir()
    with Monitor(prepared.broker.bootstrap, tmp_path, program=on_small_volume(volume, full=full)) as monitor:
        if not full:
            monitor.wait_ready()
            fill_up(Path(f"/proc/{monitor.pid}/root{volume}/filler"))
            commit(prepared.broker.bootstrap, GROUPS[0], "t", {2: 44})
        assert_refused(monitor, ExitCode.CHECKPOINT_UNUSABLE, "no space left")


def fill_up(path: Path) -> None:
    """Write until the volume is full."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
