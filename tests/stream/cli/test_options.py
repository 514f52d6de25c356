"""Options that several commands share, and the configuration that is built from them."""

from pathlib import Path

import pytest
import typer

from stream.cli.options import load_config, load_section
from stream.config.loader import ConfigRefusal
from stream.config.options import GroupsOptions, HttpOptions


def test_flag_that_was_not_given_does_not_hide_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag of None leaves the option to the other sources, and `--set` sets an option."""
    monkeypatch.setenv("LAGWARDEN_HTTP_PORT", "1234")
    flags = {"kafka.bootstrap_servers": "a:1", "http.port": None}
    config = load_config(None, flags, ["job.shards = 4"])
    assert (config.http.port, config.job.shards) == (1234, 4)


def test_an_error_does_not_print_what_may_be_a_password() -> None:
    """The error has the part that can be a key and nothing after it.

    A secret is refused, because every user of the machine sees arguments; the error names a variable and a file option.
    """
    for setting, error in (
        ("kafka.sasl_password:hunter2", r"--set 'kafka\.sasl_password' must be KEY=VALUE"),
        ("kafka.sasl_password=hunter2", r"LAGWARDEN_KAFKA_SASL_PASSWORD or kafka\.sasl_password_file"),
    ):
        with pytest.raises(typer.BadParameter, match=error) as refused:
            load_config(None, {}, [setting])
        assert "hunter2" not in str(refused.value)


def test_section_needs_no_brokers(tmp_path: Path) -> None:
    """A command that requests the HTTP API or reads a capture loads only its own section."""
    path = tmp_path / "c.yaml"
    path.write_text("{http: {port: 1234}, kafka: {ssl_ca_file: /no/such/file, sasl_password_file: /no/such/file}}")
    assert load_section(HttpOptions, path).port == 1234
    assert load_section(GroupsOptions, path).offsets_retention is None


def test_section_reports_faults_and_unknown_names(tmp_path: Path) -> None:
    """A misspelt name is reported in any section, and an invalid value only in the section of the command."""
    path = tmp_path / "c.yaml"
    for text in ("{http: {port: x}}", "{http: {prot: 1}}", "{htpt: {}}", "{kafka: {bootstrap_server: a}}"):
        path.write_text(text)
        with pytest.raises(ConfigRefusal) as refused:
            load_section(HttpOptions, path)
        assert len(refused.value.faults) == 1, text
