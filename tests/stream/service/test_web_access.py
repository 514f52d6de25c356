"""TLS, logins and hidden members of the HTTP server from the options, with their errors and log lines."""

import dataclasses
import inspect
import os
import types
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import structlog

from exporters.compatibility.burrow_responses import BurrowCluster
from exporters.http.event_stream.response import RecentEvents
from exporters.http.server import HttpServer
from exporters.page.links import PageLinks
from stream.config.loader import load
from stream.config.options import HttpOptions
from stream.errors import ExitCode, Refusal
from stream.service import run
from stream.service.status import ServiceStatus
from stream.service.wiring import open_web_access, page_links, served_burrow, served_details
from tests.exporters.snapshots import detail

USER = f"basic_auth_users: {{alice: {bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()}}}"


def test_unusable_file_is_a_refusal(tmp_path: Path) -> None:
    """A mistake in the file prevents the start, so that the server is never open without its login."""
    with pytest.raises(Refusal) as refused:
        open_web_access(HttpOptions(web_config=tmp_path / "none.yaml"))
    assert refused.value.code is ExitCode.USAGE
    assert "none.yaml cannot be read" in str(refused.value)


def test_changes_are_logged(tmp_path: Path) -> None:
    """A valid change is logged at level info; an unusable change is logged at level error with its cause."""
    now = [0.0]
    file = tmp_path / "web.yaml"
    file.write_text(USER)
    with structlog.testing.capture_logs() as lines:
        access = open_web_access(HttpOptions(web_config=file), lambda: now[0])
        for text in ("basic_auth_users: {alice: clear}", f"{USER}  # again"):
            file.write_text(text)
            os.utime(file, (now[0], now[0]))
            now[0] += 2.0
            access.credentials()
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("error", "web configuration unusable; the previous one stays in force"),
        ("info", "web configuration read again"),
    ]
    assert "alice is not a bcrypt hash" in lines[0]["cause"]


def test_members_are_hidden_on_request() -> None:
    """The details of a group have the ids and hosts of its members unless `http.hide_members` removes them.

    The option changes nothing else in the details.
    """
    assert served_details(HttpOptions(), detail)("billing") == detail("billing")
    served = served_details(HttpOptions(hide_members=True), detail)("billing")
    assert served is not None
    assert {member.client_host for member in served.members} == {None}
    assert dataclasses.replace(served, members=()) == dataclasses.replace(detail("billing"), members=())


def test_the_server_of_run_gets_the_served_details(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that `lagwarden run` starts hides the members, also from searches, if the option is set."""
    given: dict[str, Any] = {}

    class Server(HttpServer):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            given.update(inspect.signature(HttpServer).bind(*arguments, **named).arguments)
            super().__init__(*arguments, **named)

    monkeypatch.setattr(run, "HttpServer", Server)
    flags = {"kafka.bootstrap_servers": "localhost:1", "http.port": 0, "http.host": "127.0.0.1"}
    config = load(flags={**flags, "http.hide_members": True, "http.allowed_hosts": "a.example,*.b.example"})
    publisher: Any = types.SimpleNamespace(current=lambda: None, details=detail, groups_of_client=lambda *_: ())
    watch: Any = types.SimpleNamespace(current=lambda: None)
    with run._http_server(config, publisher, ServiceStatus("1", 60), watch, RecentEvents()):
        assert {member.client_host for member in given["served"].details("billing").members} == {None}
        assert given["served"].search is None
        assert given["allowed_hosts"] == ("a.example", "*.b.example")


def test_pages_link_to_what_is_configured() -> None:
    """The links have brokers, cluster name and base URLs, and a command configuration if the brokers need one."""
    kafka = {"kafka.bootstrap_servers": "broker-1:9092,broker-2:9092"}
    assert page_links(load(flags=kafka)) == PageLinks(None, None, ("broker-1:9092", "broker-2:9092"))
    urls = {"http.grafana_url": "https://grafana.example/", "http.runbook_url": "http://git.example/main"}
    links = page_links(load(flags=kafka | urls))
    assert (links.grafana_url, links.runbook_url) == ("https://grafana.example", "http://git.example/main")
    urls = {"http.messages_url": "https://ui.example/{topic}", "http.external_url": "https://a.example/b/"}
    links = page_links(load(flags=kafka | urls))
    assert (links.message("t", 0, 1), links.page("g")) == ("https://ui.example/t", "https://a.example/b/group?name=g")
    assert page_links(load(flags=kafka | {"metrics.cluster_name": "eu"})).cluster_name == "eu"
    login = {"sasl_mechanism": "PLAIN", "sasl_username": "user", "sasl_password": "secret"}
    for protocol, options in (("SSL", dict[str, str]()), ("SASL_PLAINTEXT", login), ("SASL_SSL", login)):
        flags = {f"kafka.{name}": value for name, value in {"security_protocol": protocol, **options}.items()}
        assert page_links(load(flags=kafka | flags)).command_config == "client.properties"


def test_burrows_api_exists_by_option() -> None:
    """The API of Burrow, if configured, has the name of the cluster, its servers and the seconds of a tick."""
    kafka = {"kafka.bootstrap_servers": "broker-1:9092,broker-2:9092"}
    assert served_burrow(load(flags=kafka)) is None
    names = {"metrics.compatibility": "burrow", "metrics.compatibility_cluster": "eu", "job.tick_interval": "15s"}
    assert served_burrow(load(flags=kafka | names)) == BurrowCluster("eu", ("broker-1:9092", "broker-2:9092"), 15)
    unnamed = {"metrics.compatibility": "burrow", "metrics.cluster_name": "us"}
    found = served_burrow(load(flags=kafka | unnamed))
    assert found is not None
    assert found.name == "us"
