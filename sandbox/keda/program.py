"""Evaluates formulas of ScaledObjects over responses of an API, by the libraries that KEDA uses (`module/main.go`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sandbox.programs.go_program import built

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODULE: Final = Path(__file__).parent / "module"


def build() -> Path:
    """Return the path of the program, built if it is missing (seconds of CPU). Raises GoProgramMissingError."""
    return built(MODULE, "keda", "the evaluation of formulas")


def formula_results(program: Path, scaled_object: Mapping[str, Any], bodies: Sequence[str]) -> list[float | str]:
    """Return the value of the formula of a ScaledObject with triggers `metrics-api` per response, or the error."""
    locations = {each["name"]: each["metadata"]["valueLocation"] for each in scaled_object["spec"]["triggers"]}
    formula = scaled_object["spec"]["advanced"]["scalingModifiers"]["formula"]
    lines = [json.dumps({"formula": formula, "locations": locations, "body": body}) + "\n" for body in bodies]
    done = subprocess.run([program], input="".join(lines), capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [answer["error"] if "error" in answer else float(answer["value"]) for answer in answers]
