"""AWS Signature Version 4 in the query of a URL ("presigned"), as MSK's IAM login wants it. Pure.

Source: "Authenticating Requests: Using Query Parameters" in AWS's documentation of Signature Version 4.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
EMPTY_PAYLOAD: Final = hashlib.sha256(b"").hexdigest()
"""The hash of a request without a body."""


@dataclasses.dataclass(frozen=True, slots=True)
class AwsKeys:
    """AWS credentials; `session` is the token of temporary ones. The repr has only the id of the access key."""

    access: str
    secret: str = dataclasses.field(repr=False)
    session: str | None = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class SigningScope:
    """Where and when a signature is valid: `time` in Unix seconds, for `seconds`."""

    region: str
    service: str
    time: float
    seconds: int

    @property
    def timestamp(self) -> str:
        """The time in the basic format of ISO 8601."""
        return datetime.fromtimestamp(self.time, UTC).strftime("%Y%m%dT%H%M%SZ")

    @property
    def name(self) -> str:
        """The credential scope."""
        return f"{self.timestamp[:8]}/{self.region}/{self.service}/aws4_request"


def presigned_query(
    url: tuple[str, str], query: Mapping[str, str], keys: AwsKeys, scope: SigningScope, payload: str = EMPTY_PAYLOAD
) -> dict[str, str]:
    """Return the parameters of a signed GET: those of `query`, those of the signature, and `X-Amz-Signature`.

    `url` is host and path, `payload` the hash of the body in hex.
    """
    host, path = url
    session = {} if keys.session is None else {"X-Amz-Security-Token": keys.session}
    parameters = {
        **query,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{keys.access}/{scope.name}",
        "X-Amz-Date": scope.timestamp,
        "X-Amz-Expires": str(scope.seconds),
        **session,
        "X-Amz-SignedHeaders": "host",
    }
    pairs = sorted((_encoded(name), _encoded(value)) for name, value in parameters.items())
    canonical_query = "&".join(f"{name}={value}" for name, value in pairs)
    request = "\n".join(["GET", quote(path, safe="/-_.~"), canonical_query, f"host:{host}", "", "host", payload])
    digest = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{keys.secret}".encode()
    for part in scope.name.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signed = f"{_ALGORITHM}\n{scope.timestamp}\n{scope.name}\n{digest}"
    return {**parameters, "X-Amz-Signature": hmac.digest(key, signed.encode(), "sha256").hex()}


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~")
