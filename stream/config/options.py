"""The configuration: one frozen tree, a section per part, every option with default, unit and help.

Owns what can be set, what it means and which values make sense together. Reading files, environment and flags is
`stream.config.loader`; the page `docs/config.md` is printed from these classes by `stream.config.reference_page`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FilePath, JsonValue, SecretStr

from stream.config.values import (
    Address,
    Patterns,
    Seconds,
    Targets,
    check_consumer_options,
    check_heap_size,
    class_archive_folder,
    connector_jars_folder,
    java_key_problem,
    parse_addresses,
)


def _option(default: Any, what: str, *, unit: str = "", shown: str | None = None, **limits: Any) -> Any:
    """Declare an option: default, help, the unit of its number, and how the default is written in the documentation."""
    about: dict[str, JsonValue] = {"unit": unit, "shown": shown}
    if callable(default):
        return Field(default_factory=default, description=what, json_schema_extra=about, **limits)
    return Field(default=default, description=what, json_schema_extra=about, **limits)


class OptionSection(BaseModel):
    """A group of options. Frozen; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def contradictions(self) -> list[tuple[str, str]]:
        """Give (option, problem) for values that are each right but do not go together."""
        return []


class KafkaOptions(OptionSection):
    """The cluster to watch, and how to log in to it."""

    bootstrap_servers: Annotated[tuple[Address, ...], BeforeValidator(parse_addresses)] = _option(
        ..., "Brokers to begin with, as `host:port`, separated by commas. Two or three are enough."
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = _option(
        "PLAINTEXT", "What the brokers' listener speaks."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = _option(
        None, "How to log in; needed with the `SASL_` protocols."
    )
    sasl_username: str | None = _option(None, "The user to log in as.", min_length=1)
    sasl_password: SecretStr | None = _option(None, "The user's password.")
    ssl_ca_file: FilePath | None = _option(
        None, "PEM file of the authorities that sign the brokers' certificates.", shown="the system's authorities"
    )
    ssl_certificate_file: FilePath | None = _option(None, "PEM file of the client's own certificate, for mutual TLS.")
    ssl_key_file: FilePath | None = _option(None, "PEM file (PKCS#8) of the key that belongs to the certificate.")
    ssl_key_password: SecretStr | None = _option(None, "The password of an encrypted key.")
    ssl_verify_hostname: bool = _option(True, "Whether the broker's certificate must contain its host name.")
    request_timeout: Seconds = _option(
        10.0,
        "How long one request to the cluster may take, opening the connection included.",
        unit="seconds",
        ge=1,
        le=300,
    )
    consumer_options: Annotated[dict[str, str], AfterValidator(check_consumer_options)] = _option(
        dict, "More options of the Java consumer in Spark's source, such as `fetch.max.bytes`.", shown="none"
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        return [*self._login_contradictions(), *self._tls_contradictions()]

    def _login_contradictions(self) -> list[tuple[str, str]]:
        options = ("sasl_mechanism", "sasl_username", "sasl_password")
        if self.security_protocol.startswith("SASL"):
            missing = [name for name in options if getattr(self, name) is None]
            return [(name, f"is needed with security_protocol {self.security_protocol}") for name in missing]
        idle = [name for name in options if getattr(self, name) is not None]
        return [(name, f"has no effect with security_protocol {self.security_protocol}") for name in idle]

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
        if self.ssl_key_file is not None and (problem := java_key_problem(self.ssl_key_file.read_bytes())):
            found.append(("ssl_key_file", problem))
        return found


class ClusterOptions(OptionSection):
    """The facts about the cluster beside the groups: brokers, topics, settings, the size of `__consumer_offsets`."""

    interval: Seconds = _option(
        60.0, "How often the cluster is asked for them; 0 turns them off.", unit="seconds", ge=0, le=3600
    )
    partitions_shown: int = _option(
        10_000,
        "Partitions that have series of their own. In a cluster with more, those out of order (without a leader,"
        " under-replicated, led by another broker than the preferred one) come first; topics are always counted whole.",
        ge=0,
        le=1_000_000,
    )


class HttpOptions(OptionSection):
    """Where `/metrics`, `/livez`, `/readyz`, the API and the status page are served."""

    host: str = _option(
        "0.0.0.0",  # noqa: S104 -- Prometheus scrapes from another host
        "The address to listen on; `127.0.0.1` keeps it to this machine.",
        min_length=1,
    )
    # 9100-9999, the range that Prometheus exporters agree upon, is given away to the last number, and 9848 in it
    # belongs to Nacos. 10848 is above it and below the ports that systems hand out by themselves.
    port: int = _option(10848, "The port to listen on; 0 takes a free one and logs it.", ge=0, le=65535)
    max_connections: int = _option(
        512,
        "How many connections may be open at once. For a new one beyond, one that is idle or does not read is closed,"
        " of the address with the most; if there is none, the new one is refused.",
        ge=16,
        le=100_000,
    )
    max_connections_per_address: int = _option(
        128,
        "The same for one client address; all clients behind a proxy or NAT have one.",
        ge=8,
        le=100_000,
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        if self.max_connections_per_address > self.max_connections:
            return [("max_connections_per_address", "must not be greater than max_connections")]
        return []


class CheckpointOptions(OptionSection):
    """Where the job keeps its state over restarts."""

    # A local folder: the process holds a lock in it.
    dir: Path = _option(
        Path("lagwarden-checkpoint"), "A folder on this machine. It belongs to one process and to one cluster."
    )


class JobOptions(OptionSection):
    """The streaming job and the rhythm of its reader."""

    trigger_interval: Seconds = _option(5.0, "How often a micro-batch starts.", unit="seconds", gt=0, le=3600)
    tick_interval: Seconds = _option(
        10.0, "How often ends are read, lag is computed and a new snapshot is published.", unit="seconds", gt=0, le=3600
    )
    max_offsets_per_trigger: int = _option(
        15_000_000, "The largest micro-batch; it only shapes the catch-up.", unit="records", ge=1000
    )
    shards: int = _option(
        64,
        "Pieces of the state: 64 up to 20,000 groups, 256 beyond. Fixed for the life of a checkpoint.",
        ge=1,
        le=4096,
    )
    commit_window_slots: int = _option(10, "How many slots of recent commits are kept per partition.", ge=2, le=1000)
    commit_window_slot_seconds: int = _option(30, "How much time one slot holds.", unit="seconds", ge=1, le=86400)
    master: str = _option("local[*]", "Spark's master: `local[N]` runs N tasks in this process.", min_length=1)
    driver_memory: Annotated[str, AfterValidator(check_heap_size)] = _option(
        "2g", "The heap of Spark's JVM, such as `1536m`."
    )
    connector_jars: Path = _option(
        connector_jars_folder,
        "The folder with the jars of Spark's Kafka connector.",
        shown="`jars/connector` in lagwarden's cache folder",
    )
    class_archive: Path = _option(
        class_archive_folder,
        "The folder with the archive of the JVM's classes that `make setup` and the image's build write. "
        "Without it Spark starts slower.",
        shown="`classes` in lagwarden's cache folder",
    )
    read_tasks: int | None = _option(
        None,
        "How many tasks read and decode at once. Fixed for the life of a checkpoint: "
        "after a change the topic is read again.",
        shown="as many as there are cores",
        ge=1,
        le=10_000,
    )
    freshness_limit: Seconds = _option(60.0, "A snapshot older than this makes `/readyz` red.", unit="seconds", gt=0)
    watchdog_limit: Seconds = _option(
        600.0,
        "Without a finished micro-batch for so long, the process ends itself to be started again.",
        unit="seconds",
        gt=0,
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        found = []
        if self.freshness_limit < 2 * self.tick_interval:
            found.append(("freshness_limit", "must be at least twice tick_interval, else readiness flickers"))
        if self.watchdog_limit < 4 * self.trigger_interval:
            found.append(("watchdog_limit", "must be at least four times trigger_interval"))
        return found


class GroupsOptions(OptionSection):
    """What is remembered of groups, and what is asked about them beside the log."""

    dead_grace: Seconds = _option(
        3600.0,
        "How long a group that died stays visible with its cause, and its history remembered.",
        unit="seconds",
        ge=0,
        le=604_800,
    )
    history: int = _option(32, "How many of a group's newest transitions are remembered.", ge=1, le=1000)
    offsets_retention: Seconds | None = _option(
        None,
        "How long the brokers keep the offsets of an unused group, where they do not tell it themselves.",
        unit="seconds",
        shown="asked from the brokers",
        gt=0,
    )
    offsets_retention_check: Seconds | None = _option(
        None,
        "How often the brokers look for expired offsets, where they do not tell it themselves.",
        unit="seconds",
        shown="asked from the brokers",
        gt=0,
    )
    asked_per_tick: int = _option(
        50,
        "Classic groups with members whose state is asked from the cluster at each tick, oldest answer first; the log"
        " does not tell when they rebalance. 0 asks for none.",
        ge=0,
        le=10_000,
    )


class HealthOptions(OptionSection):
    """By which rules groups are judged, and the times that these go by. A group's own cadence stands above them."""

    rules: Literal["lagwarden", "burrow"] = _option(
        "lagwarden",
        "`burrow`: exactly the rules of Burrow, in its words, for those who move from it and want to compare.",
    )
    restart_grace: Seconds = _option(
        30.0,
        "What a consumer may take to come back before its absence means something.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    static_restart_grace: Seconds = _option(
        60.0,
        "The same for static members (`group.instance.id`), whose leaving nobody sees.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    rebalance_limit: Seconds = _option(
        60.0, "How long a rebalance may take while records wait.", unit="seconds", gt=0, le=86_400
    )
    storm_window: Seconds = _option(
        600.0, "The stretch of time in which rebalances are counted.", unit="seconds", ge=60, le=86_400
    )
    first_commit_grace: Seconds = _option(
        360.0,
        "How long the first commit of a partition may take; clients look for new partitions every five minutes.",
        unit="seconds",
        gt=0,
        le=86_400,
    )
    loss_notice: Seconds = _option(
        3600.0, "How far ahead a loss of unread records to retention is foretold.", unit="seconds", gt=0, le=604_800
    )
    expiry_notice: Seconds = _option(
        86_400.0,
        "How long before the brokers forget an offset this is said.",
        unit="seconds",
        gt=0,
        le=31_536_000,
    )
    end_points: int = _option(
        48,
        "How many points of the history of each partition's end are kept; 16 bytes each.",
        ge=8,
        le=1000,
    )


class LogOptions(OptionSection):
    """What lagwarden says about itself, on stderr."""

    level: Literal["debug", "info", "warning", "error"] = _option("info", "The least important message to print.")
    format: Literal["auto", "json", "console"] = _option(
        "auto", "`json`: a JSON object per line; `console`: for people; `auto`: console on a terminal, else json."
    )


class MetricsOptions(OptionSection):
    """What of all that is known stands in `/metrics`; a pattern is a regular expression (RE2) of the whole name."""

    granularity: Literal["partition", "topic", "group"] = _option(
        "partition",
        "The finest series, also of the cluster: `topic` leaves out those of partitions, `group` those of topics too.",
    )
    groups_allow: Patterns = _option((), "Patterns of the groups to show.", shown="every group")
    groups_deny: Patterns = _option((), "Patterns of groups to leave out, such as `console-consumer-.*`.", shown="none")
    topics_allow: Patterns = _option(
        (), "Patterns of the topics to show; a group's own numbers are about all of its topics.", shown="every topic"
    )
    topics_deny: Patterns = _option((), "Patterns of topics to leave out.", shown="none")
    series_budget: int | None = _option(
        None,
        "How many series about groups there may be at most. Where there are more, those of dead groups are left out,"
        " then whole metrics of partitions, topics and groups, the least important first. What is left out is counted.",
        shown="no limit",
        ge=100,
    )
    targets: Targets = _option(
        (),
        "The time lag that is still good, as `PATTERN=DURATION` by group, such as `[billing-.*=30s, .*=10m]`; the"
        " first pattern that matches counts. Alerts compare with it; a group without one is judged by its verdict.",
        shown="none",
    )


class Config(BaseModel):
    """All sections. Built by `stream.config.loader.load`; only `kafka.bootstrap_servers` has no default."""

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

    def masked(self) -> dict[str, Any]:
        """Give the effective values as plain data, every secret as stars."""
        shown: dict[str, Any] = self.model_dump(mode="json")
        options = shown["kafka"]["consumer_options"]
        shown["kafka"]["consumer_options"] = {
            name: _STARS if _SECRET_OPTION.search(name) else value for name, value in options.items()
        }
        return shown


_STARS: Final = "**********"
_SECRET_OPTION: Final = re.compile(r"password|secret|token|credential|jaas|auth|key", re.IGNORECASE)
"""Names of Kafka client options that may hold a secret."""

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
}
"""The sections in the order of the documentation."""

SECRETS: Final = frozenset({"kafka.sasl_password", "kafka.ssl_key_password"})
"""Keys whose values are never shown, and that can be read from a file named by KEY_file."""
