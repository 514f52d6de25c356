"""Removes from the image what lagwarden never loads: `python deploy/release/unused_files.py SITE_PACKAGES`.

Half of it is native code for other platforms, and tests of packages. Of Spark, whole parts go, with all that only they
use: Hive, machine learning, Connect and the Scala shell. The jars of Kubernetes, of a standalone cluster and of file
formats stay. The build of the image runs it before the class archive is written. It imports nothing of the project.
"""

from __future__ import annotations

import platform
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Final

PATTERNS: Final = (
    # Spark Connect, its declarative pipelines, and the Scala shell.
    *("pyspark/jars/connect-repl", "pyspark/jars/spark-connect_*", "pyspark/jars/spark-pipelines_*"),
    *("pyspark/jars/spark-repl_*", "pyspark/jars/scala-compiler-*", "pyspark/jars/jline-*"),
    # Hive's metastore. hive-storage-api belongs to ORC.
    *("pyspark/jars/spark-hive*", "pyspark/jars/hive-[!s]*", "pyspark/jars/hive-se*", "pyspark/jars/hive-shims-*"),
    *("pyspark/jars/derby*", "pyspark/jars/datanucleus-*", "pyspark/jars/javolution-*", "pyspark/jars/HikariCP-*"),
    # Machine learning and graphs.
    *("pyspark/jars/spark-mllib*", "pyspark/jars/spark-graphx_*", "pyspark/jars/breeze*", "pyspark/jars/spire*"),
    *("pyspark/jars/cats-kernel_*", "pyspark/jars/algebra_*", "pyspark/jars/lapack-*", "pyspark/jars/arpack*"),
    *("pyspark/jars/*-osx-*.jar", "pyspark/jars/*-windows-*.jar", "pyspark/examples", "pyspark/data"),
    *("pyarrow/tests", "pyarrow/include", "pyarrow/*flight*", "pyarrow/*s3*"),
    *("pandas/tests", "numpy/**/tests"),
)
"""What is removed, relative to the folder of the packages."""
AWS_SERVICES: Final = frozenset({"s3", "sso", "sso-oidc", "signin", "sts"})
"""What botocore describes and lagwarden uses: a checkpoint in S3, and credentials."""
_ROCKSDB: Final = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}
"""The library of a machine, of the fourteen in the jar. No other machine builds the image."""


def unused(packages: Path) -> list[Path]:
    """Return the files and folders to remove, without those that are in a folder of the list."""
    services = [each for each in (packages / "botocore" / "data").glob("*/") if each.name not in AWS_SERVICES]
    return [*services, *(path for pattern in PATTERNS for path in sorted(packages.glob(pattern)))]


def keep_one_library(jar: Path, library: str) -> None:
    """Write a jar again without its libraries for other platforms."""
    draft = jar.with_suffix(".new")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if not entry.filename.endswith((".so", ".jnilib", ".dll")) or entry.filename == library:
                new.writestr(entry, old.read(entry))
    draft.replace(jar)


def main(packages: Path) -> None:
    """Remove what is not used from a folder of packages."""
    for path in unused(packages):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    (rocksdb,) = packages.glob("pyspark/jars/rocksdbjni-*.jar")
    keep_one_library(rocksdb, _ROCKSDB[platform.machine()])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
