"""What the image leaves out."""

import sysconfig
import zipfile
from pathlib import Path

from deploy.release.unused_files import AWS_SERVICES, PATTERNS, keep_one_library, unused


def test_every_pattern_names_files_of_the_pinned_packages() -> None:
    """A pattern without a file would be left from an earlier version. The jars of Kubernetes and of ORC stay."""
    packages = Path(sysconfig.get_path("purelib"))
    assert [pattern for pattern in PATTERNS if not next(packages.glob(pattern), None)] == []
    names = {path.name for path in unused(packages)}
    assert {"ec2", "spark-hive_2.13-4.3.0.jar"} <= names
    kept = {path.name for path in (packages / "pyspark" / "jars").glob("*.jar")} - names
    for part in ("kubernetes-client-", "spark-kubernetes_", "hive-storage-api-", "aopalliance-repackaged-", "parquet-"):
        assert [name for name in kept if name.startswith(part)], part
    assert all((packages / "botocore" / "data" / name).is_dir() for name in AWS_SERVICES)


def test_a_jar_keeps_its_classes_and_one_library(tmp_path: Path) -> None:
    """Libraries for other platforms are left out; the rest has the same bytes."""
    jar = tmp_path / "rocksdbjni-1.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name in ("a/B.class", "lib-linux64.so", "lib-linux64-musl.so", "lib-osx.jnilib", "lib-win64.dll"):
            archive.writestr(name, name)
    keep_one_library(jar, "lib-linux64.so")
    with zipfile.ZipFile(jar) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "a/B.class": "a/B.class",
            "lib-linux64.so": "lib-linux64.so",
        }
    assert list(tmp_path.iterdir()) == [jar]
