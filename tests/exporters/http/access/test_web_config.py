"""The web configuration file: valid content, and the errors of invalid content."""

import ssl
from pathlib import Path

import bcrypt
import pytest

from exporters.http.access.web_config import WebConfigError, read_web_config

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


def write(folder: Path, text: str) -> Path:
    file = folder / "web.yaml"
    file.write_text(text)
    return file


def test_users_and_their_hashes(tmp_path: Path) -> None:
    """Users have hashes as `htpasswd -nB` prints them; the configuration does not print the hashes."""
    config = read_web_config(write(tmp_path, f"basic_auth_users:\n  alice: {HASH}\n  bob: {HASH}\n"))
    assert config.users == {"alice": HASH.encode(), "bob": HASH.encode()}
    assert config.tls is None
    assert HASH not in repr(config)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """Paths are relative to the file, so that a mounted secret can have the file and its certificates."""
    text = (
        "tls_server_config: {cert_file: tls.crt, key_file: /keys/tls.key, client_ca_file: ca.crt,"
        " client_auth_type: RequireAndVerifyClientCert, min_version: TLS13}"
    )
    tls = read_web_config(write(tmp_path, text)).tls
    assert [str(file) for file in tls.files] == [f"{tmp_path}/tls.crt", "/keys/tls.key", f"{tmp_path}/ca.crt"]
    assert (tls.client_auth, tls.min_version) == (ssl.CERT_REQUIRED, ssl.TLSVersion.TLSv1_3)


def test_a_file_without_settings_changes_nothing_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    """Neither TLS nor users are configured; the error has the reason of the operating system."""
    for text in ("", "{}", "tls_server_config:\nbasic_auth_users:\n"):
        config = read_web_config(write(tmp_path, text))
        assert (config.tls, dict(config.users)) == (None, {})
    with pytest.raises(WebConfigError, match="cannot be read: No such file"):
        read_web_config(tmp_path / "none.yaml")


def tls(settings: str) -> str:
    return f"tls_server_config: {{cert_file: a, key_file: b, {settings}}}"


UNUSABLE = {
    "a: [": "is not YAML",
    "- a": "must have named settings",
    "basic_auth: {}": "basic_auth is not supported",
    "http_server_config: {http2: true}": "http_server_config is not supported",
    "tls_server_config: {}": "cert_file is missing",
    "tls_server_config: {cert_file: a}": "key_file is missing",
    tls("min_version: [TLS12]"): "min_version: ['TLS12'] is not supported",
    tls("min_version: TLS10"): "min_version: TLS10 is not supported; one of TLS12, TLS13",
    tls("cipher_suites: [x]"): "cipher_suites is not supported",
    tls("client_auth_type: RequireAnyClientCert"): "client_auth_type: RequireAnyClientCert is not supported",
    tls("client_auth_type: RequireAndVerifyClientCert"): "client_ca_file is missing",
    "basic_auth_users: [alice]": "must map names",
    "basic_auth_users: {alice: secret}": "the value of alice is not a bcrypt hash",
    f"basic_auth_users: {{'a:b': {HASH}}}": "'a:b' is not a user name",
}


def test_unusable_file_is_refused(tmp_path: Path) -> None:
    """The error is one line without any text that may be a password."""
    for text, says in UNUSABLE.items():
        with pytest.raises(WebConfigError) as refused:
            read_web_config(write(tmp_path, text))
        assert says in str(refused.value)
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)
