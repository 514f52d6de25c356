"""TLS and logins of the HTTP server, and what it hides, from the options of the section `http`."""

import time
from collections.abc import Callable
from typing import Final

import structlog

from exporters.cluster.exposition import PublishedCluster
from exporters.compatibility.burrow_responses import BurrowCluster
from exporters.compatibility.selection import BURROW
from exporters.group_search import hidden_members
from exporters.http.access.web_access import WebAccess
from exporters.http.access.web_config import WebConfigError
from exporters.member_quotas import with_quotas
from exporters.page.links import PageLinks
from exporters.readmodel import GroupDetail
from stream.config.options import Config, HttpOptions
from stream.errors import ExitCode, Refusal

_COMMAND_CONFIG: Final = "client.properties"
"""The file that the commands of the pages name for TLS and SASL settings: that of Kafka's own documentation."""

_log = structlog.get_logger(__name__)


def open_web_access(http: HttpOptions, clock: Callable[[], float] = time.monotonic) -> WebAccess:
    """Return the access to the HTTP server; changes of its files are logged. Raises Refusal."""
    try:
        return WebAccess(
            http.web_config,
            http.bearer_token_file,
            on_fault=lambda why: _log.error("web configuration unusable; the previous one stays in force", cause=why),
            on_reload=lambda: _log.info("web configuration read again"),
            clock=clock,
        )
    except WebConfigError as error:
        raise Refusal(
            str(error), "correct the files of http.web_config and http.bearer_token_file", ExitCode.USAGE
        ) from error


def served_burrow(config: Config) -> BurrowCluster | None:
    """Return the cluster of Burrow's API with its configured names; None if `metrics.compatibility` has no `burrow`."""
    if BURROW.name not in config.metrics.compatibility:
        return None
    refresh = max(round(config.job.tick_interval), 1)
    return BurrowCluster(config.metrics.other_cluster, config.kafka.bootstrap_servers, refresh)


def page_links(config: Config) -> PageLinks:
    """Return the links of the pages to other services, what their commands name, and the name of the cluster."""
    http, kafka = config.http, config.kafka
    return PageLinks(
        http.grafana_url,
        http.runbook_url,
        kafka.bootstrap_servers,
        _COMMAND_CONFIG if kafka.uses_tls or kafka.uses_sasl else None,
        config.metrics.cluster_name,
        http.messages_url,
        http.external_url,
    )


def served_details(
    http: HttpOptions,
    details: Callable[[str], GroupDetail | None],
    cluster: Callable[[], PublishedCluster | None] = lambda: None,
) -> Callable[[str], GroupDetail | None]:
    """Return the function that gives API and pages the details of a group.

    They have the quotas of its members, which `cluster` knows; if so configured, members are hidden, and so are quotas.
    """
    return hidden_members(details) if http.hide_members else lambda group: with_quotas(details(group), cluster())
