"""A monitor whose tasks run on a standalone Spark cluster, which has a master and two workers as processes."""

# ruff: noqa: S105 -- the secret of a test cluster

import functools
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pytest

from bench.topic import broker_with
from bench.traffic import Traffic
from sandbox.demo.workload import Workload
from sandbox.process import GuardedProcess
from sandbox.spark_cluster import StandaloneCluster, make_executor_python
from stream.errors import ExitCode
from stream.tables.build import table_batches
from stream.tables.columns import COMMITS
from stream.tables.files import FileRead, plan_files, read_files
from stream.tables.rows import AskedNames
from tests.conftest import MakeBroker
from tests.integration.traffic import commit, make_topic, offsets_ends, tool_offsets_and_lags
from tests.support.monitor import Monitor
from tests.support.processes import patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(patience(600))]

SECRET: Final = "known-to-master-workers-and-driver"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_executor_python(tmp_path_factory.mktemp("executor-python"))


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[StandaloneCluster]:
    """Return a running master without workers."""
    with StandaloneCluster(tmp_path / "spark", SECRET) as cluster:
        yield cluster


def settings_for(cluster: StandaloneCluster, python: Path) -> dict[str, str]:
    """Return the options of a monitor on this cluster, with two executors of one core."""
    secret = cluster.folder / "secret"
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    return {
        "job.master": cluster.url,
        "job.executors": "2",
        "job.executor_memory": "512m",
        "job.executor_python": str(python),
        "job.auth_secret_file": str(secret),
        "checkpoint.shared": "true",
    }


def test_monitor_on_two_workers_agrees_with_the_official_tool(
    spark: StandaloneCluster, python: Path, make_broker: MakeBroker, tmp_path: Path
) -> None:
    """Every lag and committed offset equals the tool's, also after a killed executor, a restart and a lost worker.

    No file, argument, log or checkpoint has the secret of the cluster.
    """
    broker = make_broker()
    workers = [spark.add_worker(), spark.add_worker()]
    with (
        Workload(broker.bootstrap, prefix="w-") as traffic,
        Monitor(broker.bootstrap, tmp_path, settings_for(spark, python)) as monitor,
    ):
        traffic.wait_until_settled()
        monitor.wait_ready()
        assert monitor.metrics().value("lagwarden_executors") == 2
        assert all(len(spark.executors_of(worker)) == 1 for worker in workers)

        os.kill(spark.executors_of(workers[0])[0], signal.SIGKILL)
        monitor.wait_events("executors lost; their tasks run again elsewhere")
        monitor.wait_for(lambda: monitor.metrics().value("lagwarden_executors") == 2, "another executor")

        traffic.pause()
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        committed, lags = tool_offsets_and_lags(broker.bootstrap)
        assert {group for group, _, _ in committed} >= set(traffic.groups)
        assert (shown.committed, shown.lags) == (committed, lags)
        assert monitor.stop().code == ExitCode.OK

        topic = next(iter(committed))[1]
        commit(broker.bootstrap, "after-the-stop", topic, {0: 1})
        monitor.start().wait_ready()
        assert monitor.events("state restored")
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)

        workers[1].kill()
        monitor.wait_for(lambda: monitor.metrics().value("lagwarden_executors") == 1, "the loss of a worker")
        commit(broker.bootstrap, "after-the-loss", topic, {0: 1})
        shown = monitor.wait_read(offsets_ends(broker.bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(broker.bootstrap)
        assert places_of(SECRET, monitor, spark) == []


def places_of(secret: str, monitor: Monitor, cluster: StandaloneCluster) -> list[str]:
    known = {cluster.folder / "secret", cluster.folder / "spark.properties"}
    files = [path for folder in (monitor.checkpoint, cluster.folder) for path in folder.rglob("*")]
    files = [path for path in (*files, monitor.log) if path.is_file() and "jars" not in path.parts]
    found = [str(path) for path in files if path not in known and secret.encode() in path.read_bytes()]
    return found + [process.command for process in monitor.processes if secret in process.command]


def test_executors_without_a_package_are_refused_with_its_name(
    spark: StandaloneCluster, make_broker: MakeBroker, tmp_path: Path
) -> None:
    """The process ends, and the output names the missing package and the page with the remedy."""
    broker = make_broker()
    make_topic(broker.bootstrap, "t", 1)
    commit(broker.bootstrap, "g", "t", {0: 2})
    spark.add_worker()
    python = make_executor_python(tmp_path / "python", without=["cramjam"])
    with Monitor(broker.bootstrap, tmp_path, settings_for(spark, python)) as monitor:
        assert monitor.ending(limit=240).code == ExitCode.SPARK_UNAVAILABLE
        *_, last = monitor.output.splitlines()
        assert "No module named 'cramjam'" in last
        assert "docs/cluster.md" in last


def test_an_export_on_two_workers_has_each_row_once(spark: StandaloneCluster, python: Path, tmp_path: Path) -> None:
    """Tasks of executors export what this process reads from the log, also if each executor is killed once."""
    workers = [spark.add_worker(), spark.add_worker()]
    settings = {**settings_for(spark, python), "checkpoint.dir": str(tmp_path / "checkpoint")}
    options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    with broker_with(Traffic(120_000, groups=50)) as broker:
        command = [sys.executable, "-m", "stream.cli", "export", "--to", str(tmp_path), "-b", broker.bootstrap]
        with GuardedProcess([*command, "--every", "1s", *options], tmp_path / "export.log") as export:
            for number, worker in enumerate(workers):
                wait_until(functools.partial(spark.executors_of, worker), "an executor", limit=120)  # type: ignore[arg-type]
                os.kill(spark.executors_of(worker)[0], signal.SIGKILL)
                commit(broker.bootstrap, f"group-{number}", "orders-00", {0: 1, 1: 2})
                logged = sorted(row for each in plan_files(broker.data) for row in rows_of_log(each))
                assert len(logged) > 110_000
                wait_until(lambda logged=logged: rows_of_export(tmp_path) == logged, "each row once", limit=120)  # type: ignore[misc]
            assert export.terminate(60) == ExitCode.OK, export.log.read_text()


def rows_of_export(folder: Path) -> list[tuple[str, ...]]:
    """Return the rows of the batches that have ended, by the log of Spark's file sink."""
    lines = [line for log in folder.glob("commits/_spark_metadata/[0-9]*") for line in log.read_text().splitlines()[1:]]
    files = {json.loads(line)["path"].removeprefix("file://") for line in lines}
    return sorted(row for file in files for row in rows_of(pd.read_parquet(file, dtype_backend="pyarrow")))


def rows_of_log(file: FileRead) -> list[tuple[str, ...]]:
    """Return the rows of a part of the log, made in this process."""
    batches = table_batches(COMMITS, COMMITS.schema().names, read_files(file), AskedNames())
    table = pa.Table.from_batches(list(batches), schema=COMMITS.schema())
    return rows_of(table.to_pandas(types_mapper=pd.ArrowDtype))


def rows_of(table: pd.DataFrame) -> list[tuple[str, ...]]:
    names = ("offsets_partition", "position", "group", "topic", "partition", "offset")
    return list(table[[*names]].astype("string").fillna("").itertuples(index=False, name=None))
