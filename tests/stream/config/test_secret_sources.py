"""A secret is read where it is at each use, and is in no copy of the configuration."""

import pickle
from pathlib import Path

import pytest

from stream.config.loader import load
from stream.config.secret_sources import Secret, SecretEntry, SecretFile, SecretUnavailable, SecretValue, SecretVariable

LOGIN = {
    "kafka.bootstrap_servers": "a:1",
    "kafka.security_protocol": "SASL_PLAINTEXT",
    "kafka.sasl_mechanism": "PLAIN",
    "kafka.sasl_username": "u",
}


class Place:
    """One kind of place of a password: how it is configured, and how the password there is changed."""

    def __init__(self, kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kind = kind
        self.yaml = folder / "config.yaml"
        self.file = folder / "password"
        self.yaml.write_text("{}")
        self.environment: dict[str, str] = {}
        if kind == "file":
            self.environment["LAGWARDEN_KAFKA_SASL_PASSWORD_FILE"] = str(self.file)
        self.monkeypatch = monkeypatch

    def write(self, password: str) -> None:
        if self.kind == "file":
            self.file.write_text(password + "\n")
        elif self.kind == "entry":
            self.yaml.write_text(f"kafka: {{sasl_password: {password}}}")
        else:
            self.monkeypatch.setenv("LAGWARDEN_KAFKA_SASL_PASSWORD", password)
            self.environment["LAGWARDEN_KAFKA_SASL_PASSWORD"] = password

    def secret(self) -> Secret:
        found = load(self.yaml, self.environment, LOGIN).kafka.sasl_password
        assert found is not None
        return found


@pytest.fixture(params=["file", "entry", "variable"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return each kind of place, with the password `hunter2`."""
    made = Place(request.param, tmp_path, monkeypatch)
    made.write("hunter2")
    return made


def test_the_place_is_kept_and_not_the_secret(place: Place) -> None:
    """The repr and the pickle of a secret do not have its value; an unpickled copy reads the value from its place.

    The next use after a rotation gets the new secret, without a new configuration.
    """
    secret = place.secret()
    pickled = pickle.dumps(secret)
    assert secret.reveal() == "hunter2"
    assert "hunter2" not in f"{secret!r} {secret.place}"
    assert b"hunter2" not in pickled
    assert pickle.loads(pickled).reveal() == "hunter2"  # noqa: S301 -- pickled above
    place.write("rotated")
    assert secret.reveal() == "rotated"


def test_a_value_cannot_leave_its_process() -> None:
    """A secret without a place is refused by pickle, and no error or repr shows it."""
    secret = SecretValue("hunter2")
    with pytest.raises(TypeError, match="cannot leave its process") as refused:
        pickle.dumps(secret)
    assert "hunter2" not in f"{refused.value} {secret!r} {secret.place}"
    assert secret == SecretValue("hunter2")
    assert len({secret, SecretValue("hunter2"), SecretValue("other")}) == 2


def test_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The error has the path of the file, or the name of the variable, and the reason."""
    binary, missing = tmp_path / "binary", tmp_path / "none.yaml"
    binary.write_bytes(b"\xff\xfe")
    rows: list[tuple[Secret, str]] = [
        (SecretFile(missing), f"{missing} cannot be read: No such file"),
        (SecretFile(binary), f"{binary} cannot be read: not text"),
        (SecretEntry(missing, "kafka.sasl_password"), "No such file"),
        (SecretVariable("NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE is not set"),
    ]
    for secret, reason in rows:
        with pytest.raises(SecretUnavailable, match=reason):
            secret.reveal()


def test_entry_that_is_gone_is_named_without_the_file_content(tmp_path: Path) -> None:
    """A configuration file that changed into something else is named; its text, which may be a secret, is not."""
    path = tmp_path / "config.yaml"
    for text in ("", "kafka: {}", "kafka: {sasl_username: hunter2", "[hunter2]", "kafka: hunter2"):
        path.write_text(text)
        with pytest.raises(SecretUnavailable, match=r"has no kafka\.sasl_password any more") as refused:
            SecretEntry(path, "kafka.sasl_password").reveal()
        assert "hunter2" not in str(refused.value)
        assert refused.value.__cause__ is None
