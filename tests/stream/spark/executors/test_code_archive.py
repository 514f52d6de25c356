"""The archive of lagwarden's code: executors import all of their modules from it."""

import subprocess
import sys
import zipfile
from pathlib import Path

from stream.spark.executors.code_archive import PACKAGES, write_code_archive
from stream.spark.executors.executor_check import TASK_MODULES


def test_tasks_import_all_modules_from_the_archive(tmp_path: Path) -> None:
    """An interpreter that has no other copy of lagwarden finds each module of the tasks, and of the daemon."""
    archive = write_code_archive(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import importlib\n"
        f"for name in {[*TASK_MODULES, 'stream.spark.worker_daemon']!r}:\n"
        "    print(importlib.import_module(name).__file__)"
    )
    # -P: the source tree, which is the working folder, is not on the path.
    found = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert len(found.stdout.splitlines()) == len(TASK_MODULES) + 1
    assert all(line.startswith(str(archive)) for line in found.stdout.splitlines())


def test_archive_has_the_modules_of_the_product_and_nothing_else(tmp_path: Path) -> None:
    """The archive has only Python files and no tests. The same code gives the same bytes."""
    archive = write_code_archive(tmp_path)
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
    assert {name.partition("/")[0] for name in names} == set(PACKAGES)
    assert all(name.endswith(".py") for name in names)
    content = archive.read_bytes()
    assert write_code_archive(tmp_path).read_bytes() == content
