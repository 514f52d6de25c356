"""The configuration options: one frozen tree, one section per subject, each option with default, unit and help text.

Also checks which values contradict each other. `stream.config.loader` reads files, environment and flags;
`stream.config.reference_page` prints `docs/config.md` from these classes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FilePath,
    JsonValue,
    field_serializer,
)

from stream.config.master_url import MasterKind, MasterUrl, check_master
from stream.config.object_address import ObjectAddress
from stream.config.ownership import MaintenanceEntries, OwnerEntries  # noqa: TC001 -- pydantic reads annotations
from stream.config.secret_sources import STARS, Secret, SecretFile
from stream.config.spark_options import WITHOUT_EFFECT, as_text, check_spark_options
from stream.config.values import (
    Address,
    BaseUrl,
    BaseUrls,
    MetricNames,
    Patterns,
    Peers,
    Seconds,
    Targets,
    check_heap_size,
    check_instance,
    check_otlp_endpoint,
    check_resource_attributes,
    check_sasl_extensions,
    check_store_endpoint,
    check_token_endpoint,
    check_webhook_url,
    class_archive_folder,
    parse_addresses,
    parse_checkpoint_dir,
)
from stream.groups.instances import InstanceShare

if TYPE_CHECKING:
    from collections.abc import Mapping


def _option(
    default: Any,
    help_text: str,
    *,
    unit: str = "",
    shown: str | None = None,
    experimental: bool = False,
    **limits: Any,
) -> Any:
    """Return the field of an option.

    `shown` is how the documentation writes the default; None: the value itself. An `experimental` option may change in
    any release, others keep their promise (docs/upgrading.md).
    """
    extra: dict[str, JsonValue] = {"unit": unit, "shown": shown, "experimental": experimental}
    if callable(default):
        return Field(default_factory=default, description=help_text, json_schema_extra=extra, **limits)
    return Field(default=default, description=help_text, json_schema_extra=extra, **limits)


class OptionSection(BaseModel):
    """A section of options. Frozen; unknown names are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def contradictions(self) -> list[tuple[str, str]]:
        """Return (option, problem) for values that are valid one by one but contradict each other."""
        return []


class KafkaOptions(OptionSection):
    """The cluster to monitor, and the login to it."""

    bootstrap_servers: Annotated[tuple[Address, ...], BeforeValidator(parse_addresses)] = _option(
        ..., "Brokers for the first connection, as `host:port`, separated by commas. Two or three are enough."
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = _option(
        "PLAINTEXT", "The security protocol of the brokers' listener."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] | None = _option(
        None,
        "The SASL mechanism; required with the `SASL_` protocols. `AWS_MSK_IAM` requires `pip install lagwarden[msk]`.",
    )
    sasl_username: str | None = _option(None, "The SASL user name, for PLAIN and SCRAM.", min_length=1)
    sasl_password: Secret | None = _option(None, "The SASL password, for PLAIN and SCRAM.")
    oauth_token_file: Path | None = _option(
        None,
        "File with the token (JWT) for OAUTHBEARER, which another program renews, such as a projected service account"
        " token.",
    )
    oauth_token_endpoint: Annotated[str, AfterValidator(check_token_endpoint)] | None = _option(
        None,
        "URL of the token endpoint for OAUTHBEARER with client credentials: `https`, or `http` on this machine.",
    )
    oauth_client_id: str | None = _option(None, "The client id at the token endpoint.", min_length=1)
    oauth_client_secret: Secret | None = _option(None, "The client secret at the token endpoint.")
    oauth_scope: str | None = _option(None, "The scope of the tokens, if the endpoint needs one.", min_length=1)
    oauth_ca_file: FilePath | None = _option(
        None,
        "PEM file of additional authorities that sign the certificate of the token endpoint.",
        shown="the system's authorities",
    )
    oauth_timeout: Seconds = _option(
        10.0, "Timeout of one request to the token endpoint.", unit="seconds", ge=0.1, le=120
    )
    oauth_extensions: Annotated[dict[str, str], AfterValidator(check_sasl_extensions)] = _option(
        dict,
        "SASL extensions for OAUTHBEARER, such as `logicalCluster=lkc-1,identityPoolId=pool-1` of Confluent Cloud.",
        shown="none",
    )
    aws_region: str | None = _option(
        None, "The AWS region for AWS_MSK_IAM.", shown="the region in the broker's host name", min_length=1
    )
    ssl_ca_file: FilePath | None = _option(
        None, "PEM file of the authorities that sign the brokers' certificates.", shown="the system's authorities"
    )
    ssl_certificate_file: FilePath | None = _option(None, "PEM file of the client certificate, for mutual TLS.")
    ssl_key_file: FilePath | None = _option(None, "PEM file of the private key of the client certificate.")
    ssl_key_password: Secret | None = _option(None, "The password of an encrypted private key.")
    ssl_verify_hostname: bool = _option(True, "Whether a broker's certificate must match its host name.")
    request_timeout: Seconds = _option(
        10.0,
        "Timeout of one request to the cluster, including the time to connect.",
        unit="seconds",
        ge=1,
        le=300,
    )

    @property
    def uses_sasl(self) -> bool:
        """True if connections log in."""
        return self.security_protocol.startswith("SASL")

    @property
    def uses_tls(self) -> bool:
        """True if connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    @property
    def principal(self) -> str | None:
        """The name to log in with, for messages; None without SASL, and if only the token or AWS knows it."""
        return (self.sasl_username or self.oauth_client_id) if self.uses_sasl else None

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        return [*self._login_contradictions(), *self._tls_contradictions()]

    @property
    def secrets_outside_files(self) -> list[str]:
        """The options whose secrets are not in files of their own, so that other machines cannot read them."""
        secrets = {name: getattr(self, name) for name in type(self).model_fields}
        return [
            name for name, value in secrets.items() if isinstance(value, Secret) and not isinstance(value, SecretFile)
        ]

    def _login_contradictions(self) -> list[tuple[str, str]]:
        given = {name for name in _LOGIN_OPTIONS if getattr(self, name)}
        if not self.uses_sasl:
            return [(name, f"has no effect with security_protocol {self.security_protocol}") for name in sorted(given)]
        if self.sasl_mechanism is None:
            return [("sasl_mechanism", f"is needed with security_protocol {self.security_protocol}")]
        login = "oauth_token_file" if self._reads_token_file else f"sasl_mechanism {self.sasl_mechanism}"
        needed, optional = _LOGINS["oauth_token_file" if self._reads_token_file else self.sasl_mechanism]
        found = [(name, f"is needed with {login}") for name in needed if name not in given]
        found += [
            (name, f"has no effect with {login}") for name in sorted(given - {"sasl_mechanism"} - {*needed, *optional})
        ]
        if self.sasl_mechanism == "AWS_MSK_IAM" and not self.uses_tls:
            found.append(("security_protocol", f"must be SASL_SSL with {login}"))
        return found

    @property
    def _reads_token_file(self) -> bool:
        return self.sasl_mechanism == "OAUTHBEARER" and self.oauth_token_file is not None

    def _tls_contradictions(self) -> list[tuple[str, str]]:
        options = ("ssl_ca_file", "ssl_certificate_file", "ssl_key_file", "ssl_key_password")
        given = {name for name in options if getattr(self, name) is not None}
        if not self.security_protocol.endswith("SSL"):
            idle = f"has no effect with security_protocol {self.security_protocol}"
            return [(name, idle) for name in options if name in given]
        found = []
        if ("ssl_certificate_file" in given) != ("ssl_key_file" in given):
            absent = "ssl_key_file" if "ssl_certificate_file" in given else "ssl_certificate_file"
            found.append((absent, "is needed: a certificate and its key go together"))
        return found


class ClusterOptions(OptionSection):
    """Facts about the cluster itself: brokers, topics, configs, and the size of `__consumer_offsets`."""

    interval: Seconds = _option(
        60.0, "How often these facts are read from the cluster; 0 disables them.", unit="seconds", ge=0, le=3600
    )
    partitions_shown: int = _option(
        10_000,
        "The number of partitions that have their own series. In a cluster with more, unhealthy partitions (without a"
        " leader, under-replicated, not led by the preferred replica) come first. Topic totals always count all"
        " partitions.",
        ge=0,
        le=1_000_000,
    )


class HttpOptions(OptionSection):
    """The HTTP server for `/metrics`, `/livez`, `/readyz`, the API and the status page."""

    host: str = _option(
        "0.0.0.0",  # noqa: S104 -- Prometheus scrapes from another host
        "The address to listen on; `127.0.0.1` accepts connections from this machine only.",
        min_length=1,
    )
    # All ports of 9100-9999, the range that Prometheus exporters register, are taken, and 9848 is used by Nacos.
    # 10848 lies above that range and below the ephemeral ports.
    port: int = _option(10848, "The port to listen on; 0 selects a free port and logs it.", ge=0, le=65535)
    max_connections: int = _option(
        512,
        "The maximum number of open connections. At the limit, a new connection replaces one that is idle or does not"
        " read, of the client address with the most connections. If there is none, the new connection is refused.",
        ge=16,
        le=100_000,
    )
    max_connections_per_address: int = _option(
        128,
        "The same limit per client address. All clients behind a proxy or NAT share one address.",
        ge=8,
        le=100_000,
    )

    web_config: Path | None = _option(
        None,
        "A file in Prometheus' web configuration format, with TLS and users (docs/http.md). It is read again when it"
        " changes. `/livez` and `/readyz` need no login.",
    )
    bearer_token_file: Path | None = _option(
        None, "A file with a token that clients may send instead of a user and a password. It is read again, too."
    )

    hide_members: bool = _option(
        False,
        "API, pages and commands show generated names instead of the ids, client ids, hosts and racks of members. The"
        " names change at each start. Names of groups and topics stay. Labels of `metrics.compatibility` name no"
        " member.",
    )

    grafana_url: BaseUrl | None = _option(
        None,
        "Base URL of Grafana: pages of groups link to lagwarden's dashboard there (`/d/lagwarden-group`). The chart"
        " sets it to `rules.grafanaUrl`.",
    )
    runbook_url: BaseUrl | None = _option(
        None,
        "Base URL of the runbooks, before `/docs/runbooks/ALERT.md`: pages of groups link to the one of the verdict."
        " The chart sets it to `rules.runbookUrl`.",
    )

    siblings: BaseUrls = _option(
        (),
        "Base URLs of all instances of `job.instance`, from the first to the last, this one included. Pages link to"
        " them, and a request for a group of another instance is answered with its URL.",
        shown="none",
        experimental=True,
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        if self.max_connections_per_address > self.max_connections:
            return [("max_connections_per_address", "must not be greater than max_connections")]
        return []


class CheckpointOptions(OptionSection):
    """The checkpoint, which keeps the state of the job across restarts."""

    dir: Annotated[Path | ObjectAddress, BeforeValidator(parse_checkpoint_dir)] = _option(
        Path("lagwarden-checkpoint"),
        "A directory, or `s3a://BUCKET/PATH` in an object store (docs/object-store.md), used by one process and for one"
        " cluster only. A directory is local, unless `checkpoint.shared` says that all executors have the same.",
    )
    shared: bool = _option(
        False,
        "Whether all executors have the directory under the same path, as on a volume that is mounted on each of them."
        " Required with a Spark cluster (docs/cluster.md), unless the checkpoint is in an object store.",
        experimental=True,
    )
    s3_jars: Path | None = _option(
        None,
        "The folder with the jars of Hadoop's S3 client, which lagwarden does not install. Required with `s3a://`.",
        experimental=True,
    )
    s3_endpoint: Annotated[str, AfterValidator(check_store_endpoint)] | None = _option(
        None,
        "URL of an object store other than that of AWS. Buckets are then part of the path instead of the host name.",
        shown="that of AWS",
        experimental=True,
    )
    s3_region: str | None = _option(
        None,
        "The region of the bucket. Without it that of the environment is used (`AWS_REGION`), else `us-east-1`.",
        pattern=r"^[a-z0-9-]+$",
        experimental=True,
    )

    @field_serializer("dir")
    def _dir_as_text(self, value: Path | ObjectAddress) -> str:
        return str(value)

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        if isinstance(self.dir, ObjectAddress):
            found = []
            if self.s3_jars is None:
                found.append(("s3_jars", f"is required with {self.dir}: fetch the jars as docs/object-store.md says"))
            if self.shared:
                found.append(("shared", f"has no effect with {self.dir}, which all executors reach; remove it"))
            return found
        found = [
            (name, "has no effect with a directory; remove it, or set checkpoint.dir to s3a://BUCKET/PATH")
            for name in ("s3_jars", "s3_endpoint", "s3_region")
            if getattr(self, name) is not None
        ]
        if self.shared and not self.dir.is_absolute():
            found.append(("dir", "must be an absolute path with checkpoint.shared"))
        return found


class JobOptions(OptionSection):
    """The Spark streaming job and the intervals of evaluation."""

    trigger_interval: Seconds = _option(5.0, "How often a micro-batch starts.", unit="seconds", gt=0, le=3600)
    tick_interval: Seconds = _option(
        10.0,
        "How often end offsets are read, lag is computed and a new snapshot is published.",
        unit="seconds",
        gt=0,
        le=3600,
    )
    max_offsets_per_trigger: int = _option(
        15_000_000, "The largest micro-batch; it only matters during catch-up.", unit="records", ge=1000
    )
    instance: Annotated[str, AfterValidator(check_instance)] = _option(
        "0/1",
        "Which of several instances this is, as `i/n` counted from 0: `0/3`, `1/3` and `2/3` share the groups of one"
        " cluster (docs/instances.md). `i` may be a name that ends in `-i`, such as that of a pod of a StatefulSet."
        " After a change of `n` the topic is read again from its start.",
        shown="`0/1`: all groups",
        experimental=True,
    )
    shards: int = _option(
        64,
        "The number of shards of the state: 64 for up to 20,000 groups, 256 for more. Fixed per checkpoint.",
        ge=1,
        le=4096,
    )
    commit_window_slots: int = _option(
        10, "The number of slots with recent commits per group and partition.", ge=2, le=1000
    )
    commit_window_slot_seconds: int = _option(30, "The length of one slot.", unit="seconds", ge=1, le=86400)
    master: Annotated[str, AfterValidator(check_master)] = _option(
        "local[*]",
        "Spark's master URL: `local[N]` runs N tasks in this process; `spark://HOST:PORT`, `k8s://URL` and"
        " `local-cluster[EXECUTORS,CORES,MEGABYTES]` run them in executors (docs/cluster.md).",
    )
    driver_memory: Annotated[str, AfterValidator(check_heap_size)] = _option(
        "512m", "The heap size of Spark's JVM, such as `1536m`. The README has a table of sizes."
    )
    class_archive: Path = _option(
        class_archive_folder,
        "The directory with the JVM class archive that `make setup` and the image build write. "
        "Without it Spark starts slower.",
        shown="`classes` in lagwarden's cache directory",
    )
    read_tasks: int | None = _option(
        None,
        "The number of tasks that read and decode in parallel. Fixed per checkpoint: after a change the topic is "
        "read again from its start.",
        shown="the number of cores; with executors, that of all executors",
        ge=1,
        le=10_000,
    )
    freshness_limit: Seconds = _option(
        60.0, "With a snapshot older than this, `/readyz` answers 503.", unit="seconds", gt=0
    )
    watchdog_limit: Seconds = _option(
        600.0,
        "If no micro-batch finishes, and the initial catch-up reads nothing, for this long, the process exits, so that "
        "the supervisor restarts it.",
        unit="seconds",
        gt=0,
    )

    driver_host: str | None = _option(
        None,
        "The host name or address of this process for executors.",
        shown="the address from which the master is reached",
        min_length=1,
        experimental=True,
    )
    driver_bind_address: str | None = _option(
        None,
        "The address on which this process listens for executors, such as `0.0.0.0` behind a Service.",
        shown="`job.driver_host`",
        min_length=1,
        experimental=True,
    )
    driver_port: int | None = _option(
        None,
        "The port on which this process listens for executors: TCP, and UDP for the progress of tasks.",
        shown="free ports",
        ge=1,
        le=65535,
        experimental=True,
    )
    block_manager_port: int | None = _option(
        None,
        "The TCP port from which executors fetch code and data of this process.",
        shown="a free port",
        ge=1,
        le=65535,
        experimental=True,
    )
    executors: int | None = _option(None, "The number of executors.", shown="2", ge=1, le=1000, experimental=True)
    executor_cores: int | None = _option(
        None, "The number of tasks that an executor runs at once.", shown="1", ge=1, le=256, experimental=True
    )
    executor_memory: Annotated[str, AfterValidator(check_heap_size)] | None = _option(
        None,
        "The heap size of an executor. Its Python processes need memory beside it: docs/cluster.md.",
        shown="1g",
        experimental=True,
    )
    executor_python: str | None = _option(
        None,
        "The Python interpreter of executors: a path, or a name on their PATH. It must have the packages of"
        " docs/cluster.md, and exist on this machine, too: Spark plans with the same one.",
        shown="the interpreter of this process",
        min_length=1,
        experimental=True,
    )
    authenticate: bool = _option(
        True,
        "Whether this process and executors authenticate each other, and encrypt their connections and temporary"
        " files (`spark.authenticate`, `spark.network.crypto.enabled`, `spark.io.encryption.enabled`).",
        experimental=True,
    )
    auth_secret: Secret | None = _option(
        None,
        "The secret of a standalone cluster (`spark.authenticate.secret` of its master and workers). Other clusters"
        " get a generated one.",
        experimental=True,
    )
    pod_template: FilePath | None = _option(
        None, "File with the pod template of executors on Kubernetes.", experimental=True
    )
    executor_image: str | None = _option(
        None, "The image of executors on Kubernetes: that of lagwarden.", min_length=1, experimental=True
    )
    executor_service_account: str | None = _option(
        None,
        "The service account of executors on Kubernetes.",
        shown="that of the namespace",
        min_length=1,
        experimental=True,
    )
    namespace: str | None = _option(
        None, "The Kubernetes namespace of executors.", shown="`default`", min_length=1, experimental=True
    )
    spark_options: Annotated[dict[str, str], BeforeValidator(as_text), AfterValidator(check_spark_options)] = _option(
        dict,
        "Further settings of Spark, such as `spark.executor.memoryOverhead: 1g`. Settings that lagwarden makes itself"
        " are refused.",
        shown="none",
        experimental=True,
    )

    @property
    def master_url(self) -> MasterUrl:
        """The parsed master."""
        return MasterUrl.parse(self.master)

    @property
    def executor_count(self) -> int:
        """The number of executors; with a local master, 1."""
        url = self.master_url
        if url.size is not None:
            return url.size.executors
        return (self.executors or _EXECUTORS) if url.has_executors else 1

    @property
    def cores_per_executor(self) -> int:
        """The number of tasks that an executor runs at once."""
        size = self.master_url.size
        return (self.executor_cores or _EXECUTOR_CORES) if size is None else size.cores

    @property
    def memory_per_executor(self) -> str:
        """The heap size of an executor."""
        size = self.master_url.size
        return (self.executor_memory or _EXECUTOR_MEMORY) if size is None else f"{size.megabytes}m"

    @property
    def share(self) -> InstanceShare:
        """The groups of this instance."""
        return InstanceShare.parse(self.instance)

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


class GroupsOptions(OptionSection):
    """The history kept per group, requests about groups that the log cannot answer, owners and maintenance windows."""

    dead_grace: Seconds = _option(
        3600.0,
        "How long a removed group stays visible, with its cause of removal and its history.",
        unit="seconds",
        ge=0,
        le=604_800,
    )
    history: int = _option(
        32, "The number of latest transitions and of latest verdict changes kept per group.", ge=1, le=1000
    )
    offsets_retention: Seconds | None = _option(
        None,
        "The brokers' `offsets.retention.minutes`, for clusters where it cannot be read.",
        unit="seconds",
        shown="read from the brokers",
        gt=0,
    )
    offsets_retention_check: Seconds | None = _option(
        None,
        "The brokers' `offsets.retention.check.interval.ms`, for clusters where it cannot be read.",
        unit="seconds",
        shown="read from the brokers",
        gt=0,
    )
    asked_per_tick: int = _option(
        50,
        "The number of classic groups with members that are described per tick, oldest description first, because the"
        " log does not show when they rebalance. 0 disables this.",
        ge=0,
        le=10_000,
    )
    owners: OwnerEntries = _option(
        (),
        "Owners of groups, as a list of `{groups: PATTERN, team: …, tier: …, link: …, max_severity: …}`; the first"
        " matching pattern applies. Alerts get `team`, `tier` and `max_severity` as labels (docs/owners.md).",
        shown="none",
        experimental=True,
    )
    maintenance: MaintenanceEntries = _option(
        (),
        "Maintenance windows of groups, in which no alert about them fires, as a list of `{groups: PATTERN, from: TIME,"
        ' to: TIME}` (RFC 3339) or `{groups: PATTERN, days: [sat, sun], at: "22:30", for: 2h, timezone:'
        " Europe/Berlin}` (docs/owners.md).",
        shown="none",
        experimental=True,
    )


class HealthOptions(OptionSection):
    """The rules that evaluate groups, and their time limits. A group's own commit interval takes precedence."""

    rules: Literal["lagwarden", "burrow"] = _option(
        "lagwarden",
        "`burrow`: exactly the rules and the status words of Burrow, to compare both during a migration.",
    )
    pause: Seconds = _option(
        45.0,
        "How long any group may make no progress: a deploy, a garbage collection, a slow batch. A group that usually"
        " pauses for longer is given that time.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    restart_grace: Seconds = _option(
        30.0,
        "How long a restarting consumer may be absent before this counts.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    static_restart_grace: Seconds = _option(
        60.0,
        "The same for static members (`group.instance.id`), which do not leave the group when they stop.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    rebalance_limit: Seconds = _option(
        60.0, "How long a rebalance may take while there are unread records.", unit="seconds", gt=0, le=86_400
    )
    storm_window: Seconds = _option(
        600.0, "The time window in which rebalances are counted.", unit="seconds", ge=60, le=86_400
    )
    rolling_deploy: Seconds = _option(
        600.0,
        "How long a rolling deploy may take, in which members subscribe to the old and to the new topics.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    first_commit_grace: Seconds = _option(
        360.0,
        "How long the first commit of a partition may take; clients refresh their metadata every five minutes"
        " (`metadata.max.age.ms`).",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    loss_notice: Seconds = _option(
        3600.0, "How far ahead the loss of unread records to retention is predicted.", unit="seconds", gt=0, le=604_800
    )
    expiry_notice: Seconds = _option(
        86_400.0,
        "How long in advance the expiration of an offset is reported.",
        unit="seconds",
        gt=0,
        le=31_536_000,
    )
    day_one: Seconds = _option(
        86_400.0,
        "Faults that began before lagwarden first looked, and faults of groups without members that had not committed"
        " for this long, are shown and raise no alert (docs/alerting.md). 0: every fault does.",
        unit="seconds",
        ge=0,
        le=31_536_000,
        experimental=True,
    )
    end_points: int = _option(
        48,
        "The number of points kept per partition in the history of its end offset; 16 bytes each.",
        ge=8,
        le=1000,
    )


class LogOptions(OptionSection):
    """lagwarden's own log, on stderr."""

    level: Literal["debug", "info", "warning", "error"] = _option("info", "The lowest level to log.")
    format: Literal["auto", "json", "console"] = _option(
        "auto", "`json`: one JSON object per line; `console`: readable text; `auto`: console on a terminal, else json."
    )


class MetricsOptions(OptionSection):
    """The selection of series in `/metrics`. A pattern is a regular expression (RE2) that must match the whole name.

    The preset selects metrics, `add` and `omit` change that selection by name, `granularity` and the patterns of groups
    and topics take series away from it, and `series_budget` is the last limit.
    """

    preset: Literal["lean", "standard", "full"] = _option(
        "standard",
        "The metrics to show: `standard` has what the chart's rules and dashboards use, `lean` one series per partition"
        " of a group, `full` all. docs/metrics.md and `lagwarden metrics --estimate 2000x17` show what each costs.",
    )
    add: MetricNames = _option((), "Names of metrics to show in addition to the preset.", shown="none")
    omit: MetricNames = _option((), "Names of metrics of the preset to leave out.", shown="none")
    granularity: Literal["partition", "topic", "group"] = _option(
        "partition",
        "The finest series, also for the cluster: `topic` omits series per partition, `group` also those per topic.",
    )
    groups_allow: Patterns = _option((), "Patterns of the groups to include.", shown="every group")
    groups_deny: Patterns = _option((), "Patterns of groups to exclude, such as `console-consumer-.*`.", shown="none")
    topics_allow: Patterns = _option(
        (), "Patterns of the topics to include; totals per group always cover all of its topics.", shown="every topic"
    )
    topics_deny: Patterns = _option((), "Patterns of topics to exclude.", shown="none")
    fold: Patterns = _option(
        (),
        "Patterns of groups to show as one: the groups that match a pattern have the series of one group, named by the"
        " pattern.",
        shown="none",
        experimental=True,
    )
    fold_generated: int = _option(
        10,
        "Groups with generated names (docs/metrics.md) of one pattern, such as `console-consumer-*`, are shown as one"
        " if there are at least this many; 0: never.",
        ge=0,
        experimental=True,
    )
    series_budget: int = _option(
        300_000,
        "The maximum number of series, a quarter of it about the cluster, the rest about groups. Beyond it, whole"
        " metrics are dropped, the least important first: of dead groups, then per partition, per topic and per group."
        " Dropped series are counted. 0: no limit. The default has room for about 50,000 partitions of groups with the"
        " preset `standard`; it keeps a cluster that grows from taking gigabytes of memory from Prometheus.",
        ge=0,
    )
    compatibility: Peers = _option(
        (),
        "Exporters whose names to show too, beside lagwarden's own: `kafka_exporter`, `kafka_lag_exporter`, `kminion`,"
        " `burrow_exporter`, `burrow` (Burrow's own `/metrics`, and its API under `/v3/kafka`). Their dashboards and"
        " alert rules then work unchanged; docs/migration/ has what maps to what and what it costs. The preset does not"
        " apply to them, all other options of this section but `add`, `omit` and the folds do. The series budget drops"
        " them before lagwarden's own.",
        shown="none",
        experimental=True,
    )
    compatibility_cluster: str = _option(
        "kafka",
        "The value of the labels `cluster` (Burrow) and `cluster_name` (kafka-lag-exporter) of `compatibility`: the"
        " name that the cluster has in the configuration of the other exporter.",
        min_length=1,
        experimental=True,
    )
    targets: Targets = _option(
        (),
        "The highest acceptable time lag per group, as `PATTERN=DURATION`, such as `[billing-.*=30s, .*=10m]`; the"
        " first matching pattern applies. Alerts compare the time lag with it; a group without a target is alerted on"
        " by its verdict.",
        shown="none",
    )


class WebhookOptions(OptionSection):
    """A webhook that receives each change of a group's verdict as a CloudEvent (docs/webhook.md)."""

    url: Annotated[str, AfterValidator(check_webhook_url)] | None = _option(
        None,
        "URL of the receiver, `https` or `http`; without it nothing is sent.",
        shown="none",
        experimental=True,
    )
    bearer_token_file: Path | None = _option(
        None,
        "A file with a token to send as `Authorization: Bearer`. It is read again for each request.",
        experimental=True,
    )
    ca_file: FilePath | None = _option(
        None,
        "PEM file of additional authorities that sign the certificate of the receiver.",
        shown="the system's authorities",
        experimental=True,
    )
    timeout: Seconds = _option(
        10.0,
        "Timeout of one request.",
        unit="seconds",
        ge=0.1,
        le=120,
        experimental=True,
    )
    queue: int = _option(
        10_000,
        "The maximum number of events that wait in the checkpoint directory; beyond it the oldest are dropped and"
        " counted.",
        ge=1,
        le=1_000_000,
        experimental=True,
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        given = [name for name in ("bearer_token_file", "ca_file") if getattr(self, name) is not None]
        if self.url is None:
            return [(name, "has no effect without webhook.url") for name in given]
        if self.ca_file is not None and not self.url.startswith("https"):
            return [("ca_file", "has no effect with an http URL")]
        return []


class OtlpOptions(OptionSection):
    """The export of all metrics by OTLP over HTTP with protobuf, beside `/metrics` (docs/otlp.md)."""

    endpoint: Annotated[str, AfterValidator(check_otlp_endpoint)] | None = _option(
        None,
        "URL of the receiver, `https` or `http`, with its path, such as `http://collector:4318/v1/metrics`; without it"
        " nothing is sent. Requires `pip install lagwarden[otlp]`; the image has it.",
        shown="none",
        experimental=True,
    )
    interval: Seconds = _option(
        60.0, "The interval between two exports.", unit="seconds", ge=1, le=3600, experimental=True
    )
    timeout: Seconds = _option(
        10.0,
        "Timeout of one request, with its repetitions. An export has a request per 2,000 data points.",
        unit="seconds",
        ge=0.1,
        le=120,
        experimental=True,
    )
    headers_file: Path | None = _option(
        None,
        "A file with headers to send, a line `Name: value` each, such as a token. It is read again for each request.",
        experimental=True,
    )
    ca_file: FilePath | None = _option(
        None,
        "PEM file of the authorities that sign the certificate of the receiver.",
        shown="the authorities of the package `certifi`",
        experimental=True,
    )
    certificate_file: FilePath | None = _option(
        None, "PEM file of the client certificate, for mutual TLS.", experimental=True
    )
    key_file: FilePath | None = _option(
        None, "PEM file of the private key of the client certificate.", experimental=True
    )
    resource_attributes: Annotated[dict[str, str], AfterValidator(check_resource_attributes)] = _option(
        dict,
        "Attributes of the resource, such as `service.instance.id=lagwarden-0,deployment.environment=production`."
        " Defaults: `service.name` is lagwarden, `service.instance.id` the host name.",
        shown="none",
        experimental=True,
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        tls = ("ca_file", "certificate_file", "key_file")
        given = [name for name in ("headers_file", *tls) if getattr(self, name) is not None]
        if self.endpoint is None:
            return [(name, "has no effect without otlp.endpoint") for name in given]
        if not self.endpoint.startswith("https"):
            return [(name, "has no effect with an http URL") for name in given if name in tls]
        if (self.certificate_file is None) != (self.key_file is None):
            absent = "key_file" if self.key_file is None else "certificate_file"
            return [(absent, "must be set too: mutual TLS needs certificate_file and key_file")]
        return []


class Config(BaseModel):
    """All sections, built by `stream.config.loader.load`. Only `kafka.bootstrap_servers` has no default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kafka: KafkaOptions
    cluster: ClusterOptions = Field(default_factory=ClusterOptions)
    http: HttpOptions = Field(default_factory=HttpOptions)
    checkpoint: CheckpointOptions = Field(default_factory=CheckpointOptions)
    job: JobOptions = Field(default_factory=JobOptions)
    groups: GroupsOptions = Field(default_factory=GroupsOptions)
    health: HealthOptions = Field(default_factory=HealthOptions)
    log: LogOptions = Field(default_factory=LogOptions)
    metrics: MetricsOptions = Field(default_factory=MetricsOptions)
    webhook: WebhookOptions = Field(default_factory=WebhookOptions)
    otlp: OtlpOptions = Field(default_factory=OtlpOptions)

    def masked(self) -> dict[str, Any]:
        """Return the effective values as plain data, with every secret replaced by stars."""
        shown: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        for section, option in (("kafka", "oauth_extensions"), ("job", "spark_options")):
            shown[section][option] = {
                name: STARS if _SECRET_OPTION.search(name) else value for name, value in shown[section][option].items()
            }
        return shown


def contradictions_between(sections: Mapping[str, OptionSection | None]) -> list[tuple[str, str, str]]:
    """Return (section, option, problem) for values of different sections that contradict each other."""
    names = ("job", "checkpoint", "kafka", "http", "webhook")
    job, checkpoint, kafka, http, webhook = (sections.get(name) for name in names)
    if not isinstance(job, JobOptions):
        return []
    found = []
    if isinstance(http, HttpOptions) and len(http.siblings) not in {0, job.share.instances}:
        wanted = f"must have an address for each of {job.share.instances}, as job.instance is {job.instance}"
        found.append(("http", "siblings", f"{wanted}; it has {len(http.siblings)}"))
    master, with_master = job.master_url, f"with job.master {job.master}"
    if isinstance(checkpoint, CheckpointOptions):
        in_store = isinstance(checkpoint.dir, ObjectAddress)
        if master.is_on_other_machines and not checkpoint.shared and not in_store:
            advice = "put checkpoint.dir on a volume that this machine and all executors mount at the same path"
            found.append(("checkpoint", "shared", f"must be true {with_master}: {advice}, and set it"))
        if in_store and isinstance(webhook, WebhookOptions) and webhook.url is not None:
            found.append(("webhook", "url", f"needs a checkpoint in a directory for its queue, not {checkpoint.dir}"))
        if checkpoint.shared and not master.has_executors:
            found.append(("checkpoint", "shared", f"has no effect {with_master}"))
    if isinstance(kafka, KafkaOptions) and master.is_on_other_machines:
        found += [
            ("kafka", name, f"must be set as {name}_file {with_master}: executors read the file, at the same path")
            for name in kafka.secrets_outside_files
        ]
    return found


_EXECUTORS: Final = 2
_EXECUTOR_CORES: Final = 1
_EXECUTOR_MEMORY: Final = "1g"

_LOGINS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    **dict.fromkeys(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), (("sasl_username", "sasl_password"), ())),
    "OAUTHBEARER": (
        ("oauth_token_endpoint", "oauth_client_id", "oauth_client_secret"),
        ("oauth_scope", "oauth_ca_file", "oauth_extensions"),
    ),
    "oauth_token_file": (("oauth_token_file",), ("oauth_extensions",)),
    "AWS_MSK_IAM": ((), ("aws_region",)),
}
"""The needed and the optional options of each login: a SASL mechanism, or OAUTHBEARER with a token file."""

_LOGIN_OPTIONS: Final = (
    "sasl_mechanism",
    *dict.fromkeys(name for needed, optional in _LOGINS.values() for name in (*needed, *optional)),
)

_SECRET_OPTION: Final = re.compile(r"password|secret|token|credential|jaas|auth|key", re.IGNORECASE)
"""Matches the names of SASL extensions that may hold a secret."""

SECTIONS: Final[dict[str, type[OptionSection]]] = {
    "kafka": KafkaOptions,
    "cluster": ClusterOptions,
    "http": HttpOptions,
    "checkpoint": CheckpointOptions,
    "job": JobOptions,
    "groups": GroupsOptions,
    "health": HealthOptions,
    "log": LogOptions,
    "metrics": MetricsOptions,
    "webhook": WebhookOptions,
    "otlp": OtlpOptions,
}
"""The sections in the order of the documentation."""

SECRETS: Final = frozenset({
    "kafka.sasl_password", "kafka.oauth_client_secret", "kafka.ssl_key_password", "job.auth_secret"
})  # fmt: skip
"""Keys whose values are never printed, and that can be read from the file named by KEY_file."""
