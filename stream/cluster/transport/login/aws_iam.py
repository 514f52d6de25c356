"""The login AWS_MSK_IAM of Amazon MSK: a signed request for `kafka-cluster:Connect` as the only message.

kafka-python makes the message, which is that of aws-msk-iam-auth, the Java library of MSK. Only finding AWS credentials
(variables, profiles, web identity, containers, instances, each with its renewal) needs botocore, the extra
`lagwarden[msk]`.
"""

import re
from collections.abc import Callable
from typing import Final

from kafka.net.sasl.msk import AwsMskIamClient

from stream.cluster.transport.errors import LoginRefused, LoginUnavailable

_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")
_ADVICE: Final = "give it a role (web identity, Pod Identity, instance profile) or set the variables AWS_*"


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
