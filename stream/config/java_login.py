"""The login of Spark's Kafka source, a Java consumer, from the same options as that of lagwarden's own client.

These options contain secrets, and Spark prints its options: its session must set `spark.redaction.regex` to
`SPARK_REDACTION`. The source cannot read secrets again, so it keeps those that a query started with.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.config.options import KafkaOptions
    from stream.config.secret_sources import Secret

SPARK_REDACTION: Final = "(?i)secret|password|token|access[.]?key|jaas|keystore"
"""Spark's default pattern, extended by the options below that hold a password or a key."""

_SECURITY: Final = "org.apache.kafka.common.security"
_LOGIN_MODULE: Final = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
}


def spark_kafka_options(kafka: KafkaOptions) -> dict[str, str]:
    """Return the `kafka.*` options of Spark's source: bootstrap servers and login. They contain secrets.

    Raises Refusal for a login that the source does not support.
    """
    options = {
        "kafka.bootstrap.servers": ",".join(kafka.bootstrap_servers),
        "kafka.security.protocol": kafka.security_protocol,
    }
    if kafka.uses_sasl:
        options["kafka.sasl.mechanism"] = str(kafka.sasl_mechanism)
        options |= _SASL.get(str(kafka.sasl_mechanism), _password_login)(kafka)
    if kafka.uses_tls:
        options |= _java_tls(kafka)
    return options | {f"kafka.{name}": value for name, value in kafka.consumer_options.items()}


def _password_login(kafka: KafkaOptions) -> dict[str, str]:
    return _jaas(kafka, username=kafka.sasl_username, password=_revealed(kafka.sasl_password))


def _token_login(kafka: KafkaOptions) -> dict[str, str]:
    if kafka.oauth_token_file is not None:
        # FileTokenRetriever of kafka-clients 3.9 reads the file once per process: it would not see the next token.
        raise _unsupported("kafka.oauth_token_file", "use kafka.oauth_token_endpoint")
    endpoint = {
        "kafka.sasl.login.callback.handler.class": f"{_SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler",
        "kafka.sasl.oauthbearer.token.endpoint.url": str(kafka.oauth_token_endpoint),
        "kafka.sasl.login.connect.timeout.ms": str(int(kafka.oauth_timeout * 1000)),
        "kafka.sasl.login.read.timeout.ms": str(int(kafka.oauth_timeout * 1000)),
    }
    authorities = kafka.oauth_ca_file or _system_authorities()
    secured = authorities is not None and str(kafka.oauth_token_endpoint).startswith("https:")
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authorities)} if secured else {}
    return endpoint | _jaas(
        kafka,
        clientId=kafka.oauth_client_id,
        clientSecret=_revealed(kafka.oauth_client_secret),
        scope=kafka.oauth_scope,
        **{f"extension_{name}": value for name, value in kafka.oauth_extensions.items()},
        **trust,
    )


def _aws_iam(_: KafkaOptions) -> dict[str, str]:
    raise _unsupported("kafka.sasl_mechanism = AWS_MSK_IAM", "use SCRAM-SHA-512 or mutual TLS")


_SASL: Final[dict[str, Callable[[KafkaOptions], dict[str, str]]]] = {
    "OAUTHBEARER": _token_login,
    "AWS_MSK_IAM": _aws_iam,
}


def _unsupported(login: str, advice: str) -> Refusal:
    return Refusal(f"{login} is not supported by Spark's Kafka source, with which `run` reads", advice, ExitCode.USAGE)


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def _jaas(kafka: KafkaOptions, **options: str | None) -> dict[str, str]:
    """Return the JAAS configuration with the options that are not None; quotes and backslashes are escaped."""
    given = "".join(f" {name}={_quoted(value)}" for name, value in options.items() if value is not None)
    return {"kafka.sasl.jaas.config": f"{_LOGIN_MODULE[str(kafka.sasl_mechanism)]} required{given};"}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _java_tls(kafka: KafkaOptions) -> dict[str, str]:
    options = {}
    authorities = kafka.ssl_ca_file or _system_authorities()
    if authorities is not None:
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.location"] = str(Path(authorities).absolute())
    if not kafka.ssl_verify_hostname:
        options["kafka.ssl.endpoint.identification.algorithm"] = ""
    if kafka.ssl_certificate_file is not None and kafka.ssl_key_file is not None:
        options["kafka.ssl.keystore.type"] = "PEM"
        options["kafka.ssl.keystore.certificate.chain"] = kafka.ssl_certificate_file.read_text(encoding="ascii")
        options["kafka.ssl.keystore.key"] = kafka.ssl_key_file.read_text(encoding="ascii")
        if kafka.ssl_key_password is not None:
            options["kafka.ssl.key.password"] = kafka.ssl_key_password.reveal()
    return options


def _system_authorities() -> Path | None:
    """Return the CA file that Python trusts by default. Java would use its own list, which may differ."""
    paths = ssl.get_default_verify_paths()
    names = (paths.cafile, paths.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt")
    return next((Path(name) for name in names if name and Path(name).is_file()), None)
