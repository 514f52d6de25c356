"""What leaves the process beside HTTP: log, metrics, webhook, history and OTLP."""

from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, FilePath

from stream.config import values
from stream.config.sections.option import OptionSection, experimental, option, seconds


class LogOptions(OptionSection):
    """lagwarden's own log, on stderr."""

    level: Literal["debug", "info", "warning", "error"] = option("info", "The lowest level to log.")
    format: Literal["auto", "json", "console"] = option("auto", "`auto`: console on a terminal, else json.")


_OTHER_CLUSTER: Final = "kafka"
_ALERTS_PATH: Final = "/api/v2/alerts"


class MetricsOptions(OptionSection):
    """The selection of series in `/metrics`. A pattern is a regular expression (RE2) that must match the whole name."""

    preset: Literal["lean", "standard", "full"] = option(
        "standard", "The metrics to show; docs/metrics.md has what each costs."
    )
    add: values.MetricNames = option((), "Names of metrics to show in addition to the preset.")
    omit: values.MetricNames = option((), "Names of metrics of the preset to leave out.")
    granularity: Literal["partition", "topic", "group"] = option(
        "partition", "The finest series: `topic` omits those per partition, `group` also those per topic."
    )
    groups_allow: values.Patterns = option((), "Patterns of the groups to include.", shown="every group")
    groups_deny: values.Patterns = option((), "Patterns of groups to exclude, such as `console-consumer-.*`.")
    topics_allow: values.Patterns = option(
        (), "Patterns of the topics to include; totals per group cover all topics.", shown="every topic"
    )
    topics_deny: values.Patterns = option((), "Patterns of topics to exclude.")
    fold: values.Patterns = experimental((), "Patterns of groups to show as one group, named by the pattern.")
    fold_generated: int = experimental(
        10, "From how many on groups with generated names of one pattern are shown as one; 0: never.", ge=0
    )
    series_budget: int = option(300_000, "The maximum number of series (docs/metrics.md). 0: no limit.", ge=0)
    cluster_name: values.LabelText | None = option(
        None, "The name of the cluster, such as `orders-eu`, as the label `cluster` of every series.", shown="no label"
    )
    compatibility: values.OtherExporters = experimental(
        (),
        "Exporters whose names to show too: `kafka_exporter`, `kafka_lag_exporter`, `kminion`, `burrow_exporter`,"
        " `burrow` (docs/migration/).",
    )
    compatibility_cluster: values.LabelText | None = experimental(
        None,
        "The value of the labels `cluster` (Burrow) and `cluster_name` (kafka-lag-exporter) of `compatibility`.",
        shown="cluster_name, else `kafka`",
    )
    targets: values.Targets = option(
        (),
        "The highest acceptable time lag per group, as `PATTERN=DURATION`; the first match applies (docs/alerting.md).",
    )

    @property
    def other_cluster(self) -> str:
        """The name of the cluster in the own labels of other exporters."""
        return self.compatibility_cluster or self.cluster_name or _OTHER_CLUSTER


class WebhookOptions(OptionSection):
    """A webhook that receives the changes of groups' verdicts: CloudEvents, or alerts (docs/webhook.md)."""

    url: values.WebhookUrls = experimental(
        (), "URL of the receiver, or those of all instances of a cluster of Alertmanagers."
    )
    format: Literal["cloudevents", "alertmanager"] = experimental(
        "cloudevents", "`cloudevents`: each change of a verdict once; `alertmanager`: the unhealthy groups as alerts."
    )
    bearer_token_file: Path | None = experimental(None, "A file with a token to send as `Authorization: Bearer`.")
    ca_file: FilePath | None = experimental(
        None, "PEM file of additional authorities for the receiver.", shown="the system's authorities"
    )
    timeout: values.Seconds = seconds(10.0, "Timeout of one request.", least=0.1, most=120, experimental=True)
    queue: int = experimental(
        10_000,
        "Events that may wait, beyond which the oldest are dropped; or alerts, beyond which the least severe are.",
        ge=1,
        le=1_000_000,
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        given = [name for name in ("bearer_token_file", "ca_file") if getattr(self, name) is not None]
        is_alertmanager = self.format == "alertmanager"
        if not self.url:
            given += ["format"] if is_alertmanager else []
            return [(name, "has no effect without webhook.url") for name in given]
        if not is_alertmanager and len(self.url) > 1:
            return [("url", "must be one URL with webhook.format cloudevents")]
        if is_alertmanager and not all(urlsplit(url).path.endswith(_ALERTS_PATH) for url in self.url):
            wanted = f"must end in {_ALERTS_PATH} with webhook.format alertmanager"
            return [("url", f"{wanted}, such as http://alertmanager:9093{_ALERTS_PATH}")]
        if self.ca_file is not None and not any(url.startswith("https") for url in self.url):
            return [("ca_file", "has no effect with an http URL")]
        return []


class HistoryOptions(OptionSection):
    """What the monitor finds, kept as Parquet files (docs/queries.md)."""

    dir: Path | None = experimental(
        None, "The directory for the tables `verdicts` and `events`. Nothing in it is ever deleted."
    )


class OtlpOptions(OptionSection):
    """The export of all metrics by OTLP over HTTP with protobuf, beside `/metrics` (docs/otlp.md)."""

    endpoint: Annotated[str, AfterValidator(values.check_otlp_endpoint)] | None = experimental(
        None,
        "URL of the receiver with its path, such as `http://collector:4318/v1/metrics`. Requires the extra `otlp`.",
    )
    interval: values.Seconds = seconds(60.0, "The interval between two exports.", least=1, most=3600, experimental=True)
    timeout: values.Seconds = seconds(
        10.0, "Timeout of one request, with its repetitions.", least=0.1, most=120, experimental=True
    )
    headers_file: Path | None = experimental(None, "A file with headers to send, a line `Name: value` each.")
    ca_file: FilePath | None = experimental(
        None, "PEM file of additional authorities for the receiver.", shown="the system's authorities"
    )
    certificate_file: FilePath | None = experimental(None, "PEM file of the client certificate, for mutual TLS.")
    key_file: FilePath | None = experimental(None, "PEM file of the private key of the client certificate.")
    resource_attributes: Annotated[dict[str, str], AfterValidator(values.check_resource_attributes)] = experimental(
        dict, "Attributes of the resource, such as `service.instance.id=lagwarden-0` (docs/otlp.md)."
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
