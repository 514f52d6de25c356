"""The limit on memory that cgroups of both versions report."""

from pathlib import Path

import pytest

from stream.service.memory_limit import memory_limit


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({"memory.max": "2147483648\n"}, 2 << 30, id="a container with cgroups v2"),
        pytest.param({"memory.max": "max\n"}, None, id="a container without a limit"),
        pytest.param({"memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20, id="a container with cgroups v1"),
        pytest.param({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None, id="cgroups v1 without a limit"),
        pytest.param({}, None, id="no cgroups"),
        pytest.param({"memory.max": "much"}, None, id="an unknown format"),
    ],
)
def test_memory_limit_of_a_container(tmp_path: Path, files: dict[str, str], limit: int | None) -> None:
    """The limit is in bytes, and None if no limit can be read."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_limit(tmp_path) == limit
