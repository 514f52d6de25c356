"""The installed wheel, in an empty environment, on a machine without Java, make and a checkout."""

import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

import pytest

from deploy.release.artifacts import build_wheel, write_constraints
from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import describe_groups
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.waiting import wait_until
from tests.integration.traffic import commit, make_topic
from tests.support.monitor import START_LIMIT, STOP_LIMIT
from tests.support.scrape import Metrics

# pip builds PySpark's wheel, half a gigabyte, unless its cache has it.
pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(1200)]

VERSIONS: Final = ("3.11", "3.12", "3.13")
OFFLINE: Final = ("NewConnectionError", "NameResolution", "timed out", "No matching distribution")
"""Parts of the errors of pip without a registry."""


def python_of(version: str) -> str | None:
    """Return a Python of this version that can make environments, None without one on this machine."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return sys.executable
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for each in (shutil.which(f"python{version}"), *map(str, installed)):
        # A stub of pyenv on PATH may have no Python behind it.
        if (
            each
            and not subprocess.run([each, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode
        ):
            return each
    return None


@pytest.fixture(scope="module", params=VERSIONS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return `lagwarden` in an environment of its own, installed from the wheel with its constraints."""
    python = python_of(request.param)
    if python is None:
        pytest.skip(f"this machine has no Python {request.param}")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True, capture_output=True)
    # Of half a gigabyte of modules, the program imports a few and compiles these itself.
    install = [folder / "venv/bin/pip", "install", "--quiet", "--no-input", "--no-compile"]
    install += ["-c", write_constraints(folder), build_wheel(folder)]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip(f"pip reaches no registry: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder / "venv/bin/lagwarden"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a folder for PATH with the programs of this machine, except Java, make and Python."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for found in (each for place in ("/usr/bin", "/bin") for each in Path(place).glob("*")):
        link = folder / found.name
        if not found.name.startswith(("java", "make", "python", "pip")) and not link.is_symlink():
            link.symlink_to(found)
    assert shutil.which("java", path=str(folder)) is None
    return folder


def get(port: int, route: str) -> tuple[int, str]:
    """Return status and body of a response; 0 without one."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{route}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def test_installed_wheel_watches_a_cluster(broker: Broker, program: Path, path: Path, tmp_path: Path) -> None:
    """A monitor in an empty working folder with an empty home becomes ready, and every lag is that of Kafka's tool."""
    # The broker is shared, and each test has its own folder.
    topic, own = tmp_path.name, f"reader-of-{tmp_path.name}"
    make_topic(broker.bootstrap, topic, 2, records=20)
    commit(broker.bootstrap, own, topic, {0: 5, 1: 7})
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    port = free_port()
    log = tmp_path / "log"
    options = ("run", "-b", broker.bootstrap, "--http-port", str(port), "--set", f"http.host={LOOPBACK}")
    command = [
        *("env", "-i", f"PATH={path}", f"HOME={home}"),
        *("sh", "-c", 'cd "$0" && exec "$@"', str(work), str(program), *options),
    ]
    with GuardedProcess(command, log) as process:
        wait_until(
            lambda: get(port, "/readyz")[0] == 200 or not process.running, "the wheel to be ready", limit=START_LIMIT
        )
        assert process.running, log.read_text()
        shown = Metrics(get(port, "/metrics")[1])
        expected = {
            (row.topic, row.partition): row.lag for row in describe_groups(broker.bootstrap) if row.group == own
        }
        assert len(expected) == 2
        assert {place[1:]: lag for place, lag in shown.lags.items() if place[0] == own} == expected
        assert process.terminate(STOP_LIMIT) == 0, log.read_text()
    assert [line for line in log.read_text().splitlines() if "Traceback" in line] == []
