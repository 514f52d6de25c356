"""Runs command lines of lagwarden in the process of the test."""

import json
import re
from typing import Any

import pytest

from stream.cli import app as cli
from stream.errors import ExitCode

HEAVY = ("pyspark", "kafka", "pandas", "pyarrow", "numpy", "starlette", "textual")
"""Packages that take long to load."""


class CommandLine:
    """Runs command lines; `out` and `err` are the output of the last one."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, *arguments: str, code: int | None = ExitCode.OK) -> list[list[str]]:
        """Run a command line, check its exit code (None: any error), and return the cells of each line on stdout."""
        found = cli.main(arguments)
        self.out, self.err = self._capsys.readouterr()
        assert found != ExitCode.OK if code is None else found == code, (arguments, found, self.err)
        return [re.findall(r"\S+(?: \S+)*", line) for line in self.out.splitlines()]

    def json(self, *arguments: str, code: int = ExitCode.OK) -> Any:
        """Run a command line with `--json`, check its exit code, and return the value on stdout."""
        self.run(*arguments, "--json", code=code)
        return json.loads(self.out)

    def fails(self, *arguments: str, code: int | None = ExitCode.USAGE) -> str:
        """Run a command line that prints nothing on stdout and no traceback; return its error."""
        self.run(*arguments, code=code)
        assert self.out == ""
        assert "Traceback" not in self.err
        return self.err
