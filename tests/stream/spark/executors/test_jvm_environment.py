"""Variables of the driver's JVM by master."""

from pathlib import Path

from stream.config.master_url import MasterUrl
from stream.spark.executors.driver_machine import jvm_environment


def test_processes_of_the_driver_find_the_archive_first(tmp_path: Path) -> None:
    """PYTHONPATH has the archive before its existing value.

    No variable is set for a local master and for Kubernetes, whose processes have lagwarden installed.
    """
    variables = jvm_environment(MasterUrl.parse("spark://m:7077"), tmp_path, {"PYTHONPATH": "/own"})
    assert variables == {"PYTHONPATH": f"{tmp_path}/lagwarden-code.zip:/own"}
    for master in ("local[2]", "k8s://https://api"):
        assert jvm_environment(MasterUrl.parse(master), tmp_path, {}) == {}


def test_local_cluster_uses_the_folder_for_temporary_files(tmp_path: Path) -> None:
    """SPARK_HOME is in the folder for temporary files and has the jars of Spark."""
    variables = jvm_environment(MasterUrl.parse("local-cluster[2,1,1024]"), tmp_path, {})
    assert variables["SPARK_SCALA_VERSION"] == "2.13"
    home = Path(variables["SPARK_HOME"])
    assert home.parent == tmp_path
    assert list((home / "jars").glob("spark-core_*.jar"))
