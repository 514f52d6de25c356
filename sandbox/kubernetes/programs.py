"""kube-apiserver and kube-controller-manager, built once from Go modules into the cache folder, and Debian's etcd.

`python -m sandbox.kubernetes.programs` builds what is missing. `module/go.mod` has the versions: it is that of
Kubernetes, with the published staging modules (v0.X.Y of vX.Y.Z) in place of folders that only Kubernetes' own tree
has. Every module is checked against `module/go.sum`. The modules and what is compiled stay in Go's own caches, so that
an interrupted build continues.
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from sandbox.cache import cache_folder
from sandbox.programs.debian import PackagesMissingError, unpacked, unpacked_folder

MODULE: Final = Path(__file__).parent / "module"
PACKAGES: Final = ("k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kube-controller-manager")
ETCD: Final = "etcd-server"
"""The Debian package."""
_HOW: Final = "run make cluster, or python -m sandbox.kubernetes.programs"


class KubernetesMissingError(RuntimeError):
    """The programs are missing and cannot be built; the message is the reason in one line."""


def version() -> str:
    """Return the version of Kubernetes, such as v1.36.3."""
    found = re.search(r"^\tk8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def programs_folder() -> Path:
    """Return the folder of the built programs of this version; it may not exist yet."""
    sums = hashlib.sha256(b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum")))
    return cache_folder() / "programs" / f"kubernetes-{version()}-{sums.hexdigest()[:12]}"


def require_programs() -> dict[str, Path]:
    """Return the paths of kube-apiserver, kube-controller-manager and etcd. Raises KubernetesMissingError."""
    folder = programs_folder()
    if not folder.is_dir():
        without_go = "" if shutil.which("go") else ", which needs Go, and there is no go on PATH"
        raise KubernetesMissingError(f"Kubernetes {version()} is not built: {_HOW}{without_go}")
    if not unpacked_folder(ETCD).is_dir():
        raise KubernetesMissingError(f"etcd is missing: {_HOW}")
    built = {package.rpartition("/")[2]: folder / package.rpartition("/")[2] for package in PACKAGES}
    return {**built, "etcd": unpacked_folder(ETCD) / "usr" / "bin" / "etcd"}


def build() -> None:
    """Build and unpack what is missing. Raises KubernetesMissingError."""
    try:
        unpacked(ETCD, [ETCD])
    except PackagesMissingError as error:
        raise KubernetesMissingError(f"etcd is missing: {error}") from error
    folder = programs_folder()
    if folder.is_dir():
        return
    go = shutil.which("go")
    if go is None:
        raise KubernetesMissingError(f"Kubernetes {version()} is built with Go, and there is no go on PATH")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
        _compile(go, Path(draft, "bin"))
        with contextlib.suppress(OSError):
            Path(draft, "bin").rename(folder)
    if not folder.is_dir():
        raise KubernetesMissingError(f"{folder} could not be created")


def _compile(go: str, target: Path) -> None:
    """Compile the programs into a folder."""
    target.mkdir()
    major, minor, _ = version().removeprefix("v").split(".")
    # Without a stamp the server has the version v0.0.0, which a chart's kubeVersion refuses.
    stamp = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamp.items())
    command = [go, "build", "-mod=readonly", "-trimpath", f"-ldflags=-s -w {flags}", "-o", f"{target}/", *PACKAGES]
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    done = subprocess.run(command, cwd=MODULE, env=env, check=False, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise KubernetesMissingError(f"go build failed: {lines[-1] if lines else done.returncode}")


if __name__ == "__main__":
    print(f"kubernetes: {programs_folder()} (a first build: 10 minutes of CPU, some 3 GB in Go's caches)", flush=True)
    build()
