"""`job.spark_options` and the options of clusters: which values and combinations are refused, and with what advice."""

from pathlib import Path
from typing import Final

import pytest
import yaml

from stream.config.loader import ConfigRefusal, load
from stream.config.options import Config
from stream.config.spark_options import FIXED, REPLACED, check_spark_options

SERVERS: Final = {"kafka.bootstrap_servers": "a:1"}
STANDALONE: Final = {"job.master": "spark://m:7077", "checkpoint.shared": "true", "checkpoint.dir": "/shared/lagwarden"}
KUBERNETES: Final = {**STANDALONE, "job.master": "k8s://https://api", "job.executor_image": "lagwarden:1"}
SECRET: Final = "between-driver-and-workers"  # noqa: S105 -- of a test


def loaded(**sections: dict[str, object]) -> Config:
    path = Path("lagwarden.yaml")
    path.write_text(yaml.safe_dump({"kafka": {"bootstrap_servers": "a:1"}, **sections}))
    return load(path)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret").write_text(SECRET)


def test_settings_of_lagwarden_are_refused() -> None:
    """The error names the option to use instead, or says that lagwarden sets what it depends on."""
    advice = {**REPLACED, **dict.fromkeys(FIXED, "is set by lagwarden")}
    for name, words in advice.items():
        with pytest.raises(ValueError, match=words):
            check_spark_options({name: "x"})


def test_other_settings_of_spark_are_accepted_in_a_file_and_in_the_environment() -> None:
    """Numbers and truth values are written as Spark reads them; a name must be one of Spark's."""
    job = loaded(job={"spark_options": {"spark.executor.memoryOverhead": 512, "spark.speculation": True}}).job
    assert job.spark_options == {"spark.executor.memoryOverhead": "512", "spark.speculation": "true"}
    variable = {"LAGWARDEN_JOB_SPARK_OPTIONS": "spark.locality.wait=1s,spark.speculation=true"}
    job = load(environment=variable, flags=dict(SERVERS)).job
    assert job.spark_options == {"spark.locality.wait": "1s", "spark.speculation": "true"}
    with pytest.raises(ConfigRefusal, match=r"executor.memory is not a setting of Spark"):
        load(flags={**SERVERS, "job.spark_options": "executor.memory=1g"})


@pytest.mark.parametrize("key", ["job.spark_options", "kafka.oauth_extensions", "otlp.resource_attributes"])
@pytest.mark.parametrize("text", [f"spark.a.password=x,{SECRET}", f'{{"spark.a.password": "{SECRET}"}}', SECRET])
def test_error_of_a_mapping_shows_no_part_of_it(key: str, text: str) -> None:
    """Text without an equals sign may be part of a secret, and is no name to print."""
    with pytest.raises(ConfigRefusal, match="must be pairs NAME=VALUE with commas between them") as refused:
        load(flags={**SERVERS, key: text})
    assert SECRET not in str(refused.value)


def test_settings_that_may_hold_a_secret_are_printed_as_stars() -> None:
    """The configuration prints stars for settings that may hold a secret, as it does for SASL extensions."""
    config = loaded(job={"spark_options": {"spark.ssl.keyPassword": "hidden", "spark.locality.wait": "1s"}})
    assert config.masked()["job"]["spark_options"] == {
        "spark.ssl.keyPassword": "**********",
        "spark.locality.wait": "1s",
    }


SECURED: Final = {**STANDALONE, "job.auth_secret_file": "secret"}
NO_EFFECT: Final = "has no effect with job.master"
# Per row: the options and a part of the error.
CONTRADICTIONS: Final[list[tuple[dict[str, str], str]]] = [
    (
        {**SECURED, "checkpoint.shared": "false"},
        r"checkpoint.shared = 'false'.*must be true with job.master spark://m:7077: put checkpoint.dir on a volume",
    ),
    ({"checkpoint.shared": "true", "checkpoint.dir": "/x"}, f"checkpoint.shared.*{NO_EFFECT} local"),
    ({**SECURED, "checkpoint.dir": "x"}, "must be an absolute path with checkpoint.shared"),
    (STANDALONE, "job.auth_secret_file.*is needed.*job.authenticate: false"),
    ({**SECURED, "job.authenticate": "false"}, "job.auth_secret .*has no effect with job.authenticate: false"),
    ({**KUBERNETES, "job.auth_secret_file": "secret"}, f"job.auth_secret .*{NO_EFFECT} k8s"),
    ({**STANDALONE, "job.master": KUBERNETES["job.master"]}, "job.executor_image.*is needed"),
    ({**SECURED, "job.namespace": "x"}, f"job.namespace = 'x'.*{NO_EFFECT} spark://m:7077"),
    ({"job.executors": "3"}, f"job.executors.*{NO_EFFECT} local"),
    (
        {"job.master": "local-cluster[2,1,1024]", "job.executor_memory": "2g"},
        f"job.executor_memory.*{NO_EFFECT} local-cluster",
    ),
    ({"job.master": "yarn"}, "must be local.N., local-cluster"),
]


def test_contradictions_are_refused_with_what_to_do() -> None:
    """`check-config` and `run` refuse a combination that would fail, or have no effect, on executors."""
    for flags, advice in CONTRADICTIONS:
        with pytest.raises(ConfigRefusal, match=advice):
            load(flags={**SERVERS, **flags})


def test_secrets_of_kafka_must_be_in_files_for_executors_on_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only files reach other machines; a variable and an entry of the configuration file exist on this machine."""
    monkeypatch.setenv("LAGWARDEN_KAFKA_SASL_PASSWORD", "x")
    protocol = {"kafka.security_protocol": "SASL_PLAINTEXT", "kafka.sasl_mechanism": "PLAIN"}
    login = {**SERVERS, **protocol, "kafka.sasl_username": "u"}
    flags = {**SECURED, **login}
    variables = {"LAGWARDEN_KAFKA_SASL_PASSWORD": "x"}
    with pytest.raises(ConfigRefusal, match=r"kafka.sasl_password .*must be set as sasl_password_file"):
        load(environment=variables, flags=flags)
    assert load(flags={**flags, "kafka.sasl_password_file": "secret"}).job.master == STANDALONE["job.master"]
    assert load(environment=variables, flags=login).kafka.sasl_username == "u"


def test_other_storage_is_refused_as_checkpoint() -> None:
    """The checkpoint is a path or an address of S3; the scheme `file` may stand before a path."""
    for folder in ("gs://bucket/lagwarden", "hdfs://name/lagwarden", "file://host/lagwarden"):
        with pytest.raises(ConfigRefusal, match="must be a path, or an address such as s3a://BUCKET/PATH"):
            load(flags={**SERVERS, "checkpoint.dir": folder})
    assert load(flags={**SERVERS, "checkpoint.dir": "file:///mnt/lagwarden"}).checkpoint.dir == Path("/mnt/lagwarden")
