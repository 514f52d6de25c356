"""The Spark job: its master, executors, intervals and limits."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, FilePath

from stream.config.master_url import MasterKind, MasterUrl
from stream.config.secret_sources import Secret
from stream.config.sections.option import OptionSection, experimental, option, seconds
from stream.config.spark_options import WITHOUT_EFFECT, as_text, check_spark_options
from stream.config.values import HeapSize, Seconds, class_archive_folder
from stream.groups.placement import InstancePart

_SparkValue = Annotated[str, BeforeValidator(as_text)]
_EXECUTORS: Final = 2
_EXECUTOR_CORES: Final = 1
_EXECUTOR_MEMORY: Final = "1g"


class JobOptions(OptionSection):
    """The Spark streaming job and the intervals of evaluation."""

    trigger_interval: Seconds = seconds(5.0, "How often a micro-batch starts.", most=3600)
    tick_interval: Seconds = seconds(10.0, "How often a new snapshot is published.", most=3600)
    max_offsets_per_trigger: int = option(
        15_000_000, "The largest micro-batch; it only matters during catch-up.", unit="records", ge=1000
    )
    instance: Annotated[str, AfterValidator(lambda text: str(InstancePart.parse(text)))] = experimental(
        "0/1",
        "Which of several instances this is, `i/n` from 0 (docs/instances.md); `i` may be a name that ends in `-i`,"
        " such as that of a pod.",
        shown="`0/1`: all groups",
    )
    shards: int = option(
        64, "Shards of the state: 64 for up to 20,000 groups, 256 for more. Fixed per checkpoint.", ge=1, le=4096
    )
    commit_window_slots: int = option(10, "Slots with recent commits per group and partition.", ge=2, le=1000)
    commit_window_slot_seconds: int = seconds(30, "The length of one slot.", least=1)
    master: Annotated[str, AfterValidator(lambda text: MasterUrl.parse(text).text)] = option(
        "local[*]", "Spark's master URL: `local[N]` runs N tasks here, others run them in executors (docs/cluster.md)."
    )
    driver_memory: HeapSize = option("512m", "The heap size of Spark's JVM (docs/install.md has a table).")
    class_archive: Path = option(
        class_archive_folder,
        "The directory of the JVM class archive, without which Spark starts slower.",
        shown="`classes` in lagwarden's cache directory",
    )
    read_tasks: int | None = option(
        None,
        "Tasks that read and decode in parallel. After a change the topic is read again.",
        shown="the number of cores; with executors, that of all executors",
        ge=1,
        le=10_000,
    )
    freshness_limit: Seconds = seconds(
        60.0,
        "With a snapshot older than this, or a query that has reported nothing for longer, `/readyz` answers 503.",
        most=None,
    )
    watchdog_limit: Seconds = seconds(600.0, "The process exits if it makes no progress for this long.", most=None)

    driver_host: str | None = experimental(
        None,
        "The host name or address of this process for executors.",
        shown="the address from which the master is reached",
        min_length=1,
    )
    driver_bind_address: str | None = experimental(
        None,
        "The address on which this process listens for executors, such as `0.0.0.0` behind a Service.",
        shown="`job.driver_host`",
        min_length=1,
    )
    driver_port: int | None = experimental(
        None, "The port on which this process listens for executors, TCP and UDP.", shown="free ports", ge=1, le=65535
    )
    block_manager_port: int | None = experimental(
        None,
        "The TCP port from which executors fetch code and data of this process.",
        shown="a free port",
        ge=1,
        le=65535,
    )
    executors: int | None = experimental(None, "The number of executors.", shown="2", ge=1, le=1000)
    executor_cores: int | None = experimental(
        None, "The number of tasks that an executor runs at once.", shown="1", ge=1, le=256
    )
    executor_memory: HeapSize | None = experimental(
        None, "The heap size of an executor. Its Python processes need memory beside it.", shown="1g"
    )
    executor_python: str | None = experimental(
        None,
        "The Python interpreter of executors, which must exist here, too (docs/cluster.md).",
        shown="the interpreter of this process",
        min_length=1,
    )
    authenticate: bool = experimental(
        True,
        "Whether this process and executors authenticate each other, and encrypt their connections and temporary"
        " files.",
    )
    auth_secret: Secret | None = experimental(
        None, "The secret of a standalone cluster. Other clusters get a generated one."
    )
    pod_template: FilePath | None = experimental(None, "File with the pod template of executors on Kubernetes.")
    executor_image: str | None = experimental(
        None, "The image of executors on Kubernetes: that of lagwarden.", min_length=1
    )
    executor_service_account: str | None = experimental(
        None, "The service account of executors on Kubernetes.", shown="that of the namespace", min_length=1
    )
    namespace: str | None = experimental(
        None, "The Kubernetes namespace of executors.", shown="`default`", min_length=1
    )
    spark_ui_port: int | None = experimental(
        None,
        "The port of Spark's own pages on 127.0.0.1, without a login (docs/cluster.md).",
        shown="no pages",
        ge=0,
        le=65535,
    )
    spark_options: Annotated[dict[str, _SparkValue], AfterValidator(check_spark_options)] = experimental(
        dict,
        "Further settings of Spark, such as `spark.executor.memoryOverhead: 1g`; not those that lagwarden makes"
        " itself.",
    )

    @property
    def master_url(self) -> MasterUrl:
        """The parsed master."""
        return MasterUrl.parse(self.master)

    @property
    def executor_count(self) -> int:
        """The number of executors; with a local master, 1."""
        url = self.master_url
        return (url.executors or self.executors or _EXECUTORS) if url.has_executors else 1

    @property
    def cores_per_executor(self) -> int:
        """The number of tasks that an executor runs at once."""
        return self.master_url.cores or self.executor_cores or _EXECUTOR_CORES

    @property
    def memory_per_executor(self) -> str:
        """The heap size of an executor."""
        megabytes = self.master_url.megabytes
        return f"{megabytes}m" if megabytes else self.executor_memory or _EXECUTOR_MEMORY

    @property
    def part(self) -> InstancePart:
        """The groups of this instance."""
        return InstancePart.parse(self.instance)

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        found = self._cluster_contradictions()
        if self.freshness_limit < 2 * self.tick_interval:
            found.append(("freshness_limit", "must be at least twice tick_interval, or readiness flaps"))
        if self.watchdog_limit < 4 * self.trigger_interval:
            found.append(("watchdog_limit", "must be at least four times trigger_interval"))
        return found

    def _cluster_contradictions(self) -> list[tuple[str, str]]:
        kind = self.master_url.kind
        idle = [name for name in WITHOUT_EFFECT[kind] if getattr(self, name) is not None]
        found = [(name, f"has no effect with job.master {self.master}") for name in idle]
        if kind is MasterKind.STANDALONE and self.authenticate and self.auth_secret is None:
            advice = "is needed: the file with the secret of the cluster; or set job.authenticate: false"
            found.append(("auth_secret_file", advice))
        if self.auth_secret is not None and not self.authenticate:
            found.append(("auth_secret", "has no effect with job.authenticate: false"))
        if kind is MasterKind.KUBERNETES and self.executor_image is None:
            found.append(("executor_image", f"is needed with job.master {self.master}"))
        return found
