"""The limit on open descriptors of the monitor and of what it starts."""

import subprocess
import sys
from typing import Any

import pytest

_RAISE = """
import resource, subprocess, sys
from stream import logs
from stream.service.descriptor_limit import raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, 200))
logs.configure("debug", "json")
raise_limit()
show = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
print(subprocess.run([sys.executable, "-c", show], capture_output=True, text=True).stdout.strip())
"""


@pytest.mark.parametrize("soft", [100, 200])
def test_soft_limit_is_raised_to_the_hard_one_and_inherited(soft: int) -> None:
    """Processes that are started later, such as the JVM, have the raised limit, which is logged at level debug."""
    done: Any = subprocess.run(
        [sys.executable, "-c", _RAISE.format(soft=soft)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(200, 200)"
    assert f'"limit": 200, "before": {soft}' in done.stderr
    assert '"level": "debug"' in done.stderr
