"""The environment of the driver's JVM for a session with executors. Imports no PySpark: the JVM starts before it."""

import os
from collections.abc import Mapping
from pathlib import Path

from stream.config.master_url import MasterKind, MasterUrl
from stream.spark.executors.code_archive import FILE_NAME
from stream.spark.java import spark_home


def jvm_environment(master: MasterUrl, folder: Path, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables to add for this master; `folder` is that of temporary files. Raises OSError.

    The Python processes in which the driver plans batches import lagwarden's code from the archive, as executors do:
    their interpreter is the same one.
    """
    if not master.has_executors or master.kind is MasterKind.KUBERNETES:
        return {}
    python_path = [str(folder / FILE_NAME), *filter(None, [inherited.get("PYTHONPATH")])]
    variables = {"PYTHONPATH": os.pathsep.join(python_path)}
    if master.kind is MasterKind.LOCAL_CLUSTER:
        variables |= {"SPARK_HOME": str(_make_spark_home(folder)), "SPARK_SCALA_VERSION": scala_version()}
    return variables


def scala_version() -> str:
    """Return the Scala version of PySpark's jars, such as `2.13`; workers look for build folders without it."""
    (core,) = (spark_home() / "jars").glob("spark-core_*.jar")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def _make_spark_home(folder: Path) -> Path:
    """Create a SPARK_HOME for the executors of a `local-cluster`, which the JVM itself starts; return its path.

    Spark takes their jars from there, and lets them work there. The folder of the package pyspark would do for the jars
    only: every Python process would import PySpark from archives of sources in it, and it may be read-only.
    """
    home = folder / "spark-home"
    home.mkdir()
    (home / "jars").symlink_to(spark_home() / "jars")
    return home
