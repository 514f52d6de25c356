"""Options that several commands share, and the configuration that a command builds from them.

`stream.config` is imported inside the functions, so that `--help` does not load it.
"""

# ruff: noqa: PLC0415 -- see above
from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

if TYPE_CHECKING:
    from stream.cli.api_client import InstanceClient
    from stream.config.options import Config, OptionSection

    SectionT = TypeVar("SectionT", bound=OptionSection)

HELP_OPTION_NAMES: Final = ["-h", "--help"]

BootstrapServers = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers", "-b", metavar="HOST:PORT", help="Brokers to connect to first, separated by commas."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The configuration in YAML (docs/config.md).", envvar="LAGWARDEN_CONFIG"
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Any option, such as job.tick_interval=5s; can be repeated."),
]

LiveCluster = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers", "-b", metavar="HOST:PORT", help="Read a live cluster: its brokers, separated by commas."
    ),
]
"""Brokers of a command that reads a cluster only when the option is given."""
LiveClusterConfig = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="A configuration with the login of the cluster.")
]
"""Selects a live cluster as well, so the environment variable of `ConfigFile` does not apply."""

InstanceUrl = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="A running lagwarden; default: LAGWARDEN_URL, else http.host and http.port of the configuration.",
    ),
]
CaptureSource = Annotated[
    Path | None,
    typer.Option(
        "--capture",
        metavar="PATH",
        help="Read a capture file, a partition's directory or a broker's log directory instead.",
    ),
]
PlainJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print JSON, as returned by the HTTP API.")]


def hide_types(command: Any) -> None:
    """Omit the types of flags and arguments in the help of a command of typer and of its subcommands.

    They are `<bool>` and `<list[Path]>` otherwise. Options name their value.
    """
    for option in command.get_params(command.context_class(command, help_option_names=HELP_OPTION_NAMES)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
        elif option.param_type_name == "argument":
            option.display_type_rich = lambda **_: None
    for each in getattr(command, "commands", {}).values():
        hide_types(each)


def load_config(
    file: Path | None, flags: Mapping[str, object] | None = None, settings: Sequence[str] | None = None
) -> Config:
    """Build the configuration from a file, the environment, flags (key -> value) and `--set` (`KEY=VALUE`).

    A flag that is None was not given. Raises ConfigRefusal, and BadParameter for a setting without `=` or of a secret.
    """
    from stream.config.loader import environment_variable, load
    from stream.config.options import SECRETS

    given = {key: value for key, value in (flags or {}).items() if value is not None}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals:
            # Only what can be a key is shown: the rest may be a password.
            word = re.match(r"[\w.]*", setting)
            raise typer.BadParameter(
                f"--set {word.group() if word else ''!r} must be KEY=VALUE, such as --set job.tick_interval=5s"
            )
        if (name := key.strip()) in SECRETS:
            raise typer.BadParameter(
                f"--set {name}: every user of this machine can read the arguments of a process; "
                f"use {environment_variable(name)} or {name}_file"
            )
        given[name] = value
    return load(file, os.environ, given)


def load_section(section: type[SectionT], file: Path | None) -> SectionT:
    """Build one section from a file and the environment, for a command that does not connect to Kafka.

    Raises ConfigRefusal.
    """
    from stream.config import loader

    return loader.load_section(section, file, os.environ)


def instance_url(url: str | None, file: Path | None) -> str:
    """Return the URL of a running instance: the option, else LAGWARDEN_URL, else that of the configuration.

    Raises ConfigRefusal, and Refusal for port 0.
    """
    from stream.cli.api_client import instance_address
    from stream.config.options import HttpOptions

    return url or os.environ.get("LAGWARDEN_URL") or instance_address(load_section(HttpOptions, file))


def open_instance(url: str | None, file: Path | None) -> InstanceClient:
    """Return a client of `instance_url`, for a command that reads no capture. Raises Refusal."""
    from stream.cli.api_client import InstanceClient

    advice = "start `lagwarden run`, or name a running instance with --url"
    return InstanceClient(instance_url(url, file), advice=advice)
