"""Signatures agree with AWS's published example and with a second implementation."""

import calendar
import datetime as dt
import time
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.msk import AwsMskIamClient

from stream.cluster.transport.login.aws_iam import login_message
from stream.cluster.transport.login.sigv4 import AwsKeys, SigningScope, presigned_query

TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1)


def test_published_example() -> None:
    """The signature is that of AWS's documentation: "Authenticating Requests: Using Query Parameters"."""
    keys = AwsKeys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    moment = calendar.timegm(time.strptime("20130524T000000Z", "%Y%m%dT%H%M%SZ"))
    scope = SigningScope("us-east-1", "s3", moment, 86400)
    url = ("examplebucket.s3.amazonaws.com", "/test.txt")
    signed = presigned_query(url, {}, keys, scope, payload="UNSIGNED-PAYLOAD")
    assert signed["X-Amz-Credential"] == "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
    assert signed["X-Amz-Signature"] == "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"


@given(
    keys=st.builds(AwsKeys, TEXT, TEXT, st.none() | TEXT),
    region=st.sampled_from(["eu-central-1", "us-gov-east-1"]),
    host=st.from_regex(r"[a-z0-9-]+(\.[a-z0-9-]+){1,4}", fullmatch=True),
    now=st.datetimes(dt.datetime(2000, 1, 1)),  # noqa: DTZ001 -- in UTC
)
def test_login_message_is_that_of_the_library(keys: AwsKeys, region: str, host: str, now: dt.datetime) -> None:
    """The message for MSK is that of kafka-python, except for the name of the client."""
    # The module's own name: the class itself belongs to other threads, too.
    with mock.patch("kafka.net.sasl.msk.datetime") as module:
        module.datetime.now.return_value = now
        theirs = AwsMskIamClient(host, keys.access, keys.secret, region, keys.session).first_message()
    ours = login_message(host, keys, region, float(calendar.timegm(now.timetuple())))
    assert sorted_message(ours) == sorted_message(theirs.replace(b'"kafka-python"', b'"lagwarden"'))


def sorted_message(message: bytes) -> list[bytes]:
    return sorted(message.strip(b"{}").split(b',"'))
