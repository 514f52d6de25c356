"""The settings of Spark that `job.spark_options` may not set, because lagwarden sets them itself. Pure.

`stream.spark.session` and `stream.spark.executors.settings` set them; a test compares.
"""

from typing import Final

from stream.config.master_url import MasterKind

REPLACED: Final = {
    "spark.master": "job.master",
    "spark.driver.memory": "job.driver_memory",
    "spark.driver.host": "job.driver_host",
    "spark.driver.bindAddress": "job.driver_bind_address",
    "spark.driver.port": "job.driver_port",
    "spark.driver.blockManager.port": "job.block_manager_port",
    "spark.executor.instances": "job.executors",
    "spark.cores.max": "job.executors and job.executor_cores",
    "spark.executor.cores": "job.executor_cores",
    "spark.executor.memory": "job.executor_memory",
    "spark.pyspark.python": "job.executor_python",
    "spark.pyspark.driver.python": "job.executor_python",
    "spark.kubernetes.container.image": "job.executor_image",
    "spark.kubernetes.executor.container.image": "job.executor_image",
    "spark.kubernetes.executor.podTemplateFile": "job.pod_template",
    "spark.kubernetes.authenticate.executor.serviceAccountName": "job.executor_service_account",
    "spark.kubernetes.namespace": "job.namespace",
    "spark.authenticate": "job.authenticate",
    "spark.authenticate.secret": "job.auth_secret_file",
    "spark.network.crypto.enabled": "job.authenticate",
    "spark.io.encryption.enabled": "job.authenticate",
    "spark.sql.shuffle.partitions": "job.read_tasks",
    **dict.fromkeys(("spark.ui.enabled", "spark.ui.port"), "job.spark_ui_port"),
    **dict.fromkeys(
        (
            f"spark.hadoop.fs.s3a.{name}"
            for name in ("access.key", "secret.key", "session.token", "aws.credentials.provider")
        ),
        "the environment of the process, as docs/object-store.md says",
    ),
    "spark.hadoop.fs.s3a.endpoint": "checkpoint.s3_endpoint",
    "spark.hadoop.fs.s3a.endpoint.region": "checkpoint.s3_region",
    "spark.hadoop.fs.s3a.path.style.access": "checkpoint.s3_endpoint",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "checkpoint.s3_endpoint",
}
"""Spark's name of a setting, and the option of lagwarden to use instead."""

FIXED: Final = frozenset({
    "spark.app.name", "spark.dynamicAllocation.enabled", "spark.executorEnv.PYTHONPATH",
    "spark.kubernetes.driver.pod.name", "spark.python.daemon.module", "spark.python.unix.domain.socket.dir",
    "spark.python.unix.domain.socket.enabled", "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled",
    "spark.sql.session.timeZone", "spark.sql.streaming.checkpointFileManagerClass",
    "spark.sql.streaming.minBatchesToRetain", "spark.sql.streaming.noDataProgressEventInterval",
    "spark.sql.streaming.numRecentProgressUpdates", "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "spark.sql.ui.retainedExecutions",
    "spark.submit.pyFiles", "spark.task.maxFailures", "spark.ui.killEnabled", "spark.ui.retainedJobs",
    "spark.ui.retainedStages", "spark.ui.retainedTasks", "spark.ui.showConsoleProgress",
})  # fmt: skip
"""Settings whose values lagwarden depends on."""

_OPTIONS_OF_CLUSTERS: Final = (
    "driver_host", "driver_bind_address", "driver_port", "block_manager_port", "executors", "executor_cores",
    "executor_memory", "executor_python",
)  # fmt: skip
_OPTIONS_OF_KUBERNETES: Final = ("pod_template", "executor_image", "executor_service_account", "namespace")

WITHOUT_EFFECT: Final[dict[MasterKind, tuple[str, ...]]] = {
    MasterKind.LOCAL: (*_OPTIONS_OF_CLUSTERS, *_OPTIONS_OF_KUBERNETES, "auth_secret"),
    MasterKind.LOCAL_CLUSTER: (
        *(name for name in _OPTIONS_OF_CLUSTERS if name != "executor_python"),
        *_OPTIONS_OF_KUBERNETES,
        "auth_secret",
    ),
    MasterKind.STANDALONE: _OPTIONS_OF_KUBERNETES,
    MasterKind.KUBERNETES: ("auth_secret",),
}
"""The options of the section `job` that have no effect with a kind of master."""


def as_text(value: object) -> object:
    """Return a number or a truth value as Spark writes it; any other value unchanged."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def check_spark_options(value: dict[str, str]) -> dict[str, str]:
    """Return the settings if lagwarden sets none of them itself. Raises ValueError with what to use instead."""
    problems = [
        f"{name} is not a setting of Spark: the name must begin with `spark.`"
        for name in value
        if not name.startswith("spark.")
    ]
    problems += [f"{name} is set by {REPLACED[name]}" for name in value if name in REPLACED]
    problems += [f"{name} is set by lagwarden, which depends on its value" for name in value if name in FIXED]
    if problems:
        raise ValueError("; ".join(sorted(problems)))
    return value
