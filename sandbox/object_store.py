"""An S3 server on loopback: moto's, as a process of its own that can be paused, stopped and made to refuse everything.

Its objects are in its memory. It has conditional writes, and what Hadoop's client uses.
"""

import sys
import time
from pathlib import Path
from typing import Any, Final, Self

import botocore.session
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple

from sandbox.ports import LOOPBACK, accepts, free_port
from sandbox.process import GuardedProcess

BUCKET: Final = "kafka-state"
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "AKIAOFTHESANDBOX0000", "AWS_SECRET_ACCESS_KEY": "secret-of-the-sandbox"}
"""The variables with which every request is accepted."""
_START_SECONDS: Final = 60.0


class ObjectStoreServer:
    """A running server with the empty bucket `kafka-state`: `with ObjectStoreServer(folder) as server: …`."""

    def __init__(self, folder: Path, *, refusing: bool = False) -> None:
        """Start the server, with its log in `folder`. With `refusing` it knows no credentials after its start."""
        self.url: Final = f"http://{LOOPBACK}:{(port := free_port())}"
        # moto accepts anything for so many requests, and from then on the credentials that it has issued.
        limit = {"INITIAL_NO_AUTH_ACTION_COUNT": "1"} if refusing else {}
        command = [sys.executable, "-m", "sandbox.object_store", str(port)]
        self.process: Final = GuardedProcess(command, folder / "object-store.log", env=limit)
        deadline = time.monotonic() + _START_SECONDS
        while not accepts(port):
            if not self.process.running or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"the S3 server did not start: {self.process.log}")
            time.sleep(0.1)
        self.client: Final[Any] = botocore.session.get_session().create_client(
            "s3",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        )
        self.client.create_bucket(Bucket=BUCKET)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.process.kill()

    def objects(self, prefix: str = "") -> dict[str, int]:
        """Return the sizes of all objects with this prefix."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return {row["Key"]: row["Size"] for page in pages for row in page.get("Contents", ())}

    def read(self, key: str) -> bytes:
        """Return the content of an object."""
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def write(self, key: str, content: bytes) -> None:
        """Write an object."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def delete(self, key: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket=BUCKET, Key=key)


class _ContinuingOnce(WSGIRequestHandler):
    """Sends `100 Continue` once.

    Werkzeug and Python's handler under it both send it, and Netty takes the second one for the response.
    """

    def handle_expect_100(self) -> bool:
        """Leave it to werkzeug."""
        return True


def serve(port: int) -> None:
    """Serve until the process ends."""
    application = DomainDispatcherApplication(create_backend_app)
    run_simple(LOOPBACK, port, application, threaded=True, request_handler=_ContinuingOnce)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
