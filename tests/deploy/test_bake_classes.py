"""The archive of classes is written in the background of a person's work: it yields, and it ends with its command."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import bake_classes
from tests.stream.spark.fake_java import write_java
from tests.support.processes import wait_until


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache, and make a JVM that never answers the one of this machine."""
    write_java(tmp_path / "jdk", f"echo $$ >{tmp_path}/pid; exec sleep 600")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def set_load(monkeypatch: pytest.MonkeyPatch, per_core: Callable[[], float]) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (per_core() * (os.cpu_count() or 1), 0.0, 0.0))


def test_signal_ends_the_jvm(tmp_path: Path) -> None:
    """SIGTERM while the JVM boots ends it with the command, and leaves no draft."""
    with subprocess.Popen([sys.executable, "-m", "deploy.bake_classes"], stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "the JVM")
            process.terminate()
            assert process.wait(60) == 128 + signal.SIGTERM
        finally:
            process.kill()
    java = Path("/proc", (tmp_path / "pid").read_text().strip(), "cmdline")
    assert not java.exists() or b"sleep" not in java.read_bytes()
    assert list((tmp_path / "cache").rglob("*.new")) == []


def test_busy_machine_is_left_alone(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A load that is or becomes high ends it with one line, and the next set-up tries it again."""
    monkeypatch.setattr(bake_classes, "PERIOD", 0.05)
    loads = iter([1.0, 1.0])
    for per_core in (lambda: 50.0, lambda: next(loads, 50.0)):
        set_load(monkeypatch, per_core)
        assert bake_classes.main(["--unless-busy"]) == 0
        assert "skipped on a busy machine (load 50.0 per core)" in capsys.readouterr().out.splitlines()[-1]
        assert not list(cache.rglob("*.failed"))


def test_endless_start_is_remembered(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A JVM that does not answer is given up after the limit, with progress until then, and is not tried again."""
    monkeypatch.setattr(bake_classes, "PERIOD", 0.05)
    monkeypatch.setattr(bake_classes, "LIMIT", 0.2)
    set_load(monkeypatch, lambda: 0.0)
    assert bake_classes.main() == 1
    assert "load 0.0 per core" in capsys.readouterr().out
    assert [path.suffix for path in (cache / "classes").iterdir()] == [".failed"]
    assert bake_classes.main() == 1
    assert "To try again, remove" in capsys.readouterr().out
