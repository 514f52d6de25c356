"""The client of an object store: reads, lists and writes objects, also on a condition.

Errors are those of the system, as for files: `FileNotFoundError` for an object, `PermissionError` for missing or wrong
credentials and rights, `StoreUnavailableError` for the rest. Credentials are found by botocore in the environment, by a
web identity, in the container or the instance; none is an argument here.
"""

import contextlib
import dataclasses
import errno
from collections.abc import Iterator
from typing import Any, Final

from stream.errors import ExitCode, Refusal

_CONNECT_SECONDS: Final = 3.0
_READ_SECONDS: Final = 10.0
_ATTEMPTS: Final = 2
DEFAULT_REGION: Final = "us-east-1"
"""The region of requests to a store that has none."""
_NOT_FOUND: Final = frozenset({"NoSuchKey", "404"})
_CONDITION_FAILED: Final = frozenset({409, 412})
"""Statuses of a conditional write that was refused: the condition is false, or another write was faster."""
_CREDENTIAL_ERRORS: Final = frozenset({"ExpiredToken", "InvalidToken", "ExpiredTokenException", "RequestExpired"})


class StoreUnavailableError(OSError):
    """The store did not answer, or with an error of its own: nothing is known about the object."""


class ConditionFailedError(Exception):
    """A conditional write was refused: the object exists, or is another version than expected."""


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Size in bytes and time of the last write under the names of `os.stat_result`, and version of an object."""

    st_size: int
    st_mtime: float
    etag: str


class ObjectStore:
    """The objects of one bucket. May be used from several threads."""

    def __init__(self, bucket: str, endpoint: str | None = None, region: str | None = None) -> None:
        """Create the client; sends nothing. Raises Refusal if the package botocore is not installed.

        Without an endpoint, the store is that of AWS; without a region, it is that of AWS's configuration files.
        """
        try:
            import botocore.config  # noqa: PLC0415 -- only needed here, and an extra
            import botocore.exceptions  # noqa: PLC0415
            import botocore.session  # noqa: PLC0415
        except ImportError as error:
            raise Refusal(
                f"a checkpoint in an object store needs the package botocore: {error}",
                "install lagwarden with the extra s3",
                ExitCode.CHECKPOINT_UNUSABLE,
            ) from error
        self.bucket: Final = bucket
        self._exceptions: Final = botocore.exceptions
        session = botocore.session.get_session()
        region = region or session.get_config_variable("region") or DEFAULT_REGION
        config = botocore.config.Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
            s3={"addressing_style": "path"} if endpoint else {},
        )
        with self._translated():
            self._client: Any = session.create_client("s3", region_name=region, endpoint_url=endpoint, config=config)

    def read(self, key: str) -> bytes:
        """Return the content of an object. Raises OSError."""
        return self.read_version(key)[0]

    def read_version(self, key: str) -> tuple[bytes, str]:
        """Return the content of an object and its version. Raises OSError."""
        with self._translated(key):
            answer = self._client.get_object(Bucket=self.bucket, Key=key)
            content: bytes = answer["Body"].read()
            return content, str(answer["ETag"])

    def info(self, key: str) -> ObjectInfo | None:
        """Return size, time and version of an object; None if it does not exist. Raises OSError."""
        try:
            with self._translated(key):
                answer = self._client.head_object(Bucket=self.bucket, Key=key)
        except FileNotFoundError:
            return None
        return ObjectInfo(answer["ContentLength"], answer["LastModified"].timestamp(), answer["ETag"])

    def list(self, prefix: str, most: int | None = None) -> dict[str, ObjectInfo]:
        """Return the objects whose keys have this prefix, at most `most`, in the order of their keys. Raises OSError.

        Markers of folders, whose keys end in a slash, are objects too.
        """
        limits = {"MaxItems": most, "PageSize": most}
        with self._translated():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=prefix, PaginationConfig=limits
            )
            rows = [row for page in pages for row in page.get("Contents", ())]
        return {row["Key"]: ObjectInfo(row["Size"], row["LastModified"].timestamp(), row["ETag"]) for row in rows}

    def write(self, key: str, content: bytes) -> None:
        """Write an object. Readers see the previous content or all of this one. Raises OSError."""
        with self._translated(key):
            self._client.put_object(Bucket=self.bucket, Key=key, Body=content)

    def write_if_absent(self, key: str, content: bytes) -> str:
        """Write an object that does not exist; return its version. Raises ConditionFailedError and OSError."""
        return self._write_if(key, content, IfNoneMatch="*")

    def write_if_unchanged(self, key: str, content: bytes, etag: str) -> str:
        """Replace this version of an object; return the new one. Raises ConditionFailedError and OSError."""
        return self._write_if(key, content, IfMatch=etag)

    def move(self, key: str, target: str) -> None:
        """Copy an object and delete the original. Raises OSError."""
        with self._translated(key):
            self._client.copy_object(Bucket=self.bucket, Key=target, CopySource={"Bucket": self.bucket, "Key": key})
        self.delete(key)

    def delete(self, key: str) -> None:
        """Delete an object, if it exists. Raises OSError."""
        with self._translated(key):
            self._client.delete_object(Bucket=self.bucket, Key=key)

    def _write_if(self, key: str, content: bytes, **condition: str) -> str:
        with self._translated(key):
            try:
                answer = self._client.put_object(Bucket=self.bucket, Key=key, Body=content, **condition)
            except self._exceptions.ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] in _CONDITION_FAILED:
                    raise ConditionFailedError(key) from error
                raise
        return str(answer["ETag"])

    @contextlib.contextmanager
    def _translated(self, key: str = "") -> Iterator[None]:
        """Translate botocore's errors in the block, which is about an object or, without a key, about the bucket."""
        errors = self._exceptions
        try:
            yield
        except errors.ClientError as error:
            raise _of_response(error.response, self.bucket, key) from error
        except (errors.NoCredentialsError, errors.PartialCredentialsError, errors.CredentialRetrievalError) as error:
            raise PermissionError(errno.EACCES, f"no usable AWS credentials ({error})") from error
        except (errors.HTTPClientError, errors.ConnectionError) as error:
            raise StoreUnavailableError(errno.EHOSTUNREACH, str(error).rstrip(".")) from error
        except errors.BotoCoreError as error:
            raise StoreUnavailableError(errno.EIO, str(error)) from error


def _of_response(response: Any, bucket: str, key: str) -> OSError:
    """Return the error that a response of the store means."""
    code, message = str(response["Error"].get("Code", "")), str(response["Error"].get("Message", ""))
    status = response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "NoSuchBucket":
        return StoreUnavailableError(errno.ENXIO, f"the bucket {bucket} does not exist")
    if code in _NOT_FOUND and key:
        return FileNotFoundError(errno.ENOENT, f"s3a://{bucket}/{key} does not exist")
    text = f"{code}: {message}" if message and message != code else code
    if status in {401, 403} or code in _CREDENTIAL_ERRORS:
        return PermissionError(errno.EACCES, f"the object store refuses access ({text})")
    return StoreUnavailableError(errno.EIO, f"the object store answers {text}")
