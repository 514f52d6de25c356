"""How lagwarden reaches and logs in to Kafka, and which facts of the cluster it asks for."""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, FilePath

from stream.config import values
from stream.config.secret_sources import Secret, SecretFile
from stream.config.sections.option import OptionSection, experimental, option, seconds

_LOGINS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    **dict.fromkeys(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), (("sasl_username", "sasl_password"), ())),
    "OAUTHBEARER": (
        ("oauth_token_endpoint", "oauth_client_id", "oauth_client_secret"),
        ("oauth_scope", "oauth_ca_file", "oauth_extensions"),
    ),
    "oauth_token_file": (("oauth_token_file",), ("oauth_extensions",)),
    "AWS_MSK_IAM": ((), ("aws_region",)),
}
"""The needed and the optional options of each login: a SASL mechanism, or OAUTHBEARER with a token file."""

_LOGIN_OPTIONS: Final = (
    "sasl_mechanism",
    *dict.fromkeys(name for needed, optional in _LOGINS.values() for name in (*needed, *optional)),
)


class KafkaOptions(OptionSection):
    """The cluster to monitor, and the login to it."""

    bootstrap_servers: Annotated[tuple[values.Address, ...], BeforeValidator(values.parse_addresses)] = option(
        ..., "Brokers for the first connection, as `host:port`, separated by commas."
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = option(
        "PLAINTEXT", "The security protocol of the brokers' listener."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] | None = option(
        None, "The SASL mechanism; required with the `SASL_` protocols."
    )
    sasl_username: str | None = option(None, "The SASL user name, for PLAIN and SCRAM.", min_length=1)
    sasl_password: Secret | None = option(None, "The SASL password, for PLAIN and SCRAM.")
    oauth_token_file: Path | None = option(
        None, "File with the token (JWT) for OAUTHBEARER, which another program renews."
    )
    oauth_token_endpoint: Annotated[str, AfterValidator(values.check_token_endpoint)] | None = option(
        None, "URL of the token endpoint for client credentials: `https`, or `http` on this machine."
    )
    oauth_client_id: str | None = option(None, "The client id at the token endpoint.", min_length=1)
    oauth_client_secret: Secret | None = option(None, "The client secret at the token endpoint.")
    oauth_scope: str | None = option(None, "The scope of the tokens, if the endpoint needs one.", min_length=1)
    oauth_ca_file: FilePath | None = option(
        None, "PEM file of additional authorities for the token endpoint.", shown="the system's authorities"
    )
    oauth_timeout: values.Seconds = seconds(10.0, "Timeout of one request to the token endpoint.", least=0.1, most=120)
    oauth_extensions: Annotated[dict[str, str], AfterValidator(values.check_sasl_extensions)] = option(
        dict, "SASL extensions for OAUTHBEARER, such as `logicalCluster=lkc-1,identityPoolId=pool-1`."
    )
    aws_region: str | None = option(
        None, "The AWS region for AWS_MSK_IAM.", shown="the region in the broker's host name", min_length=1
    )
    ssl_ca_file: FilePath | None = option(
        None, "PEM file of the authorities of the brokers' certificates.", shown="the system's authorities"
    )
    ssl_certificate_file: FilePath | None = option(None, "PEM file of the client certificate, for mutual TLS.")
    ssl_key_file: FilePath | None = option(None, "PEM file of the private key of the client certificate.")
    ssl_key_password: Secret | None = option(None, "The password of an encrypted private key.")
    ssl_verify_hostname: bool = option(True, "Whether a broker's certificate must match its host name.")
    request_timeout: values.Seconds = seconds(
        10.0, "Timeout of one request, with the time to connect.", least=1, most=300
    )

    @property
    def uses_sasl(self) -> bool:
        """True if connections log in."""
        return self.security_protocol.startswith("SASL")

    @property
    def uses_tls(self) -> bool:
        """True if connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    @property
    def principal(self) -> str | None:
        """The name to log in with, for messages; None without SASL, and if only the token or AWS knows it."""
        return (self.sasl_username or self.oauth_client_id) if self.uses_sasl else None

    def contradictions(self) -> list[tuple[str, str]]:
        """See Section."""
        return [*self._login_contradictions(), *self._tls_contradictions()]

    @property
    def secrets_outside_files(self) -> list[str]:
        """The options whose secrets are not in files of their own, so that other machines cannot read them."""
        secrets = {name: getattr(self, name) for name in type(self).model_fields}
        return [
            name for name, value in secrets.items() if isinstance(value, Secret) and not isinstance(value, SecretFile)
        ]

    def _login_contradictions(self) -> list[tuple[str, str]]:
        given = {name for name in _LOGIN_OPTIONS if getattr(self, name)}
        if not self.uses_sasl:
            return [(name, f"has no effect with security_protocol {self.security_protocol}") for name in sorted(given)]
        if self.sasl_mechanism is None:
            return [("sasl_mechanism", f"is needed with security_protocol {self.security_protocol}")]
        login = "oauth_token_file" if self._reads_token_file else f"sasl_mechanism {self.sasl_mechanism}"
        needed, optional = _LOGINS["oauth_token_file" if self._reads_token_file else self.sasl_mechanism]
        found = [(name, f"is needed with {login}") for name in needed if name not in given]
        found += [
            (name, f"has no effect with {login}") for name in sorted(given - {"sasl_mechanism"} - {*needed, *optional})
        ]
        if self.sasl_mechanism == "AWS_MSK_IAM" and not self.uses_tls:
            found.append(("security_protocol", f"must be SASL_SSL with {login}"))
        return found

    @property
    def _reads_token_file(self) -> bool:
        return self.sasl_mechanism == "OAUTHBEARER" and self.oauth_token_file is not None

    def _tls_contradictions(self) -> list[tuple[str, str]]:
        if not self.uses_tls:
            options = ("ssl_ca_file", "ssl_certificate_file", "ssl_key_file", "ssl_key_password")
            idle = f"has no effect with security_protocol {self.security_protocol}"
            return [(name, idle) for name in options if getattr(self, name) is not None]
        pair = ("ssl_certificate_file", "ssl_key_file")
        absent = [name for name in pair if getattr(self, name) is None]
        return [(absent[0], "is needed: a certificate and its key go together")] if len(absent) == 1 else []


class ClusterOptions(OptionSection):
    """Facts about the cluster itself: brokers, topics, configs, and the size of `__consumer_offsets`."""

    interval: values.Seconds = seconds(
        60.0, "How often these facts are read from the cluster; 0 disables them.", least=0, most=3600
    )
    partitions_shown: int = option(
        10_000, "Partitions with series of their own, unhealthy ones first.", ge=0, le=1_000_000
    )
    topic_settings: values.TopicSettings = experimental(
        ("cleanup.policy", "max.message.bytes", "min.insync.replicas", "retention.bytes", "retention.ms"),
        "Settings of topics that `lagwarden_config_info` shows, at most 20.",
        max_length=20,
        shown="cleanup.policy, max.message.bytes, min.insync.replicas, retention.bytes, retention.ms",
    )
