"""The files of TLS and logins are read again if they change while the server runs."""

from pathlib import Path

import bcrypt
import pytest

from exporters.http.access.web_access import Credentials, WebAccess
from exporters.http.access.web_config import WebConfigError

FIRST, SECOND = (bcrypt.hashpw(word, bcrypt.gensalt(4)).decode() for word in (b"one", b"two"))


class Files:
    """A web configuration and a token, and the access that follows them."""

    def __init__(self, folder: Path) -> None:
        self.config, self.token = folder / "web.yaml", folder / "token"
        self.now = 100.0
        self.faults: list[str] = []
        self.reloads = 0
        self.config.write_text(f"basic_auth_users: {{alice: {FIRST}}}")
        self.token.write_text("token-1\n")
        self.access = WebAccess(
            self.config, self.token, on_fault=self.faults.append, on_reload=self._reload, clock=lambda: self.now
        )

    def _reload(self) -> None:
        self.reloads += 1

    def later(self) -> Credentials:
        """Return the credentials a second later."""
        self.now += 1.0
        return self.access.credentials()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_credentials_of_the_files(files: Files) -> None:
    """The token is read without its line feed; neither it nor a hash is printed. Without files no login is needed."""
    assert files.access.credentials() == Credentials({"alice": FIRST.encode()}, b"token-1")
    assert "token-1" not in repr(files.access.credentials())
    assert FIRST not in repr(files.access.credentials())
    assert WebAccess().credentials() == Credentials()
    assert not WebAccess().credentials().needed
    assert WebAccess().tls_context() is None


def test_changed_files_are_read_again(files: Files) -> None:
    """Each change of a file is read once. The files are checked once per second, not for every request."""
    files.config.write_text(f"basic_auth_users: {{alice: {SECOND}, bob: {FIRST}}}")
    assert set(files.later().users) == {"alice", "bob"}
    files.token.write_text("another-token")
    files.now += 0.9
    assert files.access.credentials().token == b"token-1"
    assert files.later().token == b"another-token"
    files.later()
    assert files.reloads == 2
    assert files.faults == []


def test_mounted_secret_is_replaced_by_a_link(tmp_path: Path) -> None:
    """The file is read again if Kubernetes replaces the link to its folder; its time and size may stay the same."""
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "token").write_text(f"token-{number}")
    link = tmp_path / "data"
    link.symlink_to("1")
    now = [0.0]
    access = WebAccess(token_file=link / "token", clock=lambda: now[0])
    (tmp_path / "new").symlink_to("2")
    (tmp_path / "new").rename(link)
    now[0] = 1.0
    assert access.credentials().token == b"token-2"


@pytest.mark.parametrize(
    ("text", "says"),
    [("basic_auth_users: {alice: clear}", "not a bcrypt hash"), ("a: [", "not YAML"), (None, "cannot be read")],
)
def test_unusable_change_leaves_the_previous_content_in_force(files: Files, text: str | None, says: str) -> None:
    """An unusable change is reported once, not at each request, and the next good content applies."""
    before = files.access.credentials()
    if text is None:
        files.config.unlink()
    else:
        files.config.write_text(text)
    assert files.later() == before
    assert files.later() == before
    assert len(files.faults) == 1
    assert says in files.faults[0]
    files.config.write_text(f"basic_auth_users: {{bob: {SECOND}}}")
    assert set(files.later().users) == {"bob"}


def test_the_last_user_cannot_vanish_while_the_server_runs(tmp_path: Path) -> None:
    """A valid file without users is as unusable as an invalid one, with a token as well: it may be written in part."""
    file, now, faults = tmp_path / "web.yaml", [0.0], list[str]()
    file.write_text(f"basic_auth_users: {{alice: {FIRST}}}")
    (tmp_path / "token").write_text("token-1")
    access = WebAccess(file, tmp_path / "token", on_fault=faults.append, clock=lambda: now[0])
    for text in ("", "basic_auth_users: {}", "basic_auth_users:"):
        file.write_text(text)
        now[0] += 1.0
        assert set(access.credentials().users) == {"alice"}
        assert "by a restart only" in faults.pop()
    file.write_text(f"basic_auth_users: {{bob: {SECOND}}}")
    now[0] += 1.0
    assert set(access.credentials().users) == {"bob"}


def test_unusable_token_is_refused(tmp_path: Path) -> None:
    """A token must have one word, because an empty token would accept every client that sends an empty one."""
    for text in ("", "two words\n"):
        (tmp_path / "token").write_text(text)
        with pytest.raises(WebConfigError, match="must have one word"):
            WebAccess(token_file=tmp_path / "token")
