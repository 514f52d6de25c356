"""Compiles the few Java programs of tests and sandbox; the machine needs only a Java runtime."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from sandbox.kafka.jars import jar_set
from sandbox.kafka.java import SMALL_JVM, find_java


class CompileError(RuntimeError):
    """A Java program does not compile; the message is the compiler's output."""


def compile_java(source: Path, jars: Sequence[Path], folder: Path) -> None:
    """Compile one source file against these jars into a folder, with Eclipse's compiler. Raises CompileError."""
    (compiler,) = jar_set("compiler")
    path = ":".join(map(str, jars))
    done = subprocess.run(
        [find_java(), *SMALL_JVM, "-jar", compiler, "-17", "-nowarn", "-proc:none", "-cp", path, "-d", folder, source],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise CompileError(f"{source.name}: {done.stdout}{done.stderr}")
