"""The configuration: one frozen tree of sections (`stream.config.sections`), and which values contradict each other.

`stream.config.loader` reads files, environment and flags; `stream.config.reference_page` prints `docs/config.md` from
these classes.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, get_type_hints
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from stream.config.object_address import ObjectAddress
from stream.config.secret_sources import STARS
from stream.config.sections.checkpoint import CheckpointOptions
from stream.config.sections.groups import GroupsOptions, HealthOptions
from stream.config.sections.http import HttpOptions
from stream.config.sections.job import JobOptions
from stream.config.sections.kafka import ClusterOptions, KafkaOptions
from stream.config.sections.option import OptionSection
from stream.config.sections.output import HistoryOptions, LogOptions, MetricsOptions, OtlpOptions, WebhookOptions


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
    history: HistoryOptions = Field(default_factory=HistoryOptions)
    otlp: OtlpOptions = Field(default_factory=OtlpOptions)

    def masked(self) -> dict[str, Any]:
        """Return the effective values as plain data, with every secret replaced by stars."""
        shown: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        for section, option in (("kafka", "oauth_extensions"), ("job", "spark_options")):
            shown[section][option] = {
                name: STARS if _SECRET_OPTION.search(name) else value for name, value in shown[section][option].items()
            }
        shown["webhook"]["url"] = [_without_path(url) for url in self.webhook.url]
        return shown


def contradictions_between(sections: Mapping[str, OptionSection | None]) -> list[tuple[str, str, str]]:
    """Return (section, option, problem) for values of different sections that contradict each other."""
    names = ("job", "checkpoint", "kafka", "http", "webhook")
    job, checkpoint, kafka, http, webhook = (sections.get(name) for name in names)
    if not isinstance(job, JobOptions):
        return []
    found = []
    if isinstance(http, HttpOptions) and len(http.siblings) not in {0, job.part.instances}:
        wanted = f"must have an address for each of {job.part.instances}, as job.instance is {job.instance}"
        found.append(("http", "siblings", f"{wanted}; it has {len(http.siblings)}"))
    master, with_master = job.master_url, f"with job.master {job.master}"
    if isinstance(checkpoint, CheckpointOptions):
        in_store = isinstance(checkpoint.dir, ObjectAddress)
        if master.is_on_other_machines and not checkpoint.shared and not in_store:
            advice = "put checkpoint.dir on a volume that this machine and all executors mount at the same path"
            found.append(("checkpoint", "shared", f"must be true {with_master}: {advice}, and set it"))
        if in_store and isinstance(webhook, WebhookOptions) and webhook.url and webhook.format == "cloudevents":
            found.append(("webhook", "url", f"needs a checkpoint in a directory for its queue, not {checkpoint.dir}"))
        if checkpoint.shared and not master.has_executors:
            found.append(("checkpoint", "shared", f"has no effect {with_master}"))
    if isinstance(kafka, KafkaOptions) and master.is_on_other_machines:
        found += [
            ("kafka", name, f"must be set as {name}_file {with_master}: executors read the file, at the same path")
            for name in kafka.secrets_outside_files
        ]
    return found


def _without_path(url: str) -> str:
    """Return scheme, host and port of a URL; path and query may have a token and are shown as stars."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return f"{origin}/{STARS}" if parts.path.strip("/") or parts.query else origin


_SECRET_OPTION: Final = re.compile(r"password|secret|token|credential|jaas|auth|key", re.IGNORECASE)
"""Matches the names of SASL extensions that may hold a secret."""

SECTIONS: Final[dict[str, type[OptionSection]]] = {name: get_type_hints(Config)[name] for name in Config.model_fields}
"""The sections in the order of the documentation."""

SECRETS: Final = frozenset({
    "kafka.sasl_password", "kafka.oauth_client_secret", "kafka.ssl_key_password", "job.auth_secret"
})  # fmt: skip
"""Keys whose values are never printed, and that can be read from the file named by KEY_file."""
