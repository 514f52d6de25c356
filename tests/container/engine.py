"""A Docker engine from Debian's packages, and a base image from debootstrap, without an image registry.

The packages are unpacked into lagwarden's cache folder, not installed: nothing on the machine changes. The engine has
its socket and its data in a temporary folder, makes no bridge and no firewall rule, and ends with the tests.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sandbox.cache import cache_folder
from sandbox.process import GuardedProcess
from sandbox.waiting import wait_until

PACKAGES: Final = ("docker.io", "containerd", "runc", "debootstrap", "libdevmapper1.02.1", "libseccomp2")
"""The engine, the builder of the base image, and libraries that a minimal Debian lacks."""
RELEASE: Final = "bookworm"
AUTHORITIES: Final = Path("/usr/local/share/ca-certificates")
"""Debian's folder of additional certificate authorities, which builds behind a proxy need."""
_START_LIMIT: Final = 60.0
_STOP_LIMIT: Final = 30.0


class EngineUnavailableError(RuntimeError):
    """No engine can run on this machine; the message is the cause in one line."""


def require_engine() -> None:
    """Raise EngineUnavailableError where an engine cannot run at all: it needs Linux, root, and Debian's apt."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise EngineUnavailableError("a Docker engine of our own needs root on Linux")
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise EngineUnavailableError("the Docker engine comes from Debian's packages, and there is no apt-get here")


def engine_folder() -> Path:
    """Return the folder with the unpacked packages; download missing ones. Raises EngineUnavailableError."""
    folder = cache_folder() / "engine" / "packages"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
            for package in _download(Path(draft)):
                _run(["dpkg", "-x", str(package), f"{draft}/root"])
            Path(draft, "root").rename(folder)
    return folder


@contextlib.contextmanager
def running_engine() -> Iterator[str]:
    """Run an engine and return its address. Raises EngineUnavailableError with its last line if it does not start."""
    root = engine_folder()
    with tempfile.TemporaryDirectory(prefix="lagwarden-engine-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        socket = folder / "docker.sock"
        command = [
            *(str(root / "usr/sbin/dockerd"), "--host", f"unix://{socket}", "--pidfile", str(folder / "pid")),
            *("--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
            # Containers share the host's network: no bridge, no rule of a firewall, no forwarding.
            *("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"),
        ]
        with GuardedProcess(command, folder / "log", env=_environment(root)) as engine:
            try:
                wait_until(lambda: socket.exists() or not engine.running, "the engine's socket", limit=_START_LIMIT)
                if not engine.running:
                    raise EngineUnavailableError(f"the Docker engine does not start: {_last_line(engine.log)}")
                yield f"unix://{socket}"
            finally:
                engine.terminate(_STOP_LIMIT)
                _unmount(folder)


def base_image() -> Path:
    """Return the archive of a minimal Debian, for `docker import`; build it if missing (half a minute)."""
    own = sorted(AUTHORITIES.glob("*.crt"))
    mark = hashlib.sha256(b"".join(one.read_bytes() for one in own)).hexdigest()[:8]
    archive = cache_folder() / "engine" / f"{RELEASE}-{mark}.tar"
    if archive.exists():
        return archive
    root = engine_folder()
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".draft-") as draft:
        system = Path(draft) / "system"
        tool = [str(root / "usr/sbin/debootstrap"), "--variant=minbase", RELEASE, str(system)]
        _run(tool, {**_environment(root), "DEBOOTSTRAP_DIR": str(root / "usr/share/debootstrap")})
        _trust(system, own)
        fresh = Path(draft) / "system.tar"
        with tarfile.open(fresh, "w") as files:
            files.add(system, ".", filter=_wanted)
        fresh.rename(archive)
    return archive


def _trust(system: Path, authorities: Sequence[Path]) -> None:
    """Add the certificate authorities of this machine to the image, also for pip, which has its own list."""
    if authorities:
        target = system / AUTHORITIES.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        for one in authorities:
            shutil.copy(one, target)
        (system / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")


def _wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return None for downloads of apt and for devices, which an engine creates."""
    fetched = member.name.startswith(("./var/cache/apt/archives/", "./var/lib/apt/lists/"))
    return None if fetched or member.isdev() else member


def _download(target: Path) -> list[Path]:
    """Fetch the packages, after an update of missing or old package lists."""
    command = ["apt-get", "--quiet", "download", *PACKAGES]
    # By default apt downloads as a user that cannot write here, and warns.
    options = ["-o", "APT::Sandbox::User=root"]
    with contextlib.suppress(EngineUnavailableError):
        _run([*command, *options], folder=target)
        return sorted(target.glob("*.deb"))
    _run(["apt-get", "--quiet", "update"])
    _run([*command, *options], folder=target)
    return sorted(target.glob("*.deb"))


def _environment(root: Path) -> dict[str, str]:
    """Return an environment that prefers the unpacked programs and libraries."""
    programs = f"{root}/usr/sbin:{root}/usr/bin:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    machine = os.uname().machine
    return {"PATH": programs, "LD_LIBRARY_PATH": f"{root}/lib/{machine}-linux-gnu:{root}/usr/lib/{machine}-linux-gnu"}


def _run(command: Sequence[str], env: dict[str, str] | None = None, folder: Path | None = None) -> None:
    done = subprocess.run(
        command, env={**os.environ, **(env or {})}, cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise EngineUnavailableError(f"{Path(command[0]).name} failed: {lines[-1] if lines else done.returncode}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"


def _unmount(folder: Path) -> None:
    """Unmount what a killed engine left mounted, so that the folder can be removed."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((one for one in mounted if one.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
