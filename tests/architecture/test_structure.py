"""The rules of the source tree that import contracts cannot express."""

import collections
import graphlib
import tomllib
from pathlib import Path
from typing import Final

from tests.architecture.sources import BESIDE, PRODUCT, ROOT, TREES, files, source

MOST_MODULES: Final = 21
FAMILY: Final = 3
"""The smallest number of modules with one `prefix_` that must be a package."""
UNTESTED: Final[dict[str, str]] = {
    "stream/offline/dumplog.py": "tested as a command, in tests/stream/cli and tests/integration/test_offline.py",
    "stream/offline/folder.py": "tested as a command, in tests/stream/cli and tests/integration/test_offline.py",
    "stream/offline/live.py": "needs a broker: tests/integration/test_offline.py",
    "stream/spark/tables/export.py": "needs a broker: tests/integration/test_tables.py",
    "stream/spark/types.py": "names for annotations only",
}
"""Modules that no test of their package imports, and why."""
CONTRACTS: Final[dict[str, frozenset[str]]] = {
    "pyspark only in stream.spark": frozenset({"stream.spark"}),
    "the Kafka client only in stream.cluster": frozenset({"stream.cluster"}),
    "HTTP and prometheus_client only in exporters": frozenset({"exporters"}),
    "HTTP only in exporters.http": frozenset({"exporters.http"}),
    "the terminal only in stream.cli and the catch-up bar": frozenset({"stream.cli"}),
}
"""Import contracts that allow a library in one package. They list the packages in which it is forbidden."""
KINDS_OF_TESTS: Final = frozenset(
    {"architecture", "chaos", "chart", "cluster", "container", "integration", "page", "support", "tiers"}
)
"""The folders of `tests` that mirror no package."""
UNUSED: Final[dict[str, str]] = {}
"""Modules that no module of the product imports, and why. `__main__` modules need no entry."""


def folders() -> list[Path]:
    """Return all folders with Python modules, relative to the root of the project."""
    return sorted({path.parent for path in files(*TREES)})


def modules(folder: Path) -> list[str]:
    """Return the names of the modules in a folder, without `__init__`."""
    return sorted(path.stem for path in (ROOT / folder).glob("*.py") if path.stem != "__init__")


def product_modules() -> list[Path]:
    """Return the modules of the product, relative to the root of the project."""
    return sorted(path for path in files(*PRODUCT) if not path.stem.startswith("__"))


def children_of(tree: str) -> set[str]:
    """Return the import names of the packages and modules directly below a package."""
    paths = (path for path in (ROOT / tree).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
    return {f"{tree}.{path.stem}" for path in paths if path.stem != "__init__"}


def dotted(path: Path) -> str:
    """Return the import name of a module."""
    return ".".join(path.with_suffix("").parts)


def test_modules_have_no_import_cycles() -> None:
    """No module imports itself through others, not even for annotations or inside a function."""
    known = {dotted(path): path for path in product_modules()}
    graph = {name: source(path).imported & known.keys() for name, path in known.items()}
    graphlib.TopologicalSorter(graph).prepare()


def test_folders_have_few_modules() -> None:
    """A folder has at most 21 modules, and the root of `stream` only those that every package may import."""
    assert {str(folder): len(modules(folder)) for folder in folders() if len(modules(folder)) > MOST_MODULES} == {}
    assert modules(Path("stream")) == ["errors", "http_post", "logs", "process_memory", "wording"]


def test_modules_that_share_a_prefix_are_a_package() -> None:
    """No three modules of one folder begin with the same word and an underscore."""
    families = {}
    for folder in folders():
        names = [name.removeprefix("test_") for name in modules(folder)]
        words = collections.Counter(name.partition("_")[0] for name in names if "_" in name)
        families |= {f"{folder}/{word}_*": number for word, number in words.items() if number >= FAMILY}
    assert families == {}


def test_public_class_names_are_unique() -> None:
    """A public class name is used for one class of the product, and for one of each tree beside it."""
    for trees in (PRODUCT, *((tree,) for tree in BESIDE)):
        places: dict[str, list[str]] = collections.defaultdict(list)
        for path in files(*trees):
            for name in source(path).public_classes:
                places[name].append(str(path))
        assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_import_contracts_list_every_package() -> None:
    """A contract that allows a library in one package forbids it in all others, so it must list each new package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = {contract["name"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}
    children = {child for tree in ("exporters", "stream") for child in children_of(tree)}
    wrong = []
    for name, allowed in CONTRACTS.items():
        listed = set(contracts[name]["source_modules"])
        covered = {child for child in children if child in listed or child.partition(".")[0] in listed}
        # A contract about a part of one tree leaves the other tree to the contract about the whole.
        trees = {source.partition(".")[0] for source in listed}
        expected = {child for child in children if child.partition(".")[0] in trees}
        wrong += [f"{name}: {child} is missing" for child in expected - covered - allowed]
        wrong += [f"{name}: {child} is not allowed" for child in listed & allowed]
    assert wrong == []


def test_only_tests_import_tests_and_only_the_transport_the_kafka_client() -> None:
    """`tests` is not a package, so import contracts do not cover it; nor do they know `stream.cluster.transport`."""
    everything = {path: source(path).imported for path in files(*PRODUCT, *BESIDE)}
    assert [path for path, names in everything.items() if "tests" in {name.split(".")[0] for name in names}] == []
    clients = {path: {name.split(".")[0] for name in source(path).imported} for path in product_modules()}
    importers = [path for path, names in clients.items() if "kafka" in names]
    assert {path.parent.parts[:3] for path in importers} == {("stream", "cluster", "transport")}


def test_python_files_lie_only_in_the_known_trees() -> None:
    """A file elsewhere would be in no import contract and in none of these tests; `tests` mirrors the packages."""
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".") and next(path.rglob("*.py"), None)}
    assert found == set(TREES)
    assert modules(Path()) == []
    assert {folder.parts[1] for folder in folders() if len(folder.parts) > 1 and folder.parts[0] == "tests"} == {
        *TREES[:-1],
        *KINDS_OF_TESTS,
    }
    assert (modules(Path("tests")), modules(Path("deploy"))) == (["conftest"], ["bake_classes"])


def test_each_package_has_a_docstring() -> None:
    """The `__init__` of each package has a docstring, and code is only in packages."""
    packages = {path.parent / "__init__.py" for path in files(*PRODUCT, *BESIDE)}
    assert [path for path in packages if not (ROOT / path).exists() or not source(path).has_docstring] == []


def reached_by_tests(package: Path) -> set[str]:
    """Return the names that tests of a package import, and what its modules of those names import in turn."""
    reached = {name for file in files(f"tests/{package}") for name in source(file).imported}
    uses = {dotted(path).removesuffix(".__init__"): source(path).imported for path in files(str(package))}
    while True:
        further = {name for module, names in uses.items() if module in reached for name in names} - reached
        if not further:
            return reached
        reached |= further


def test_each_module_is_reached_by_a_test_of_its_package() -> None:
    """A test under the folder of its package imports each module, directly or through other modules of the package."""
    packages = {
        path: Path(*path.parts[:2]) if path.parts[0] == "stream" and len(path.parts) > 2 else Path(path.parts[0])
        for path in product_modules()
    }
    reached = {package: reached_by_tests(package) for package in set(packages.values())}
    missing = [str(path) for path, package in packages.items() if dotted(path) not in reached[package]]
    assert missing == sorted(UNTESTED)


def test_each_module_is_used_by_the_product() -> None:
    """No module of the product exists for tests or benchmarks only."""
    everywhere = {name for path in files(*PRODUCT) for name in source(path).imported - {dotted(path)}}
    programs = {path for path in product_modules() if '__name__ == "__main__"' in (ROOT / path).read_text()}
    unused = [str(path) for path in product_modules() if path not in programs and dotted(path) not in everywhere]
    assert unused == sorted(UNUSED)
