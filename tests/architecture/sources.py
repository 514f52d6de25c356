"""What the rules of the source tree need of each Python file, read once per process."""

import ast
import functools
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
PRODUCT: Final = ("decoders", "exporters", "stream", "pyspark_consumer_offsets")
BESIDE: Final = ("sandbox", "bench", "deploy")
TREES: Final = (*PRODUCT, *BESIDE, "tests")
LOG_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "critical", "exception"})


class Docstring(NamedTuple):
    """The docstring of a class or a function."""

    place: str
    word: str
    """The first word."""
    of_class: bool


class Source(NamedTuple):
    """The facts of a file."""

    imported: frozenset[str]
    """The dotted names that the file imports; of `from a import b` both `a` and `a.b`."""
    public_classes: tuple[str, ...]
    has_docstring: bool
    docstrings: tuple[Docstring, ...]
    bare_tests: tuple[str, ...]
    """The places of test functions without a docstring."""
    log_events: tuple[tuple[str, str], ...]
    """Place and text."""


@functools.cache
def files(*trees: str) -> tuple[Path, ...]:
    """Return the Python files of trees, relative to the root of the project."""
    return tuple(path.relative_to(ROOT) for tree in trees for path in sorted((ROOT / tree).rglob("*.py")))


@functools.cache
def source(path: Path) -> Source:
    """Parse a file, given by its path relative to the root of the project, and return its facts."""
    module = ast.parse((ROOT / path).read_text())
    imported: set[str] = set()
    docstrings, bare_tests, events = [], [], []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if text := ast.get_docstring(node):
                word = text.split()[0].strip("`,.:;")
                docstrings.append(Docstring(f"{path}:{node.lineno} {node.name}", word, isinstance(node, ast.ClassDef)))
            elif node.name.startswith("test_"):
                bare_tests.append(f"{path}:{node.lineno}")
        elif isinstance(node, ast.Call) and (text := _event(node)) is not None:
            events.append((f"{path}:{node.lineno}", text))
    classes = tuple(node.name for node in module.body if isinstance(node, ast.ClassDef) and node.name[0] != "_")
    facts = (tuple(docstrings), tuple(bare_tests), tuple(events))
    return Source(frozenset(imported), classes, bool(ast.get_docstring(module)), *facts)


def _event(call: ast.Call) -> str | None:
    """Return the event of a call such as `_log.info("kafka unreachable")`, None for all other calls."""
    function, event = call.func, call.args[0] if call.args else None
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return None
    is_logged = function.value.id == "_log" and function.attr in LOG_LEVELS
    return str(event.value) if is_logged and isinstance(event, ast.Constant) else None
