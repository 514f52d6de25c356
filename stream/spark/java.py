"""The Java runtime of this machine, and what Spark needs on its command line."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

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


def find_java() -> Path | None:
    """Return the `java` of JAVA_HOME, else that of PATH; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).exists() else None


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
