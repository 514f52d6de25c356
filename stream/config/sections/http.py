"""The HTTP server."""

from pathlib import Path

from stream.config.sections.option import OptionSection, experimental, option
from stream.config.values import BaseUrl, BaseUrls, HostNames, MessagesUrl


class HttpOptions(OptionSection):
    """The HTTP server for `/metrics`, `/livez`, `/readyz`, the API and the status page."""

    host: str = option(
        "0.0.0.0",  # noqa: S104 -- Prometheus scrapes from another host
        "The address to listen on; `127.0.0.1` accepts connections from this machine only.",
        min_length=1,
    )
    # All ports of 9100-9999, the range that Prometheus exporters register, are taken, and 9848 is used by Nacos.
    # 10848 lies above that range and below the ephemeral ports.
    port: int = option(10848, "The port to listen on; 0 selects a free port and logs it.", ge=0, le=65535)
    max_connections: int = option(
        512, "Open connections, beyond which a new one replaces an idle one, or is refused.", ge=16, le=100_000
    )
    max_connections_per_address: int = option(
        128, "The same per client address; all clients behind a proxy share one.", ge=8, le=100_000
    )

    web_config: Path | None = option(
        None, "A file in Prometheus' web configuration format, with TLS and users (docs/http.md)."
    )
    bearer_token_file: Path | None = option(None, "A file with a token that clients may send instead of a password.")

    allowed_hosts: HostNames = option(
        (), "Names of this server that a request may have as `Host`; `*` stands for any text (docs/http.md)."
    )

    hide_members: bool = option(
        False, "Show generated names instead of the ids, client ids, hosts and racks of members (docs/http.md)."
    )

    external_url: BaseUrl | None = option(
        None, "The address at which people reach these pages, for links in alerts of the webhook."
    )
    grafana_url: BaseUrl | None = option(
        None, "Base URL of Grafana: pages of groups link to the dashboard there (`/d/lagwarden-group`)."
    )
    runbook_url: BaseUrl | None = option(
        None, "Base URL of your own runbooks, before `/ALERT`, instead of those that lagwarden serves."
    )

    messages_url: MessagesUrl | None = option(
        None,
        "URL of your message browser, with `{topic}`, `{partition}` and `{offset}`: the page of a group links to the"
        " record at which it is stuck. Kafbat UI: `https://kafka.example/ui/clusters/NAME/all-topics/{topic}/messages?"
        "seekType=OFFSET&seekTo={partition}::{offset}`.",
    )

    siblings: BaseUrls = experimental(
        (), "Base URLs of all instances of `job.instance`, from the first to the last, for links."
    )

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        if self.max_connections_per_address > self.max_connections:
            return [("max_connections_per_address", "must not be greater than max_connections")]
        return []
