"""Runs the chart's pod as a container: translates the rendered StatefulSet to options of the engine."""

import contextlib
from pathlib import Path
from typing import Any, Final, Self

from docker.errors import APIError
from docker.types import Mount
from testcontainers.core.container import DockerContainer

from sandbox.ports import LOOPBACK
from tests.chart.rendering import Rendered
from tests.support.monitor import Monitor

_UNITS: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


class Pod(Monitor):
    """A monitor that runs in a container, with the settings of the chart's pod.

    Its volume is kept over `stop` and `start`, like a claim. It listens on the loopback address of the machine, whose
    network it shares; all other settings are those of the pod.
    """

    def __init__(self, image: str, rendered: Rendered, folder: Path, volume: str, **variables: str) -> None:
        super().__init__(LOOPBACK, folder)
        self._image = image
        self.rendered: Final = rendered
        self._volume = volume
        self._variables = {"LAGWARDEN_HTTP_HOST": LOOPBACK, "LAGWARDEN_HTTP_PORT": str(self.port), **variables}
        self._container: DockerContainer | None = None
        self._config = folder / "config"
        self._config.mkdir()
        # The container's user is not the one who runs the tests.
        self._config.chmod(0o755)
        for name, text in rendered.one("ConfigMap")["data"].items():
            (self._config / name).write_text(text)

    def start(self, *more: str) -> Self:
        """Start a new container over the same volume, with additional arguments."""
        spec, pod = self.rendered.container, self.rendered.pod
        container = DockerContainer(self._image).with_command([*spec["args"], *more])
        for variable in spec["env"]:
            container.with_env(variable["name"], variable["value"])
        container.with_envs(**self._variables)
        mounts = {mount["name"]: mount["mountPath"] for mount in spec["volumeMounts"]}
        assert mounts.keys() == {"checkpoint", "tmp", "config"}
        container.with_kwargs(
            **_limits(spec, pod["securityContext"]),
            network_mode="host",
            # The claim, what an emptyDir is, and the ConfigMap.
            mounts=[
                Mount(mounts["checkpoint"], self._volume),
                Mount(mounts["tmp"], None),
                Mount(mounts["config"], str(self._config), type="bind", read_only=True),
            ],
        )
        self._container = container
        container.start()
        return self

    @property
    def running(self) -> bool:
        """True while the container runs."""
        return self._container is not None and self._state["Running"]

    @property
    def output(self) -> str:
        output, errors = self._started_container.get_logs()
        return (output + errors).decode(errors="replace")

    def execute(self, *command: str) -> tuple[int | None, str]:
        """Run a command in the container, as `kubectl exec` does; return its exit code and output."""
        done = self._started_container.exec(list(command))
        return done.exit_code, done.output.decode(errors="replace")

    def stop_within(self, seconds: int) -> int:
        """Stop the container, and kill it after `seconds`, as Kubernetes does; return its exit code."""
        self._started_container.get_wrapped_container().stop(timeout=seconds)
        return self.exit_code()

    def exit_code(self) -> int:
        return int(self._started_container.get_wrapped_container().wait(timeout=120)["StatusCode"])

    def remove(self) -> None:
        """Remove the container and its scratch volume; the claim stays."""
        if self._container is not None:
            with contextlib.suppress(APIError):
                self._container.stop()
            self._container = None

    def kill(self) -> None:
        """Remove the container, running or not."""
        self.remove()

    @property
    def _started_container(self) -> DockerContainer:
        assert self._container is not None, "the container was not started"
        return self._container

    @property
    def _state(self) -> dict[str, Any]:
        wrapped = self._started_container.get_wrapped_container()
        wrapped.reload()
        return wrapped.attrs["State"]


def _limits(spec: dict[str, Any], security: dict[str, Any]) -> dict[str, Any]:
    """Return the security contexts and resource limits as options of the engine."""
    own = spec["securityContext"]
    assert own.keys() == {"allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities"}
    return {
        "user": f"{security['runAsUser']}:{security['runAsGroup']}",
        "read_only": own["readOnlyRootFilesystem"],
        "cap_drop": own["capabilities"]["drop"],
        "security_opt": [] if own["allowPrivilegeEscalation"] else ["no-new-privileges"],
        "mem_limit": _bytes(spec["resources"]["limits"]["memory"]),
        "nano_cpus": 2_000_000_000,
    }


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) * _UNITS[quantity[-2:]]
