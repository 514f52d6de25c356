"""The login of Amazon MSK: region, credentials of the process, and an error for each missing part."""

import json
import sys
from pathlib import Path

import pytest

from stream.cluster.transport.errors import LoginRefused, LoginUnavailable
from stream.cluster.transport.login.authenticator import authenticator_for, login_signer, region_of
from stream.config.kafka_login import AwsIamLogin


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return monkeypatch


def test_region_is_in_the_name_of_a_broker() -> None:
    """The host name of an MSK broker has the region; for custom host names, the option must have the region."""
    regions = {
        "b-1.demo.a1b2c3.c2.kafka.eu-central-1.amazonaws.com": "eu-central-1",
        "boot-a1b2.c3.kafka-serverless.us-east-1.amazonaws.com": "us-east-1",
        "b-2.demo.a1b2c3.c4.kafka.cn-north-1.amazonaws.com.cn": "cn-north-1",
    }
    assert {host: region_of(host, None) for host in regions} == regions
    assert region_of("kafka.example.com", "eu-west-1") == "eu-west-1"
    with pytest.raises(LoginRefused, match=r"set kafka\.aws_region"):
        region_of("kafka.example.com", None)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without botocore, creating the client raises an error with the package to install."""
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(LoginRefused, match=r"pip install lagwarden\[msk\]"):
        authenticator_for(AwsIamLogin())


def test_credentials_of_the_process_sign_the_login(no_aws: pytest.MonkeyPatch) -> None:
    """The message has the id of the key and the signature, and no secret."""
    pytest.importorskip("botocore", reason="the extra msk is not installed")
    no_aws.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    no_aws.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    no_aws.setenv("AWS_SESSION_TOKEN", "temporary")
    started = authenticator_for(AwsIamLogin()).start("b-1.d.a.c2.kafka.eu-central-1.amazonaws.com")
    message = json.loads(started.first)
    assert message["x-amz-credential"].startswith("AKIA/")
    assert message["x-amz-credential"].endswith("/eu-central-1/kafka-cluster/aws4_request")
    assert message["x-amz-security-token"] == "temporary"
    assert "hunter2" not in str(message)


def test_process_without_credentials(no_aws: pytest.MonkeyPatch) -> None:
    """The error states that the process has no credentials, and is retriable."""
    pytest.importorskip("botocore", reason="the extra msk is not installed")
    assert no_aws
    with pytest.raises(LoginUnavailable, match="has no AWS credentials"):
        login_signer()("b-1", "eu-central-1")
