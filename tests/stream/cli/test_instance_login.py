"""The login of commands: it is read from variables, never from arguments."""

from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest

from exporters.http.access.web_access import WebAccess
from sandbox.certificates import Certificates
from stream.cli.api_client import InstanceClient, keeps_login
from stream.errors import ExitCode, Refusal
from tests.exporters.serving import SMALL, serving
from tests.stream.webhook.receiver import Receiver


@pytest.fixture(scope="module")
def instance(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve with TLS, a user and a token; returns the URL."""
    folder = tmp_path_factory.mktemp("web")
    digest = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    certificate, key = certificates.certificate("broker"), certificates.key("broker")
    (folder / "web.yaml").write_text(
        f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\nbasic_auth_users: {{alice: {digest}}}\n"
    )
    (folder / "token").write_text("token-1")
    with serving(SMALL, access=WebAccess(folder / "web.yaml", folder / "token")) as server:
        yield f"https://localhost:{server.port}"


@pytest.fixture
def files(tmp_path: Path, certificates: Certificates) -> dict[str, str]:
    """Return the paths that the rows below name."""
    texts = {"password": "secret\n", "token": "token-1\n", "wrong": "x", "empty.pem": ""}
    texts |= {"two-lines": "secret\nsecret", "umlaut": "secret-\u00e4"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in (*texts, "none")} | {"ca": str(certificates.authority)}


def variables(row: str, files: dict[str, str]) -> dict[str, str]:
    """Return the variables of a row: NAME=value words, where {name} is the path of a file."""
    pairs = (word.split("=") for word in row.format_map(files).split())
    return {f"LAGWARDEN_{name}": value for name, value in pairs}


def test_login_is_accepted(instance: str, files: dict[str, str]) -> None:
    """The instance accepts the login of each example. Empty variables are not set."""
    for row in (
        "CA_FILE={ca} USER=alice PASSWORD=secret",
        "CA_FILE={ca} USER=alice PASSWORD_FILE={password}",
        "CA_FILE={ca} TOKEN_FILE={token}",
        "CA_FILE={ca} TOKEN_FILE={token} USER= PASSWORD=",
    ):
        assert InstanceClient(instance, environment=variables(row, files)).groups()["groups"], row


REFUSED = {
    "CA_FILE={ca}": "needs a login: set LAGWARDEN_USER",
    "CA_FILE={ca} USER=alice PASSWORD=x": "refuses the login",
    "CA_FILE={ca} TOKEN_FILE={wrong}": "refuses the login",
    "USER=alice PASSWORD=secret": "certificate verify failed",
}
"""Logins that the instance or its certificate refuses."""
INVALID = {
    "USER=alice": "without a password",
    "USER=alice TOKEN_FILE={token}": "exclude each other",
    "TOKEN_FILE={two-lines}": "must have one word",
    "TOKEN_FILE={umlaut}": "must have one word",
    "TOKEN_FILE={none}": "cannot be read: No such file",
    "CA_FILE={empty.pem}": "no certificate in PEM format",
    "CA_FILE={none}": "No such file",
}
"""Variables that are no login."""


@pytest.mark.parametrize(("rows", "code"), [(REFUSED, ExitCode.NO_INSTANCE), (INVALID, ExitCode.USAGE)])
def test_login_is_refused(rows: dict[str, str], code: ExitCode, instance: str, files: dict[str, str]) -> None:
    """The error of each example has its reason and exit code, and no secret."""
    for row, reason in rows.items():
        environment = variables(row.replace("{empty.pem}", files["empty.pem"]), files)
        with pytest.raises(Refusal) as refused:
            InstanceClient(instance, environment=environment).groups()
        assert reason in str(refused.value), row
        assert refused.value.code is code, row
        assert "secret" not in str(refused.value), row


GROUPS = (200, {}, b'{"snapshot_time": "2026-01-01T00:00:00Z", "groups": []}')


def test_login_is_sent_only_to_its_server(files: dict[str, str]) -> None:
    """A redirect to another server is followed without the login; one of the same server, as by a proxy, keeps it."""
    environment = variables("TOKEN_FILE={token}", files)
    with Receiver(lambda _: GROUPS) as other, Receiver(lambda _: (302, {"Location": f"{other.address}/a"})) as first:
        InstanceClient(first.address, environment=environment).groups()
    assert [headers.get("authorization") for headers in other.headers] == [None]
    with Receiver(lambda number: GROUPS if number else (302, {"Location": "/a"})) as same:
        InstanceClient(f"{same.address}/old", environment=environment).groups()
    assert [headers.get("authorization") for headers in same.headers] == ["Bearer token-1"] * 2
    assert same.paths[1] == "/a"


REDIRECTS = [
    ("http://a/x", "http://a/y", True),
    ("http://a/x", "https://a/x", True),
    ("http://a:80/x", "https://a:443/x", True),
    ("https://a/x", "http://a/x", False),
    ("http://a:8080/x", "https://a/x", False),
    ("https://a/x", "https://a:8443/x", False),
    ("https://a/x", "https://b/x", False),
]


def test_servers_that_get_the_login_after_a_redirect() -> None:
    """Only the same server gets the login, also after a change from the default port of HTTP to that of HTTPS."""
    assert [row for row in REDIRECTS if keeps_login(*row[:2]) != row[2]] == []


def test_invalid_url_is_a_usage_error() -> None:
    """The error says that the value is not an http or https URL."""
    for url in ("http://[::1", "http://[a]:1", "http://a:b", "ftp://a"):
        with pytest.raises(Refusal, match="is not an http or https URL") as refused:
            InstanceClient(url, environment={})
        assert refused.value.code is ExitCode.USAGE
