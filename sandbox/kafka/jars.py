"""Jars of Kafka: pinned, fetched once with Apache Ivy, verified, kept outside git.

A *set* of jars is one file `ivy-SET.xml` (what to fetch, nothing transitive) and its rows in `jars.sha256` (checksums).
A set is in `CACHE/jars/SET/`, which is created by one rename after all checksums were right: a folder with
the listed names is complete. `python -m sandbox.kafka.jars [SET ...]` fetches what is missing and prints the folders.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sandbox.cache import cache_folder
from sandbox.kafka.java import JavaMissingError, find_java
from sandbox.kafka.trust_store import trust_options
from stream.spark.java import packaged_java

HERE: Final = Path(__file__).resolve().parent
CHECKSUMS: Final = HERE / "jars.sha256"
BROKER: Final = "4.3.1"
"""The version of the broker that the sandbox runs by default."""
RELEASES: Final = (
    *("1.1.1", "2.0.1", "2.3.1", "2.4.1", "2.8.2", "3.3.2", "3.6.2", "3.7.2", "3.8.1"),
    *("3.9.2", "4.0.2", "4.1.2", "4.2.1", BROKER, "4.4.0"),
)
"""The versions of brokers that the sandbox can run, the oldest first."""
TOOLS: Final = {"3.7.2": "3.8.1", "4.4.0": BROKER}
"""The version of the tools for a broker whose own tools do not describe its KIP-848 groups, or are not published."""


class JarError(RuntimeError):
    """A set of jars is unknown, could not be fetched, or differs from its checksums. The message is one line."""


def broker_jars(version: str = BROKER) -> list[Path]:
    """Return the jars of a Kafka broker and its tools, in name order; fetch them where missing."""
    return jar_set(f"broker-{version}")


def tools_jars(version: str = BROKER) -> list[Path]:
    """Return the jars of the tools for a broker: its own, or those of TOOLS; fetch them where missing."""
    return broker_jars(TOOLS.get(version, version))


def oauth_jars(version: str = BROKER) -> list[Path]:
    """Return the broker's jars with the library that validates tokens; fetch them where missing."""
    return [*broker_jars(version), *jar_set("oauth")]


def streams_jars(version: str = BROKER) -> list[Path]:
    """Return the broker's jars with Kafka Streams and its native store, RocksDB; fetch them where missing.

    The library of the store is the one that pyspark ships.
    """
    streams = [jar for jar in jar_set(f"messages-{version}") if jar.name.startswith("kafka-streams")]
    spec = importlib.util.find_spec("pyspark")
    folder = Path(spec.origin or "").parent if spec else Path()
    return [*broker_jars(version), *streams, *sorted((folder / "jars").glob("rocksdbjni-*.jar"))]


def jar_set(name: str) -> list[Path]:
    """Return the jars of a set in name order; fetch and verify them where missing. Raises JarError."""
    rows = checksums(name)
    folder = cache_folder() / "jars" / name
    if not _complete(folder, rows):
        with _exclusive(folder.parent / f"{name}.lock"):
            if not _complete(folder, rows):
                _fetch(name, rows, folder)
    return [folder / jar for jar in sorted(rows)]


def checksums(name: str) -> dict[str, str]:
    """Return the rows of a set in `jars.sha256`: file name -> sha256 in hex. Raises JarError for a set without rows."""
    rows = {}
    for line in CHECKSUMS.read_text().splitlines():
        digest, _, path = line.partition("  ")
        owner, _, jar = path.partition("/")
        if owner == name:
            rows[jar] = digest
    if not rows:
        raise JarError(f"no jar set {name!r}: the sets are {', '.join(known_sets())}")
    return rows


def known_sets() -> list[str]:
    """Return the names of all sets with rows, in name order."""
    return sorted({line.partition("  ")[2].partition("/")[0] for line in CHECKSUMS.read_text().splitlines()})


def verify(folder: Path, rows: dict[str, str]) -> None:
    """Compare the jars of a folder with their rows, by name and content. Raises JarError for the first difference."""
    found = {jar.name for jar in folder.glob("*.jar")}
    if missing := sorted(rows.keys() - found):
        raise JarError(f"{len(missing)} of {len(rows)} jars were not fetched: {', '.join(missing)}")
    if extra := sorted(found - rows.keys()):
        raise JarError(f"{len(extra)} jars without a checksum in {CHECKSUMS.name}: {', '.join(extra)}")
    for jar, expected in rows.items():
        with (folder / jar).open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != expected:
                raise JarError(f"{jar} differs from its sha256 in {CHECKSUMS.name}")


def _complete(folder: Path, rows: dict[str, str]) -> bool:
    return folder.is_dir() and {jar.name for jar in folder.glob("*.jar")} == rows.keys()


@contextlib.contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Hold a file lock: one process at a time fetches a set, the others wait and find it complete."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _fetch(name: str, rows: dict[str, str], folder: Path) -> None:
    print(f"jars: fetching {len(rows)} jars of set {name}", flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as scratch:
        fresh = Path(scratch) / "jars"
        fresh.mkdir()
        _run_ivy(name, fresh, Path(scratch) / "ivy", len(rows))
        verify(fresh, rows)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    print(f"jars: {len(rows)} jars of set {name} verified", flush=True)


def _run_ivy(name: str, target: Path, cache: Path, expected: int) -> None:
    java = find_java()
    # A Java of the machine has its own configuration. The folder is removed after the fetch.
    trust = trust_options(target.parent) if java == packaged_java() else []
    command = [
        *(str(java), *trust, "-jar", str(_ivy_jar())),
        *("-settings", str(HERE / "ivysettings.xml"), "-ivy", str(HERE / f"ivy-{name}.xml")),
        # No -types: some artifacts are of type bundle, which Ivy would leave out silently.
        *("-retrieve", f"{target}/[artifact]-[revision].[ext]", "-cache", str(cache)),
    ]
    output: list[str] = []
    done = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
        for line in ivy.stdout or ():
            output.append(line.strip())
            if "[SUCCESSFUL ]" in line:
                done += 1
                print(
                    f"  {done:2d}/{expected} {line.partition('#')[2].partition('!')[0].replace(';', ' ')}", flush=True
                )
    if ivy.returncode:
        raise JarError(f"Ivy could not fetch set {name} (check the network): {_cause(output)}")


def _cause(output: Sequence[str]) -> str:
    """Return the line of Ivy's output that names the error."""
    for sign in ("Server access error", "UnknownHost", "not found", "ERROR"):
        if lines := [line for line in output if sign in line]:
            return lines[-1].strip(": \t")
    return next((line for line in reversed(output) if line), "no output")


def _ivy_jar() -> Path:
    """Return the path of the Ivy that pyspark ships, without importing pyspark. Raises JarError."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise JarError("pyspark, which contains Ivy, is not installed in this environment: run make setup")
    found = sorted((Path(spec.submodule_search_locations[0]) / "jars").glob("ivy-*.jar"))
    if not found:
        raise JarError("the installed pyspark has no jars/ivy-*.jar: run make setup")
    return found[-1]


def main(names: Sequence[str]) -> int:
    """Fetch the named sets, or those of tests and demo, and print their folders. Returns the exit code."""
    try:
        for name in names or (f"broker-{BROKER}",):
            print(f"jars: {name}: {jar_set(name)[0].parent}")
    except (JarError, JavaMissingError) as error:
        print(f"jars: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
