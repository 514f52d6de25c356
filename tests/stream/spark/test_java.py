"""The Java runtime that is found, and the command line that Spark needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from stream.spark.java import MODULE_OPTIONS, class_path, find_java, spark_home
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def make_java(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that creates a `java` in a folder `bin` of this name."""

    def make(name: str) -> Path:
        java = tmp_path / name / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text("#!/bin/sh\n")
        java.chmod(0o755)
        return java

    return make


def test_java_home_comes_before_path(make_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Spark's own scripts."""
    home, other = make_java("home"), make_java("other")
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert find_java() == other
    monkeypatch.setenv("JAVA_HOME", str(home.parent.parent))
    assert find_java() == home


def test_java_home_without_a_java_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong JAVA_HOME is a mistake of the user, so another Java is not taken in its place."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() is None


def test_class_path_is_that_of_the_installed_pyspark() -> None:
    """Its logging interface first, as Spark's launcher does, then all jars."""
    first, *_, last = class_path()
    assert spark_home() == Path(pyspark.__file__).parent
    assert Path(first).name.startswith("slf4j-api-")
    assert last == str(spark_home() / "jars" / "*")


@pytest.mark.spark
def test_options_are_those_of_sparks_launcher() -> None:
    """All options of `JavaModuleOptions` except the incubating vector module: a new Spark may need others."""
    session = open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
    try:
        jvm = session._jvm
        assert jvm is not None
        text = jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions()
    finally:
        end_session(session, 30)
    without = {"--add-modules=jdk.incubator.vector", "-Dderby.connection.requireAuthentication=false"}
    assert set(text.split()) - without == set(MODULE_OPTIONS)
