"""The build hook of the wheel: puts the packages of the product below one, `lagwarden`.

In the repository they are top-level folders; in `site-packages` such names are for anyone, and pip overwrites those
of others silently. Each import is changed, and each string that is the name of a module. A name in a form that is not
known here ends the build. hatchling loads this file by its path: it imports nothing of the project
(docs/internals/decisions/0014-one-top-level-package.md).
"""

import ast
import shutil
import tempfile
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TOP: Final = "lagwarden"
_DOCSTRING: Final = '"""lagwarden, a monitor of consumer groups. Its modules may change with any version."""\n'


class WheelNames(BuildHookInterface[Any]):
    """Adds a changed copy of the packages to wheels; an editable installation has the folders of the repository."""

    _draft: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the copy, and add it to the wheel. Raises ValueError."""
        if version == "editable":
            return
        below, beside = self.config["below"], self.config["beside"]
        self._draft = Path(tempfile.mkdtemp(prefix="lagwarden-wheel-"))
        write_packages(Path(self.root), self._draft, below, beside)
        build_data["force_include"] |= {str(self._draft / name): name for name in (TOP, *beside)}
        # hatchling writes the entry points from this mapping.
        scripts = self.metadata.core.scripts
        scripts.update({name: f"{TOP}.{place}" for name, place in scripts.items()})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 -- hatchling
        """Remove the copy."""
        if self._draft is not None:
            shutil.rmtree(self._draft)


def write_packages(root: Path, target: Path, below: Collection[str], beside: Collection[str]) -> None:
    """Write the packages of `root` to another folder, those of `below` in the package `TOP`. Raises ValueError."""
    modules = {name for package in below for name in module_names(root, package)}
    for package in (*below, *beside):
        into = target / (TOP if package in below else "") / package
        shutil.copytree(root / package, into, ignore=shutil.ignore_patterns("__pycache__"))
        for file in into.rglob("*.py"):
            try:
                file.write_bytes(with_names(file.read_bytes(), modules))
            except ValueError as error:
                raise ValueError(f"{file.relative_to(target)}: {error}") from None
    (target / TOP / "__init__.py").write_text(_DOCSTRING)
    (target / TOP / "py.typed").touch()


def module_names(root: Path, package: str) -> Iterator[str]:
    """Yield the dotted names of a package and of all that is in it."""
    for file in (root / package).rglob("*.py"):
        yield ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def with_names(source: bytes, modules: AbstractSet[str]) -> bytes:
    """Return the source of a module with the names of `modules` below `TOP`. Raises ValueError."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    packages = {name for name in modules if "." not in name}
    places: list[tuple[int, int, str]] = []
    used = {node.id: node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and node.module in modules:
            places.append((node.lineno, node.col_offset + len("from "), node.module))
        elif isinstance(node, ast.Import):
            for alias in (each for each in node.names if each.name in modules):
                if alias.asname is None and (name := alias.name.partition(".")[0]) in used:
                    raise ValueError(f"line {used[name]}: {name} is used by its name; import what is in it")
                places.append((alias.lineno, alias.col_offset, alias.name))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in modules - packages:
            places.append((node.lineno, node.col_offset + 1, node.value))
    for line, column, name in sorted(places, reverse=True):
        text = lines[line - 1]
        if not text[column:].startswith(name.encode()):
            raise ValueError(f"line {line}: the name {name} is not where it is expected")
        lines[line - 1] = text[:column] + f"{TOP}.".encode() + text[column:]
    return b"".join(lines)
