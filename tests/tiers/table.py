"""When which slow test runs. A slow test has one of the `SLOW_MARKS`; all others run at every save.

- *core*: the slow tests in the files of `CORE`, without those marked `long`, run at every submission (`make test`).
- *touched*: the others run at a submission that changes what they test, by `TOUCHED_BY` (`.ci/run`).
- *full*: all of them run by hand, every night and before a release (`make full`).
- Those with the mark `FULL_ONLY` run in `make full` alone.
- Those with a mark of `BY_HAND` have commands of their own.
"""

from typing import Final

SLOW_MARKS: Final = ("spark", "kafka", "chart", "container", "page", "chaos", "long")
BY_HAND: Final = ("cluster", "play", "soak")
FULL_ONLY: Final = "releases"
"""The mark of tests that repeat others with brokers of other releases."""

CORE: Final = (
    # Decoding and folding of what real clients write, by Kafka's own classes and tools.
    "tests/decoders/conformance/test_embedded.py",
    "tests/decoders/conformance/test_instances.py",
    "tests/decoders/conformance/test_schemas.py",
    "tests/integration/one_monitor",
    "tests/integration/test_offline.py",
    # What the cluster is asked, by a real broker.
    "tests/stream/cluster/broker/test_answers.py",
    "tests/stream/cluster/broker/test_reads.py",
    "tests/stream/cluster/broker/test_secured.py",
    "tests/stream/cluster/test_partition_offsets.py",
    "tests/stream/cluster/transport/test_client.py",
    "tests/stream/cluster_facts/test_on_brokers.py",
    "tests/integration/test_lookups.py",
    "tests/integration/test_pending_revocation.py",
    # The job: Spark, readiness, restarts, refusals, exit codes, damaged checkpoints.
    "tests/stream/spark",
    "tests/integration/test_readiness.py",
    "tests/integration/failures/test_failures.py",
    "tests/integration/failures/test_refusals.py",
    "tests/integration/failures/test_restarts.py",
    "tests/chaos/test_damaged_checkpoints.py",
    # What a person sees: verdicts of real clients, names, the demo.
    "tests/chaos/test_hostile_names.py",
    "tests/integration/verdicts/test_few_verdicts.py",
    "tests/sandbox/demo/test_run.py",
)
"""Files and folders."""

_SERVICE: Final = ("stream/service", "stream/spark", "stream/checkpoint")
_STATE: Final = ("stream/groups", "stream/tick", "stream/health")
_CLUSTER: Final = ("stream/cluster", "stream/cluster_facts")
_CHART: Final = ("deploy/helm", "deploy/chart", "deploy/dashboards", "exporters/page/runbooks", "exporters/catalogue")

TOUCHED_BY: Final[dict[str, tuple[str, ...]]] = {
    "tests/integration/failures": (*_SERVICE, "stream/errors.py"),
    "tests/integration/test_readiness.py": ("stream/service", "stream/cluster"),
    "tests/integration/test_time_lag.py": _STATE,
    "tests/integration/test_unstorable_groups.py": ("stream/cluster/describe_groups.py", "stream/tick"),
    "tests/integration/verdicts": ("stream/health", "stream/tick", "sandbox/verdict_scenarios"),
    "tests/integration/cluster_faults": (*_CLUSTER, "stream/tick"),
    "tests/integration/test_catch_up.py": ("stream/service/first_read", "stream/spark"),
    "tests/integration/test_webhook.py": ("stream/webhook",),
    "tests/integration/instances": ("stream/groups/placement.py", "stream/spark/topic_ends.py", "stream/config"),
    "tests/integration/executors": ("stream/spark",),
    "tests/integration/test_tables.py": (
        "stream/tables",
        "stream/spark/tables",
        "pyspark_consumer_offsets",
        "docs/queries.md",
    ),
    "tests/integration/object_store": ("stream/checkpoint", "stream/spark/object_store.py"),
    "tests/integration/releases": ("stream/cluster", "decoders/tables", "sandbox/kafka"),
    "tests/chaos": (*_SERVICE, "exporters/http"),
    "tests/page": ("exporters/page", "exporters/http"),
    "tests/chart": _CHART,
    "tests/deploy/test_queries_in_docs.py": ("docs",),
    "tests/deploy/release/test_installed_wheel.py": ("deploy/release", "pyproject.toml", "requirements"),
    "tests/deploy": ("deploy/release", "deploy/site", "docs", ".github"),
    "tests/container": ("deploy/Dockerfile", "deploy/release", "requirements"),
}
"""The files and folders that a slow test tests; the first row that names the test counts, and the first rows run first.
A test without a row tests the folder that it mirrors, and comes last."""


def is_below(path: str, tops: tuple[str, ...]) -> bool:
    """Return whether a path, from the root of the project, is one of `tops` or lies in one of them."""
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def is_core(path: str) -> bool:
    """Return whether the slow tests of a file, by its path from the root of the project, run at every submission."""
    return is_below(path, CORE)
