"""How connections log in: one `Authenticator` per login, which starts an exchange with current credentials."""

import dataclasses
import functools
from collections.abc import Callable

from stream.cluster.transport.errors import LoginUnavailable
from stream.cluster.transport.login import sasl
from stream.cluster.transport.login.aws_iam import login_signer, region_of
from stream.cluster.transport.login.token_endpoint import fetch_token
from stream.cluster.transport.login.tokens import RenewedToken, Token, read_token_file
from stream.config.kafka_login import AwsIamLogin, ClientCredentialsLogin, Credentials, PasswordLogin, TokenFileLogin
from stream.config.secret_sources import SecretUnavailable


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
