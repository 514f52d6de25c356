"""How connections log in: one `Authenticator` per login, which starts an exchange with current credentials.

The message of AWS_MSK_IAM, a signed request for `kafka-cluster:Connect`, is made by kafka-python as aws-msk-iam-auth
does, the Java library of MSK. Only finding AWS credentials (variables, profiles, web identity, containers, instances,
each with its renewal) needs botocore, the extra `lagwarden[msk]`.
"""

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Final

from kafka.net.sasl.msk import AwsMskIamClient

from stream.cluster.transport.errors import LoginRefused, LoginUnavailable
from stream.cluster.transport.login import sasl
from stream.cluster.transport.login.token_endpoint import fetch_token
from stream.cluster.transport.login.tokens import RenewedToken, Token, read_token_file
from stream.config.kafka_login import AwsIamLogin, ClientCredentialsLogin, Credentials, PasswordLogin, TokenFileLogin
from stream.config.secret_sources import SecretUnavailable

_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")
_ADVICE: Final = "give it a role (web identity, Pod Identity, instance profile) or set the variables AWS_*"


@dataclasses.dataclass(frozen=True, slots=True)
class Authenticator:
    """Starts logins with a SASL mechanism. Any thread may call it."""

    mechanism: str
    origin: str
    """The place of the credentials, for messages, such as `the token endpoint URL`."""
    start: Callable[[str], sasl.SaslExchange]
    """Reads the credentials and returns the exchange with the broker of this host. Blocks. Raises ClusterError."""


def authenticator_for(credentials: Credentials) -> Authenticator:
    """Return the authenticator of a login. Raises LoginRefused if a package is missing."""
    match credentials:
        case PasswordLogin():
            return Authenticator(
                credentials.mechanism, credentials.password.place, lambda _: _password_exchange(credentials)
            )
        case TokenFileLogin(path):
            # A refused token changes nothing: each login reads the file again.
            source = f"the token file {path}"
            return _with_tokens(lambda: read_token_file(path), credentials.extensions, source, sasl.TokenOutcome())
        case ClientCredentialsLogin():
            return _shared_authenticator(credentials)
        case AwsIamLogin(region):
            sign = login_signer()
            return Authenticator(
                "AWS_MSK_IAM", "the AWS credentials", lambda host: sasl.aws_iam(sign(host, region_of(host, region)))
            )


def _password_exchange(login: PasswordLogin) -> sasl.SaslExchange:
    try:
        password = login.password.reveal()
    except SecretUnavailable as error:
        raise LoginUnavailable(f"kafka.sasl_password: {error.what}", error.advice) from None
    if login.mechanism == "PLAIN":
        return sasl.plain(login.username, password, login.password.place)
    return sasl.scram(login.mechanism, login.username, password, login.password.place)


@functools.lru_cache(maxsize=16)
def _shared_authenticator(login: ClientCredentialsLogin) -> Authenticator:
    """Return the one authenticator of the process for a login: all its clients share a token until it is renewed."""
    renewed = RenewedToken(lambda: fetch_token(login))
    outcome = sasl.TokenOutcome(refuse=renewed.refuse)
    return _with_tokens(renewed.get, login.extensions, f"the token endpoint {login.endpoint}", outcome)


def _with_tokens(
    get: Callable[[], Token], extensions: tuple[tuple[str, str], ...], origin: str, outcome: sasl.TokenOutcome
) -> Authenticator:
    return Authenticator("OAUTHBEARER", origin, lambda _: sasl.bearer(get(), extensions, origin, outcome))


def region_of(host: str, configured: str | None) -> str:
    """Return the configured region, or that in the name of an MSK broker. Raises LoginRefused."""
    if configured is not None:
        return configured
    found = _REGION.search(host)
    if found is None:
        raise LoginRefused(f"the host name {host} has no AWS region", "set kafka.aws_region")
    return found.group(1)


def login_signer() -> Callable[[str, str], bytes]:
    """Return a function of host and region that returns the message which logs in to this broker.

    Each message is signed with the current AWS credentials of this process, renewed if they are temporary. Raises
    LoginRefused without botocore. The function blocks, and raises LoginUnavailable.
    """
    try:
        import botocore.exceptions  # noqa: PLC0415 -- an optional extra
        import botocore.session  # noqa: PLC0415
    except ImportError:
        raise LoginRefused("AWS_MSK_IAM needs the package botocore", "pip install lagwarden[msk]") from None
    session = botocore.session.Session()

    def sign(host: str, region: str) -> bytes:
        try:
            found = session.get_credentials()
            keys = None if found is None else found.get_frozen_credentials()
        except botocore.exceptions.BotoCoreError as error:
            raise LoginUnavailable(f"the AWS credentials cannot be read: {type(error).__name__}", _ADVICE) from None
        if keys is None or not keys.access_key or not keys.secret_key:
            raise LoginUnavailable("this process has no AWS credentials", _ADVICE)
        message: bytes = AwsMskIamClient(host, keys.access_key, keys.secret_key, region, keys.token).first_message()
        return message

    return sign
