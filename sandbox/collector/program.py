"""The OpenTelemetry collector, built once from Go modules into the cache folder: OTLP or a topic in, JSON out."""

from pathlib import Path
from typing import Final

from sandbox.programs.go_program import built, program_path

MODULE: Final = Path(__file__).parent / "module"
_CONFIG: Final = """\
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
exporters:
  file:
    path: {path}
    flush_interval: 100ms
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    metrics:
      receivers: [otlp]
      exporters: [file]
"""


def program() -> Path:
    """Return the path of the built collector of these versions; it may not exist yet."""
    return program_path(MODULE, "collector")


def build() -> Path:
    """Return the path of the collector, built if it is missing (minutes of CPU). Raises GoProgramMissingError."""
    return built(MODULE, "collector", "the OpenTelemetry collector")


def configuration(port: int, path: Path) -> str:
    """Return a configuration of the collector: receive on a port of loopback, append lines of JSON to a file."""
    return _CONFIG.format(port=port, path=path)


if __name__ == "__main__":
    print(f"collector: {build()}")
