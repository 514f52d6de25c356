"""Evaluates ScaledObjects by KEDA's own code (`module/main.go`), which is built once from its Go modules.

`python -m sandbox.keda.program` builds it. The modules and what is compiled stay in Go's own caches, so that an
interrupted build continues.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from sandbox.programs.go_program import built

MODULE: Final = Path(__file__).parent / "module"


class Evaluation(NamedTuple):
    """What KEDA answers to the autoscaler: the value of the metric, or None and the errors that it logs."""

    value: float | None
    errors: str = ""


def version() -> str:
    """Return the version of KEDA, such as v2.21.0."""
    found = re.search(r"^\tgithub\.com/kedacore/keda/v2 (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def build() -> Path:
    """Return the path of the program, built if it is missing (12 minutes of CPU). Raises GoProgramMissingError."""
    return built(MODULE, "keda", f"KEDA {version()}")


def evaluate(program: Path, *scaled_objects: Mapping[str, Any]) -> list[Evaluation]:
    """Return the answers for ScaledObjects, for which KEDA queries the addresses of their triggers now."""
    lines = "".join(json.dumps(each) + "\n" for each in scaled_objects)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [Evaluation(each.get("value"), "\n".join(each.get("errors", []))) for each in answers]


if __name__ == "__main__":
    print(f"keda: {version()} (a first build: 12 minutes of CPU, some 4 GB in Go's caches)", flush=True)
    print(f"keda: {build()}")
