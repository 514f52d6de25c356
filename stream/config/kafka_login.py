"""Login options for both Kafka clients, the Python client and Spark's Java consumer, from one configuration.

Because both come from here, `check-config --connect` tests the login that the job uses. Secrets are passed as values
and never written. Spark prints its options, so its session must set `spark.redaction.regex` to `SPARK_REDACTION`.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from stream.config.options import KafkaOptions
    from stream.config.secret_sources import Secret

SPARK_REDACTION: Final = "(?i)secret|password|token|access[.]?key|jaas|keystore"
"""Spark's default pattern, extended by the options below that hold a password or a key."""

_LOGIN_MODULE: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def client_options(kafka: KafkaOptions) -> dict[str, Any]:
    """Return the security options for `stream.cluster.transport.client.Cluster`.

    Raises Refusal if a certificate or a key cannot be used.
    """
    options: dict[str, Any] = {"security_protocol": kafka.security_protocol}
    if kafka.security_protocol.startswith("SASL"):
        options["sasl_mechanism"] = kafka.sasl_mechanism
        options["sasl_plain_username"] = kafka.sasl_username
        options["sasl_plain_password"] = _revealed(kafka.sasl_password)
    if kafka.security_protocol.endswith("SSL"):
        options["ssl_context"] = _tls_context(kafka)
    return options


def spark_kafka_options(kafka: KafkaOptions) -> dict[str, str]:
    """Return the `kafka.*` options of Spark's source: bootstrap servers and login. They contain secrets."""
    options = {
        "kafka.bootstrap.servers": ",".join(kafka.bootstrap_servers),
        "kafka.security.protocol": kafka.security_protocol,
    }
    if kafka.security_protocol.startswith("SASL"):
        options["kafka.sasl.mechanism"] = str(kafka.sasl_mechanism)
        options["kafka.sasl.jaas.config"] = _jaas(kafka)
    if kafka.security_protocol.endswith("SSL"):
        options |= _java_tls(kafka)
    return options | {f"kafka.{name}": value for name, value in kafka.consumer_options.items()}


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def _tls_context(kafka: KafkaOptions) -> ssl.SSLContext:
    option, path = "ssl_ca_file", kafka.ssl_ca_file
    try:
        context = ssl.create_default_context(cafile=kafka.ssl_ca_file)
        context.check_hostname = kafka.ssl_verify_hostname
        if kafka.ssl_certificate_file is not None:
            option, path = "ssl_certificate_file", kafka.ssl_certificate_file
            # Without a password, OpenSSL would prompt for one on the terminal.
            password = _revealed(kafka.ssl_key_password) or ""
            context.load_cert_chain(kafka.ssl_certificate_file, kafka.ssl_key_file, password)
    except (ssl.SSLError, OSError) as error:
        reason = error.strerror or str(error)
        raise Refusal(
            f"kafka.{option} = {str(path)!r} cannot be used: {reason}",
            "it must be a readable PEM file; the certificate must match its key, and the key its password",
            ExitCode.USAGE,
        ) from error
    return context


def _jaas(kafka: KafkaOptions) -> str:
    """Return the JAAS configuration, with quotes and backslashes in user name and password escaped."""
    module = _LOGIN_MODULE[str(kafka.sasl_mechanism)]
    user, password = _quoted(kafka.sasl_username), _quoted(_revealed(kafka.sasl_password))
    return f"{module} required username={user} password={password};"


def _quoted(text: str | None) -> str:
    escaped = (text or "").replace("\\", "\\\\").replace('"', '\\"')
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
