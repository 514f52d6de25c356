"""The address of a checkpoint in an object store, `s3a://BUCKET/PATH`. Pure."""

import dataclasses
import re
from typing import Final, Self

from stream.config.secret_sources import STARS

SCHEME: Final = "s3a"
"""Hadoop's scheme of an object store that speaks the protocol of Amazon S3."""
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PATH: Final = re.compile(r"[A-Za-z0-9!_.*'()=@+-]+(/[A-Za-z0-9!_.*'()=@+-]+)*")


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectAddress:
    """A bucket, and the path in it, which has neither a leading nor a trailing slash and is not empty."""

    bucket: str
    path: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the parsed address. Raises ValueError for any other text."""
        rest = text.removeprefix(f"{SCHEME}://")
        bucket, _, path = rest.partition("/")
        path = path.rstrip("/")
        if rest == text or not _BUCKET.fullmatch(bucket) or not _PATH.fullmatch(path):
            raise ValueError(
                f"{shown_address(text)!r} must be s3a://BUCKET/PATH, such as s3a://kafka-monitoring/lagwarden"
            )
        if any(part in {".", ".."} for part in path.split("/")):
            raise ValueError(f"{shown_address(text)!r} must not have the parts `.` and `..`")
        return cls(bucket, path)

    def __str__(self) -> str:
        """Return the address as Hadoop and the configuration write it."""
        return f"{SCHEME}://{self.bucket}/{self.path}"


def shown_address(text: str) -> str:
    """Return an address to print: without what is before an `@`, which may be a key and a secret (with slashes)."""
    scheme, separator, rest = text.partition("://")
    return f"{scheme}://{STARS}@{rest.rpartition('@')[2]}" if separator and "@" in rest else text
