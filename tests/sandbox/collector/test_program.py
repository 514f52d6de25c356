"""The collector is built from pinned modules."""

from __future__ import annotations

from sandbox.collector.program import MODULE, configuration, program


def test_the_program_is_in_the_cache() -> None:
    """The program is in a folder of its versions."""
    assert program().name == "collector"
    assert program().parent.name.startswith("collector-")


def test_the_collector_listens_on_loopback_only() -> None:
    """The configuration has an endpoint on loopback and the given file."""
    text = configuration(4318, MODULE / "received.json")
    assert "endpoint: 127.0.0.1:4318" in text
    assert f"path: {MODULE / 'received.json'}" in text


def test_every_module_has_a_checksum() -> None:
    """The modules of the collector and of its file exporter are in go.sum."""
    sums = (MODULE / "go.sum").read_text()
    wanted = [line.split() for line in (MODULE / "go.mod").read_text().splitlines() if line.startswith("\t")]
    assert len(wanted) > 100
    assert [name for name, version, *_ in wanted if f"{name} {version}" not in sums] == []
