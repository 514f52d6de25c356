"""The engine, the base image and lagwarden's image, each built once; tests skip with the reason without an engine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import docker
import pytest
from testcontainers.core.config import testcontainers_config
from testcontainers.core.image import DockerImage

from deploy.chart.tools import ToolsUnreachableError, python_tools
from tests.container.engine import EngineUnavailableError, base_image, require_engine, running_engine

ROOT: Final = Path(__file__).resolve().parents[2]
BASE: Final = "debian-12:test"


@pytest.fixture(scope="session")
def engine() -> Iterator[str]:
    """Return the address of the Docker engine of testcontainers: that of DOCKER_HOST, else one started here."""
    # The cleaner of testcontainers is an image from a registry; instead all data of the engine is deleted at the end.
    testcontainers_config.ryuk_disabled = True
    try:
        require_engine()
        base_image()
        if given := os.environ.get("DOCKER_HOST"):
            yield given
            return
    except EngineUnavailableError as error:
        pytest.skip(str(error))
    with running_engine() as address, pytest.MonkeyPatch.context() as environment:
        environment.setenv("DOCKER_HOST", address)
        yield address


@pytest.fixture(scope="session")
def image(engine: str) -> Iterator[str]:
    """Build the image from the Dockerfile on the base image; return its name."""
    client = docker.DockerClient(engine)
    with base_image().open("rb") as archive:
        client.api.import_image_from_data(archive, repository=BASE.partition(":")[0], tag=BASE.partition(":")[2])
    client.close()
    build = DockerImage(
        path=str(ROOT),
        dockerfile_path="deploy/Dockerfile",
        tag="lagwarden:test",
        clean_up=False,
        buildargs={"BASE_IMAGE": BASE},
        network_mode="host",
        rm=True,
        forcerm=True,
    )
    with build:
        yield str(build)


@pytest.fixture(scope="session")
def helm() -> None:
    """Require Helm's engine, because the chart defines how the image runs."""
    try:
        python_tools()
    except ToolsUnreachableError as error:
        pytest.skip(str(error))


@pytest.fixture
def volume(engine: str) -> Iterator[str]:
    """Return the name of a new volume, in place of a persistent volume claim."""
    client = docker.DockerClient(engine)
    made = client.volumes.create(f"checkpoint-{os.urandom(4).hex()}")
    yield str(made.name)
    made.remove(force=True)
    client.close()
