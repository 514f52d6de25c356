"""The rules of CONTRIBUTING.md for docstrings and log events that a word list cannot express."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
TREES: Final = ("decoders", "exporters", "stream", "sandbox", "bench", "deploy", "tests")
VAGUE_VERBS: Final = frozenset(
    {"Give", "Gives", "Tell", "Tells", "Say", "Says", "Let", "Hand", "Bring", "Draw", "Take"}
)
"""First words that hide what a function does, for example that it returns, formats or adds something."""
QUESTIONS: Final = frozenset({"What", "Whether", "How", "Where", "Who", "Which"})
"""First words of a function's docstring that leave out its verb."""
MOST_WORDS_OF_AN_EVENT: Final = 14
LOG_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "critical", "exception"})

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def documented(tree: str) -> Iterator[tuple[str, Definition, str]]:
    """Yield each documented definition of a tree with its place and the first word of its docstring."""
    for path in sorted((ROOT / tree).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Definition) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node, text.split()[0].strip("`,.:;")


@pytest.mark.parametrize("tree", TREES)
def test_no_docstring_begins_with_a_vague_verb(tree: str) -> None:
    """No docstring begins with a verb that hides the action, such as "Give" or "Tell"."""
    assert [f"{place}: {word}" for place, _, word in documented(tree) if word in VAGUE_VERBS] == []


@pytest.mark.parametrize("tree", ["decoders", "exporters", "stream", "sandbox", "bench", "deploy"])
def test_no_docstring_of_a_function_begins_with_a_question_word(tree: str) -> None:
    """No function's docstring begins with a question word, such as "Whether". A property may begin with a noun."""
    functions = [(place, word) for place, node, word in documented(tree) if not isinstance(node, ast.ClassDef)]
    assert [f"{place}: {word}" for place, word in functions if word in QUESTIONS] == []


def test_log_events_are_short_and_begin_in_lower_case() -> None:
    """A log event of `stream` has at most 14 words, begins in lower case and has no full stop."""
    wrong, events = [], 0
    for path in sorted((ROOT / "stream").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            event = node.args[0]
            logger = isinstance(node.func.value, ast.Name) and node.func.value.id == "_log"
            if not (logger and node.func.attr in LOG_LEVELS and isinstance(event, ast.Constant)):
                continue
            text = str(event.value)
            events += 1
            if len(text.split()) > MOST_WORDS_OF_AN_EVENT or re.match(r"[A-Z][a-z]", text) or text.endswith("."):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {text}")
    assert wrong == []
    assert events > 50
