"""The demo: a real broker, living traffic and lagwarden itself on this machine, in one command.

`python -m sandbox.demo` runs until Ctrl-C. With `--duration SECONDS` it stops by itself and judges: traffic is paused,
and every committed offset and lag that lagwarden shows must be what Kafka's own tool says. Everything listens on
127.0.0.1, lives in a temporary folder and is gone at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml
from rich.console import Console
from rich.live import Live

from sandbox.demo.comparison import compare_until_agreed
from sandbox.demo.scrape import not_ready_because, scrape
from sandbox.demo.view import comparison_lines, groups_lines, groups_table
from sandbox.demo.workload import Workload
from sandbox.kafka.broker import Broker, BrokerError
from sandbox.kafka.jars import JarError, connector_jars
from sandbox.kafka.java import JavaMissingError
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from sandbox.programs.prometheus import Prometheus
from sandbox.programs.prometheus_tools import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

READY_LIMIT: Final = 180.0
"""Seconds from lagwarden's start to readiness; Spark's own start is most of it."""
STOP_LIMIT: Final = 45.0
LOOK_LEAST: Final = 10.0
"""Seconds that the groups are shown at least, however short the duration."""
LOG_LINES: Final = 30

console: Final = Console()


class DemoError(RuntimeError):
    """The demo cannot go on; the message says why."""


def configuration(folder: Path, port: int) -> str:
    """Give lagwarden's configuration for the demo: loopback only, and a livelier rhythm than in production."""
    return yaml.safe_dump(
        {
            "http": {"host": LOOPBACK, "port": port},
            "checkpoint": {"dir": str(folder / "checkpoint")},
            "job": {
                "connector_jars": str(connector_jars()[0].parent),
                "trigger_interval": "2s",
                "tick_interval": "2s",
            },
            # So that the alerts that compare with targets have something to compare.
            "metrics": {"targets": [".*=1m"]},
        },
        sort_keys=False,
    )


def start_lagwarden(bootstrap: str, folder: Path, port: int) -> GuardedProcess:
    """Start `lagwarden run` as a user would, with its log in the folder."""
    config = folder / "lagwarden.yaml"
    config.write_text(configuration(folder, port))
    program = Path(sys.executable).with_name("lagwarden")
    command = [str(program), "run", "--bootstrap-servers", bootstrap, "--config", str(config)]
    return GuardedProcess(command, folder / "lagwarden.log")


def wait_until_ready(process: GuardedProcess, address: str) -> None:
    """Wait for `/readyz`, saying why it is not ready whenever the reason changes. Raises DemoError."""
    deadline = time.monotonic() + READY_LIMIT
    said = None
    while (reason := not_ready_because(address)) is not None:
        if process.exit_code is not None:
            raise DemoError(f"lagwarden ended with exit code {process.exit_code} before it was ready")
        if time.monotonic() > deadline:
            raise DemoError(f"lagwarden was not ready after {READY_LIMIT:.0f} s: {reason}")
        if reason != said and "refused" not in reason:
            console.print(f"       not ready yet: {reason}", highlight=False)
            said = reason
        time.sleep(0.5)


def prometheus_of(stack: contextlib.ExitStack, address: str, folder: Path) -> str:
    """Start a Prometheus that scrapes and has the rules, where there is one; say where it is, or how to get one."""
    try:
        prometheus = stack.enter_context(Prometheus(address, folder / "prometheus"))
    except (ToolMissingError, RuntimeError, TimeoutError) as error:
        return f"skipped  Prometheus: {error}"
    return f"alerts   {prometheus.address}/alerts (Prometheus scrapes, the chart's rules are loaded)"


def show_groups(process: GuardedProcess, address: str, until: float) -> None:
    """Show the groups until a moment of `time.monotonic`: live on a terminal, else as lines now and then."""
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(Live(console=console, auto_refresh=False)) if console.is_terminal else None
        while time.monotonic() < until:
            if process.exit_code is not None:
                raise DemoError(f"lagwarden ended with exit code {process.exit_code}")
            lines = scrape(address).group_lines()
            if live:
                live.update(groups_table(lines), refresh=True)
            else:
                print(groups_lines(lines), end="\n\n", flush=True)
            time.sleep(max(0.0, min(2.0 if live else 10.0, until - time.monotonic())))


def judge(bootstrap: str, address: str, traffic: Workload) -> int:
    """Pause the traffic and compare lagwarden with the official tool. Gives the exit code."""
    print("demo: traffic is paused; asking kafka-consumer-groups and lagwarden the same question", flush=True)
    traffic.pause()
    rows = compare_until_agreed(bootstrap, address)
    print(comparison_lines(rows))
    wrong = [row for row in rows if not row.agrees]
    missing = sorted(set(traffic.groups) - {row.group for row in rows if row.official_offset is not None})
    if wrong or missing or not rows:
        print(f"demo: {len(wrong)} of {len(rows)} partitions differ; groups without offsets: {missing or 'none'}")
        return 1
    print(f"demo: {len(rows)} partitions of {len({row.group for row in rows})} groups agree with the official tool")
    return 0


def run(duration: float | None) -> int:
    """Run the demo; with a duration in seconds, judge at its end. Gives the exit code."""
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lagwarden-demo-")))
        step("starting a Kafka broker")
        broker = stack.enter_context(Broker(folder / "broker", offsets_partitions=50))
        step(f"broker at {broker.bootstrap}; starting living traffic")
        traffic = stack.enter_context(Workload(broker.bootstrap))
        address = f"http://{LOOPBACK}:{free_port()}"
        step("starting lagwarden (Spark takes its time)")
        process = start_lagwarden(broker.bootstrap, folder, int(address.rpartition(":")[2]))
        stack.callback(process.terminate, STOP_LIMIT)
        try:
            wait_until_ready(process, address)
            watched = prometheus_of(stack, address, folder)
            step(
                f"ready after {time.monotonic() - began:.0f} s\n\n  metrics  {address}/metrics\n  status   {address}/\n"
                f"  {watched}\n"
            )
            until = max(began + duration, time.monotonic() + LOOK_LEAST) if duration is not None else float("inf")
            show_groups(process, address, until)
            traffic.wait_until_settled()
            return judge(broker.bootstrap, address, traffic)
        except (DemoError, OSError) as error:
            print(f"demo: {error}\nlagwarden's log ends:\n{tail(process.log)}", file=sys.stderr)
            return 1
        finally:
            step("stopping lagwarden, traffic and broker")


def step(what: str) -> None:
    """Say what happens now."""
    print(f"demo: {what}", flush=True)


def tail(log: Path) -> str:
    """Give the last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run. Gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.demo", description="lagwarden on this machine, live")
    parser.add_argument("--duration", type=float, default=None, metavar="SECONDS", help="default: until Ctrl-C")
    options = parser.parse_args(arguments)
    # make, a terminal that closes and `timeout` end us by signals that Python would not clean up after; and a shell
    # without job control has what runs behind it ignore the one that Python would.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return run(options.duration)
    except KeyboardInterrupt:
        print("\ndemo: ended; nothing is left behind")
        # With a duration somebody waits for a judgement, and there is none.
        return 0 if options.duration is None else 130
    except (BrokerError, JarError, JavaMissingError, TimeoutError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
