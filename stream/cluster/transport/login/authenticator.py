"""How connections log in: one `Authenticator` per login, which starts an exchange with current credentials."""

import functools
from typing import Protocol

from stream.cluster.transport.errors import LoginUnavailable
from stream.cluster.transport.login.aws_iam import login_signer, region_of
from stream.cluster.transport.login.sasl import (
    AwsIamExchange,
    PlainExchange,
    SaslExchange,
    ScramExchange,
    TokenExchange,
)
from stream.cluster.transport.login.token_endpoint import fetch_token
from stream.cluster.transport.login.tokens import RenewedToken, Token, read_token_file
from stream.config.kafka_login import AwsIamLogin, ClientCredentialsLogin, Credentials, PasswordLogin, TokenFileLogin
from stream.config.secret_sources import SecretUnavailable


class Authenticator(Protocol):
    """Starts logins. Any thread may call it."""

    @property
    def mechanism(self) -> str:
        """The SASL mechanism."""
        ...

    @property
    def origin(self) -> str:
        """The place of the credentials, for messages, such as `the token endpoint URL`."""
        ...

    def start(self, host: str) -> SaslExchange:
        """Read the credentials and return the exchange with the broker `host`. Blocks. Raises ClusterError."""
        ...


def authenticator_for(credentials: Credentials) -> Authenticator:
    """Return the authenticator of a login. Raises LoginRefused if a package is missing."""
    match credentials:
        case PasswordLogin():
            return PasswordAuthenticator(credentials)
        case TokenFileLogin():
            return TokenFileAuthenticator(credentials)
        case ClientCredentialsLogin():
            return _shared_authenticator(credentials)
        case AwsIamLogin():
            return AwsIamAuthenticator(credentials)


class PasswordAuthenticator:
    """PLAIN and SCRAM; the password is read for each login."""

    def __init__(self, login: PasswordLogin) -> None:
        self._login = login
        self.mechanism = login.mechanism
        self.origin = login.password.place

    def start(self, _: str) -> SaslExchange:
        """See Authenticator."""
        login = self._login
        try:
            password = login.password.reveal()
        except SecretUnavailable as error:
            raise LoginUnavailable(f"kafka.sasl_password: {error.what}", error.advice) from None
        if login.mechanism == "PLAIN":
            return PlainExchange(login.username, password, self.origin)
        return ScramExchange(login.mechanism, login.username, password, self.origin)


class TokenFileAuthenticator:
    """OAUTHBEARER with the token in a file, which is read for each login."""

    mechanism = "OAUTHBEARER"

    def __init__(self, login: TokenFileLogin) -> None:
        self._login = login
        self._accepted: Token | None = None
        self.origin = f"the token file {login.path}"

    def start(self, _: str) -> SaslExchange:
        """See Authenticator."""
        token = read_token_file(self._login.path)
        return TokenExchange(token, self._login.extensions, self.origin, self)

    def last_accepted(self) -> Token | None:
        """See TokenOutcome."""
        return self._accepted

    def accept(self, token: Token) -> None:
        """See TokenOutcome."""
        self._accepted = token

    def refuse(self, _: Token) -> None:
        """See TokenOutcome. The next login reads the file again."""


class ClientCredentialsAuthenticator:
    """OAUTHBEARER with tokens of a token endpoint, each used until it has to be renewed."""

    mechanism = "OAUTHBEARER"

    def __init__(self, login: ClientCredentialsLogin) -> None:
        self._login = login
        self._renewed = RenewedToken(lambda: fetch_token(login))
        self._accepted: Token | None = None
        self.origin = f"the token endpoint {login.endpoint}"

    def start(self, _: str) -> SaslExchange:
        """See Authenticator."""
        return TokenExchange(self._renewed.get(), self._login.extensions, self.origin, self)

    def last_accepted(self) -> Token | None:
        """See TokenOutcome."""
        return self._accepted

    def accept(self, token: Token) -> None:
        """See TokenOutcome."""
        self._accepted = token

    def refuse(self, token: Token) -> None:
        """See TokenOutcome."""
        self._renewed.refuse(token)


@functools.lru_cache(maxsize=16)
def _shared_authenticator(login: ClientCredentialsLogin) -> ClientCredentialsAuthenticator:
    """Return the one authenticator of the process for a login: all its clients share a token."""
    return ClientCredentialsAuthenticator(login)


class AwsIamAuthenticator:
    """AWS_MSK_IAM; the credentials are read for each login."""

    mechanism = "AWS_MSK_IAM"
    origin = "the AWS credentials"

    def __init__(self, login: AwsIamLogin) -> None:
        self._region = login.region
        self._sign = login_signer()

    def start(self, host: str) -> SaslExchange:
        """See Authenticator."""
        return AwsIamExchange(self._sign(host, region_of(host, self._region)))
