"""A JAVA_HOME with a shell program in place of `java`."""

from pathlib import Path


def write_java(home: Path, program: str = "", version: str = "17.0.9") -> Path:
    """Write the folder of a Java of this version, with a base archive; return its `java`.

    The program answers to `-version`, and otherwise runs the given script.
    """
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    answer = f"""[ "$1" = -version ] && {{ echo 'openjdk version "{version}"' >&2; exit 0; }}"""
    java.write_text(f"#!/bin/sh\n{answer}\n{program}\n")
    java.chmod(0o755)
    base = home / "lib" / "server" / "classes.jsa"
    base.parent.mkdir(parents=True, exist_ok=True)
    base.touch()
    return java
