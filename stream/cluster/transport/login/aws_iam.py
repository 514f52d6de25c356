"""The login AWS_MSK_IAM of Amazon MSK: a signed request for `kafka-cluster:Connect` as the only message.

The message is that of aws-msk-iam-auth, the Java library of MSK. Only finding AWS credentials (variables, profiles, web
identity, containers, instances, each with its renewal) needs a library: botocore, the extra `lagwarden[msk]`. AWS's own
signer for Python needs botocore too, and boto3 and click beside it.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Final

from stream.cluster.transport.errors import LoginRefused, LoginUnavailable
from stream.cluster.transport.login.sigv4 import AwsKeys, SigningScope, presigned_query

if TYPE_CHECKING:
    from collections.abc import Callable

_SERVICE: Final = "kafka-cluster"
_SECONDS: Final = 900
_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")


def login_message(host: str, keys: AwsKeys, region: str, now: float | None = None) -> bytes:
    """Return the message that logs in to the broker `host`; `now` in Unix seconds."""
    scope = SigningScope(region, _SERVICE, time.time() if now is None else now, _SECONDS)
    signed = presigned_query((host, "/"), {"Action": f"{_SERVICE}:Connect"}, keys, scope)
    fields = {"version": "2020_10_22", "host": host, "user-agent": "lagwarden"}
    fields |= {name.lower(): value for name, value in signed.items()}
    return json.dumps(fields, separators=(",", ":")).encode()


def region_of(host: str, configured: str | None) -> str:
    """Return the configured region, or that in the name of an MSK broker. Raises LoginRefused."""
    if configured is not None:
        return configured
    found = _REGION.search(host)
    if found is None:
        raise LoginRefused(f"the host name {host} has no AWS region", "set kafka.aws_region")
    return found.group(1)


def aws_key_source() -> Callable[[], AwsKeys]:
    """Return a function that returns the current AWS credentials of this process, renewed if they are temporary.

    Raises LoginRefused without botocore. The function blocks, and raises LoginUnavailable.
    """
    try:
        import botocore.exceptions  # noqa: PLC0415 -- an optional extra
        import botocore.session  # noqa: PLC0415
    except ImportError:
        raise LoginRefused("AWS_MSK_IAM needs the package botocore", "pip install lagwarden[msk]") from None
    session = botocore.session.Session()

    def current() -> AwsKeys:
        try:
            found = session.get_credentials()
            frozen = None if found is None else found.get_frozen_credentials()
        except botocore.exceptions.BotoCoreError as error:
            raise LoginUnavailable(f"the AWS credentials cannot be read: {type(error).__name__}", _ADVICE) from None
        if frozen is None or not frozen.access_key or not frozen.secret_key:
            raise LoginUnavailable("this process has no AWS credentials", _ADVICE)
        return AwsKeys(frozen.access_key, frozen.secret_key, frozen.token)

    return current


_ADVICE: Final = "give it a role (web identity, Pod Identity, instance profile) or set the variables AWS_*"
