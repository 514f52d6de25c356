"""The demo: a real broker, live traffic and lagwarden itself on this machine, with one command.

`python -m sandbox.demo` runs until Ctrl-C. `--duration SECONDS` stops it and compares: traffic is paused, and every
committed offset and lag that lagwarden shows must equal those of Kafka's tool. If it has run for long enough to know
them, the verdict of each group must be the one that the table of groups expects. Everything listens on 127.0.0.1 and
uses a temporary folder that is removed at the end.
"""

import argparse
import contextlib
import faulthandler
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live

from exporters.wording import unix_time
from sandbox.demo.view import compare_until_agreed, compare_verdicts_until_agreed, comparison_lines
from sandbox.demo.workload import Workload
from sandbox.kafka.broker import Broker, BrokerError
from sandbox.kafka.jars import JarError
from sandbox.kafka.java import JavaMissingError
from sandbox.lagwarden import LagwardenProcess
from sandbox.ports import LOOPBACK
from sandbox.process import GuardedProcess
from sandbox.programs.prometheus import Prometheus
from sandbox.programs.prometheus_tools import ToolMissingError
from sandbox.waiting import LoadedLimit, load_per_core
from stream.cli.api_client import InstanceClient
from stream.cli.group_source import WORST_FIRST
from stream.cli.render.group_tables import groups_table
from stream.cli.render.tables import plain_lines
from stream.errors import Refusal

READY_LIMIT: Final = 180.0
"""Seconds of a quiet machine from lagwarden's start until it is ready; most of it is the start of Spark."""
PROGRESS_PERIOD: Final = 15.0
"""Seconds between two lines of a wait."""
SETTINGS: Final = {
    "job.trigger_interval": "2s",
    "job.tick_interval": "2s",
    "log.format": "console",
    # The demo's faults begin before lagwarden starts.
    "health.day_one": "0s",
    # For the alerts that compare with targets.
    "metrics.targets": ".*=1m",
}
FROZEN_AFTER: Final = 150.0
"""Seconds after which a stop ends the process at once; the limits of its parts are shorter together."""
SHOW_LEAST: Final = 10.0
"""Seconds for which the groups are shown at least, however short the duration."""
VERDICTS_KNOWN: Final = 270.0
"""Seconds after which the verdict of every group can be known: a lag must have grown over half of the commit window."""
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

console: Final = Console()


class DemoError(RuntimeError):
    """The demo cannot continue; the message says why."""


def not_ready_because(client: InstanceClient) -> str | None:
    """Return None when lagwarden shows its groups, else why it does not."""
    try:
        client.groups()
    except Refusal as refusal:
        return refusal.what
    return None


def wait_until_ready(process: GuardedProcess, client: InstanceClient) -> None:
    """Wait for the groups, and print each new reason why lagwarden is not ready, and the time. Raises DemoError."""
    limit, printed, lines = LoadedLimit(READY_LIMIT), None, 0
    while (reason := not_ready_because(client)) is not None:
        if process.exit_code is not None:
            raise DemoError(f"lagwarden ended with exit code {process.exit_code} before it was ready")
        if limit.reached():
            raise DemoError(f"lagwarden was not ready after {limit.elapsed:.0f} s: {reason}")
        if reason != printed and "refused" not in reason:
            console.print(f"       not ready yet: {reason}", highlight=False)
            printed = reason
        if limit.elapsed >= PROGRESS_PERIOD * (lines + 1):
            lines += 1
            console.print(f"       {limit.elapsed:.0f} s, load {load_per_core():.1f} per core", highlight=False)
        time.sleep(0.5)


def prometheus_of(stack: contextlib.ExitStack, address: str, folder: Path) -> str:
    """Start a Prometheus with the chart's rules; returns a line with its address or the reason why there is none."""
    try:
        prometheus = stack.enter_context(Prometheus(address, folder / "prometheus"))
    except (ToolMissingError, RuntimeError, TimeoutError) as error:
        return f"skipped  Prometheus: {error}"
    return f"alerts   {prometheus.address}/alerts (Prometheus scrapes, the chart's rules are loaded)"


def show_groups(process: GuardedProcess, client: InstanceClient, until: float) -> None:
    """Show the groups until a time of `time.monotonic`: as a live table on a terminal, else as lines every 10 s."""
    with contextlib.ExitStack() as stack:
        live = stack.enter_context(Live(console=console, auto_refresh=False)) if console.is_terminal else None
        while time.monotonic() < until:
            if process.exit_code is not None:
                raise DemoError(f"lagwarden ended with exit code {process.exit_code}")
            answer = client.groups(WORST_FIRST)
            table = groups_table(answer["groups"], unix_time(answer["snapshot_time"]) or 0.0)
            if live:
                live.update(table, refresh=True)
            else:
                print(*plain_lines(table), sep="\n", end="\n\n", flush=True)
            time.sleep(max(0.0, min(2.0 if live else 10.0, until - time.monotonic())))


def compare_with_kafka(bootstrap: str, client: InstanceClient, traffic: Workload) -> int:
    """Pause the traffic and compare lagwarden with the official tool. Returns the exit code."""
    print("demo: traffic is paused; comparing lagwarden with kafka-consumer-groups", flush=True)
    traffic.pause()
    rows = compare_until_agreed(bootstrap, client)
    print(comparison_lines(rows))
    wrong = [row for row in rows if not row.agrees]
    missing = sorted(set(traffic.groups) - {row.place[0] for row in rows if row.official[0] is not None})
    if wrong or missing or not rows:
        print(f"demo: {len(wrong)} of {len(rows)} partitions differ; groups without offsets: {missing or 'none'}")
        return 1
    print(f"demo: {len(rows)} partitions of {len({row.place[0] for row in rows})} groups agree with the official tool")
    return 0


def compare_with_table(client: InstanceClient, traffic: Workload, observed: float) -> int:
    """Compare the verdicts with the expected ones after `observed` seconds of observation. Returns the exit code."""
    if observed < VERDICTS_KNOWN:
        print(f"demo: verdicts are not compared: they need {VERDICTS_KNOWN:.0f} s, and have had {observed:.0f} s")
        return 0
    rows = compare_verdicts_until_agreed(traffic.rows, client)
    wrong = [row for row in rows if not row.agrees]
    for row in wrong:
        print(f"demo: {row.group} is {row.shown or 'without a verdict'}, expected: {' or '.join(row.expected)}")
    print(f"demo: {len(rows) - len(wrong)} of {len(rows)} verdicts are as expected", flush=True)
    return 1 if wrong or not rows else 0


def run(duration: float | None) -> int:
    """Run the demo; with a duration in seconds, compare at its end. Returns the exit code."""
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lagwarden-demo-")))
        step("starting a Kafka broker")
        broker = stack.enter_context(Broker(folder / "broker", offsets_partitions=50))
        step(f"broker at {broker.bootstrap}; starting live traffic")
        traffic = stack.enter_context(Workload(broker.bootstrap))
        step("starting lagwarden (Spark takes most of the time)")
        lagwarden = LagwardenProcess(broker.bootstrap, folder / "checkpoint", folder / "lagwarden.log", SETTINGS)
        stack.enter_context(lagwarden)
        process, address = lagwarden.process, f"http://{LOOPBACK}:{lagwarden.port}"
        client = InstanceClient(address, environment={})
        try:
            wait_until_ready(process, client)
            ready = time.monotonic()
            watched = prometheus_of(stack, address, folder)
            step(
                f"ready after {time.monotonic() - began:.0f} s\n\n  metrics  {address}/metrics\n  status   {address}/\n"
                f"  {watched}\n\n"
                "verdicts need a minute: a group must be seen to stand still, or to fall behind, before it has one\n"
            )
            until = max(began + duration, time.monotonic() + SHOW_LEAST) if duration is not None else float("inf")
            show_groups(process, client, until)
            traffic.wait_until_settled()
            verdicts = compare_with_table(client, traffic, time.monotonic() - ready)
            return compare_with_kafka(broker.bootstrap, client, traffic) or verdicts
        except (DemoError, OSError, Refusal) as error:
            print(f"demo: {error}\nlagwarden's log ends:\n{lagwarden.log_tail()}", file=sys.stderr)
            return 1
        finally:
            # Each part of the stop has a limit. A second Ctrl-C would leave processes and files behind.
            for number in _STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            # A consumer of librdkafka (2.16) that closes during a rebalance can hold the interpreter's lock for ever.
            faulthandler.dump_traceback_later(FROZEN_AFTER, exit=True)
            step("stopping lagwarden, traffic and broker")


def step(what: str) -> None:
    """Print the next step."""
    print(f"demo: {what}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.demo", description="lagwarden on this machine, live")
    parser.add_argument("--duration", type=float, default=None, metavar="SECONDS", help="default: until Ctrl-C")
    options = parser.parse_args(arguments)
    # make, a closing terminal and `timeout` send signals for which Python has no clean-up by default, and a shell
    # without job control makes background processes ignore SIGINT, for which it has one.
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        return run(options.duration)
    except KeyboardInterrupt:
        print("\ndemo: ended; all processes and files are removed")
        # With a duration the caller expects the result of the comparison, and there is none.
        return 0 if options.duration is None else 130
    except (BrokerError, JarError, JavaMissingError, TimeoutError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.exit(main())
