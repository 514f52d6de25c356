"""The login to the cluster, as `stream.cluster.transport` uses it: protocol, places of the credentials, TLS files.

A login has no secret: it can be printed, pickled and sent to another process, which reads the secrets itself.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from stream.config.secret_sources import Secret

if TYPE_CHECKING:
    from stream.config.options import KafkaOptions


@dataclasses.dataclass(frozen=True, slots=True)
class PasswordLogin:
    """User name and password: PLAIN and SCRAM."""

    mechanism: str
    username: str
    password: Secret


@dataclasses.dataclass(frozen=True, slots=True)
class TokenFileLogin:
    """OAUTHBEARER with a token that another program writes to a file, such as a projected service account token."""

    path: Path
    extensions: tuple[tuple[str, str], ...] = ()
    """SASL extensions (RFC 7628): additional pairs that some brokers require."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClientCredentialsLogin:
    """OAUTHBEARER with tokens of a token endpoint, by the client credentials grant (RFC 6749, section 4.4)."""

    endpoint: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    ca_file: Path | None = None
    timeout: float = 10.0
    """The limit of one request to the endpoint in seconds."""
    extensions: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class AwsIamLogin:
    """AWS_MSK_IAM with the AWS credentials of the process's environment. `region` None: as the broker's host says."""

    region: str | None = None


Credentials = PasswordLogin | TokenFileLogin | ClientCredentialsLogin | AwsIamLogin


@dataclasses.dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of a TLS connection (PEM). `authorities` None: those of the system."""

    authorities: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: Secret | None = None
    verify_hostname: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class KafkaLogin:
    """The login of every connection: SASL with `credentials`, TLS with `tls`; the default is PLAINTEXT."""

    credentials: Credentials | None = None
    tls: TlsFiles | None = None

    @property
    def security_protocol(self) -> str:
        """Kafka's name of the protocol."""
        kind = "SSL" if self.tls else "PLAINTEXT"
        return f"SASL_{kind}" if self.credentials else kind


def login_from_options(kafka: KafkaOptions) -> KafkaLogin:
    """Return the login that the options describe; they are free of contradictions."""
    tls = TlsFiles(
        authorities=_absolute(kafka.ssl_ca_file),
        certificate=_absolute(kafka.ssl_certificate_file),
        key=_absolute(kafka.ssl_key_file),
        key_password=kafka.ssl_key_password,
        verify_hostname=kafka.ssl_verify_hostname,
    )
    return KafkaLogin(_credentials(kafka) if kafka.uses_sasl else None, tls if kafka.uses_tls else None)


def _credentials(kafka: KafkaOptions) -> Credentials:
    mechanism = str(kafka.sasl_mechanism)
    if mechanism == "AWS_MSK_IAM":
        return AwsIamLogin(kafka.aws_region)
    if mechanism != "OAUTHBEARER":
        assert kafka.sasl_username is not None  # noqa: S101 -- checked by KafkaOptions.contradictions
        assert kafka.sasl_password is not None  # noqa: S101
        return PasswordLogin(mechanism, kafka.sasl_username, kafka.sasl_password)
    extensions = tuple(sorted(kafka.oauth_extensions.items()))
    if kafka.oauth_token_file is not None:
        return TokenFileLogin(kafka.oauth_token_file.absolute(), extensions)
    assert kafka.oauth_token_endpoint is not None  # noqa: S101 -- checked by KafkaOptions.contradictions
    assert kafka.oauth_client_id is not None  # noqa: S101
    assert kafka.oauth_client_secret is not None  # noqa: S101
    return ClientCredentialsLogin(
        endpoint=kafka.oauth_token_endpoint,
        client_id=kafka.oauth_client_id,
        client_secret=kafka.oauth_client_secret,
        scope=kafka.oauth_scope,
        ca_file=_absolute(kafka.oauth_ca_file),
        timeout=kafka.oauth_timeout,
        extensions=extensions,
    )


def _absolute(path: Path | None) -> Path | None:
    """Return the path for processes with another working folder, such as executors."""
    return None if path is None else path.absolute()
