"""TLS and login of the HTTP server: it reads the mounted files; probes, Prometheus and commands use its scheme."""

from pathlib import Path
from typing import Any, Final

import bcrypt
import pytest

from exporters.http.access.web_access import WebAccess
from sandbox.certificates import Certificates
from stream.cli.instance_login import instance_login
from tests.chart.rendering import Object, Rendered, case, merged, pod_variables, render

pytestmark = [pytest.mark.chart, pytest.mark.usefixtures("helm")]

HASH: Final = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
USERS: Final = f"basic_auth_users: {{prometheus: {HASH}}}\n"
TLS_AND_USERS: Final = f"tls_server_config: {{cert_file: tls.crt, key_file: tls.key}}\n{USERS}"
OWN_SECRET: Final = merged(case("minimal"), {"http": {"webConfig": {"existingSecret": "lagwarden-web"}}})
USERS_ONLY: Final = merged(OWN_SECRET, {"http": {"webConfig": {"tls": False}}})


@pytest.mark.parametrize(
    ("values", "web_config", "login"),
    [
        pytest.param(case("minimal"), "", "none", id="by default neither TLS nor login"),
        pytest.param(OWN_SECRET, TLS_AND_USERS, "users", id="one Secret with everything"),
        pytest.param(case("web-login"), TLS_AND_USERS, "users", id="users in one Secret, the certificate in another"),
        pytest.param(case("web-token"), "", "token", id="a certificate and a token, the file by the chart"),
        pytest.param(USERS_ONLY, USERS, "users", id="users behind a proxy that has TLS"),
    ],
)
def test_the_server_reads_the_files_of_the_pod(
    values: Object, web_config: str, login: str, tmp_path: Path, certificates: Certificates
) -> None:
    """The server accepts the files. Probes, Service name and commands in the pod use its scheme and login."""
    rendered = render(values)
    texts = {"tls.crt": certificates.certificate("broker"), "tls.key": certificates.key("broker")}
    contents = {name: path.read_text() for name, path in (texts | {"ca.crt": certificates.authority}).items()}
    variables = pod_variables(rendered, tmp_path, contents | {"web.yaml": web_config, "token": "a-token"})
    access = WebAccess(_file(variables, "WEB_CONFIG"), _file(variables, "BEARER_TOKEN_FILE"))
    assert bool(access.credentials().users) is (login == "users")
    assert (access.credentials().token == b"a-token") is (login == "token")
    schemes = {_probe(rendered, name).get("scheme", "HTTP") for name in ("startup", "liveness", "readiness")}
    assert schemes == {"HTTPS" if access.has_tls else "HTTP"}
    assert variables.get("LAGWARDEN_URL", "http:").startswith("https:") is access.has_tls
    authorization, _ = instance_login(variables)
    assert (authorization == "Bearer a-token") is (login == "token")


def _file(variables: dict[str, str], option: str) -> Path | None:
    path = variables.get(f"LAGWARDEN_HTTP_{option}")
    return None if path is None else Path(path)


def _probe(rendered: Rendered, name: str) -> dict[str, Any]:
    return rendered.container[f"{name}Probe"]["httpGet"]


def test_commands_in_the_pod_reach_the_server_by_a_host_alias() -> None:
    """The name is the loopback address, other aliases are kept. Only the pod's user and group may read the files."""
    rendered = render(merged(case("web-token"), {"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["broker-1"]}]}))
    (url,) = (one["value"] for one in rendered.container["env"] if one["name"] == "LAGWARDEN_URL")
    own, given = rendered.pod["hostAliases"]
    assert url == f"https://{own['hostnames'][0]}:10848"
    assert own["ip"] == "127.0.0.1"
    assert given["hostnames"] == ["broker-1"]
    (files,) = (one["projected"] for one in render(case("web-token")).pod["volumes"] if one["name"] == "http")
    assert files["defaultMode"] == 0o440


SERVER_NAME: Final = "watch-lagwarden.kafka.svc"
BASIC: Final = {"basicAuth": case("web-login")["serviceMonitor"]["basicAuth"]}
COPY: Final = {"ca": {"configMap": {"name": "authorities", "key": "all.pem"}}}
GIVEN: Final = {"tlsConfig": {"serverName": "x", "insecureSkipVerify": True}}


def credentials(name: str, key: str) -> Object:
    return {"credentials": {"name": name, "key": key}}


SCRAPES: Final[list[tuple[Object, Object, Object]]] = [
    (case("minimal"), {}, {}),
    # Authority and token are those of the server.
    (
        case("web-token"),
        {},
        {
            "scheme": "https",
            "tlsConfig": {"serverName": SERVER_NAME, "ca": {"secret": {"name": "lagwarden-tls", "key": "ca.crt"}}},
            "authorization": credentials("lagwarden-token", "token"),
        },
    ),
    # Copies in another namespace.
    (
        case("web-token"),
        {"namespace": "monitoring", "tlsConfig": COPY, "authorization": credentials("copy", "word")},
        {
            "scheme": "https",
            "tlsConfig": {"serverName": SERVER_NAME, **COPY},
            "authorization": credentials("copy", "word"),
        },
    ),
    (USERS_ONLY, BASIC, BASIC),
    (OWN_SECRET, GIVEN, {"scheme": "https", **GIVEN}),
]
"""Values of the chart, those of the ServiceMonitor, and the access that it must have."""


def test_the_service_monitor_has_the_access_that_the_server_requires() -> None:
    """The ServiceMonitor has the scheme, the authority and the login of the server."""
    access = {"scheme", "tlsConfig", "basicAuth", "authorization"}
    for values, monitor, wanted in SCRAPES:
        rendered = render(merged(values, {"serviceMonitor": {"enabled": True, **monitor}}))
        (endpoint,) = rendered.one("ServiceMonitor")["spec"]["endpoints"]
        assert {key: endpoint[key] for key in endpoint.keys() & access} == wanted
