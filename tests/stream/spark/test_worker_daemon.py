"""The daemon of Python workers, as Spark starts it: it forks workers that have their modules already."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.waiting import wait_until
from stream.spark import worker_daemon


@pytest.fixture
def daemon() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", worker_daemon.__name__, "pyspark.worker"]
    environment = {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": "x", "SPARK_REUSE_WORKER": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        yield process
        with contextlib.suppress(OSError):
            process.kill()


def read_int(read: bytes) -> int:
    """Return an int as Spark's protocol has it."""
    (number,) = struct.unpack(">i", read)
    return int(number)


def test_a_worker_is_forked_with_its_modules(daemon: subprocess.Popen[bytes]) -> None:
    """The daemon writes its port first, forks a worker with Arrow and numpy, and ends with its standard input."""
    assert daemon.stdin is not None
    assert daemon.stdout is not None
    port = read_int(daemon.stdout.read(4))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        worker = read_int(connection.recv(4))
        assert Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1] == str(daemon.pid)
        mapped = Path(f"/proc/{worker}/maps").read_text()
        assert "libarrow" in mapped
        assert "multiarray" in mapped
    daemon.stdin.close()
    wait_until(lambda: daemon.poll() is not None, "the daemon to end", limit=30)


@pytest.mark.parametrize(
    ("module", "then"), [(worker_daemon.__name__, "pa.array([1]); "), ("stream.service.first_read.worker", "")]
)
def test_no_module_starts_a_thread_or_imports_what_tasks_do_not_use(module: str, then: str) -> None:
    """The import of a program that forks starts no thread, because a fork copies locks without the threads with them.

    Nor does it import pandas, or, in the daemon, let Arrow import it into each worker, or what logs and checks options.
    """
    program = f"import sys, threading, {module}, pyarrow as pa; {then}"
    program += "print(threading.active_count(), {'pandas', 'structlog', 'yaml', 'pydantic_core'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "1 set()\n"
