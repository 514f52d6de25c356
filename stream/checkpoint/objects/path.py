"""A path in an object store, with those methods of `pathlib.Path` that the checkpoint uses.

A folder is a common prefix of keys: it exists as long as it has an object, and needs not be created. A write replaces
an object as a whole, so no draft is renamed. A rename of a folder copies its objects one by one.
"""

from __future__ import annotations

import fnmatch
import io
import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from stream.checkpoint.objects.store import ObjectInfo, ObjectStore

_WILDCARDS: Final = frozenset("*?[")


class ObjectPath:
    """An object, or the objects below it. All methods that ask the store raise OSError."""

    __slots__ = ("_listing", "key", "store")

    def __init__(self, store: ObjectStore, key: str, listing: Mapping[str, ObjectInfo] | None = None) -> None:
        """Name a key; `listing` has the objects at and below the path, if they were listed already."""
        self.key: Final = key
        self.store: Final = store
        self._listing = listing

    def __str__(self) -> str:
        """Return the address as Hadoop writes it."""
        return f"s3a://{self.store.bucket}/{self.key}"

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.store, f"{self.key}/{name}", self._listing)

    def __lt__(self, other: ObjectPath) -> bool:
        return self.key < other.key

    @property
    def name(self) -> str:
        """The last part."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPath:
        """The path without its last part."""
        return ObjectPath(self.store, self.key.rpartition("/")[0], self._listing)

    def with_name(self, name: str) -> ObjectPath:
        """Return a path beside this one."""
        return self.parent / name

    def listed(self) -> ObjectPath:
        """Return the path with all objects below it listed once: `exists`, `stat` and `glob` send no request more."""
        return ObjectPath(self.store, self.key, self.store.list(f"{self.key}/"))

    def info(self) -> ObjectInfo | None:
        """Return size, time and version of the object; None if there is none."""
        return self.store.info(self.key) if self._listing is None else self._listing.get(self.key)

    def exists(self) -> bool:
        """Return whether there is an object at the path or below it."""
        return self.info() is not None or bool(self._below(most=1))

    def is_file(self) -> bool:
        """Return whether there is an object at the path."""
        return self.info() is not None

    def stat(self) -> ObjectInfo:
        """Return size and time of the object."""
        found = self.info()
        if found is None:
            raise FileNotFoundError(2, f"{self} does not exist")
        return found

    def sizes(self) -> dict[str, ObjectInfo]:
        """Return the objects below the path by their names relative to it, without markers of folders."""
        start = len(self.key) + 1
        return {key[start:]: each for key, each in self._below().items() if not key.endswith("/")}

    def read_bytes(self) -> bytes:
        """Return the content of the object."""
        return self.store.read(self.key)

    def read_text(self) -> str:
        """Return the content of the object as text."""
        return self.read_bytes().decode()

    def open(self, mode: str = "rb") -> io.BytesIO:
        """Return the content of the object as a file; `mode` must be `rb`."""
        if mode != "rb":
            raise ValueError(f"objects are only read, not opened with {mode!r}")
        return io.BytesIO(self.read_bytes())

    def write_bytes(self, content: bytes) -> None:
        """Write the object as a whole."""
        self.store.write(self.key, content)

    def touch(self) -> None:
        """Write the object without a content, which sets its time."""
        self.write_bytes(b"")

    def unlink(self, *, missing_ok: bool = True) -> None:
        """Delete the object; `missing_ok` must be true, because the store does not say that there was none."""
        if not missing_ok:
            raise ValueError("an object store does not report a missing object")
        self.store.delete(self.key)

    def mkdir(self) -> None:
        """Do nothing: folders need not be created."""

    def rename(self, target: ObjectPath) -> ObjectPath:
        """Move the object and all objects below the path one by one, and return the target."""
        if self.info() is not None:
            self.store.move(self.key, target.key)
        for key in self._below():
            self.store.move(key, target.key + key[len(self.key) :])
        return target

    def iterdir(self) -> Iterator[ObjectPath]:
        """Yield what is in the folder."""
        yield from self.glob("*")

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """Yield the objects and folders that match a relative pattern, with `*`, `?` and `[…]` within its parts."""
        parts = pattern.split("/")
        fixed = "".join(f"{part}/" for part in itertools.takewhile(lambda part: not _WILDCARDS & set(part), parts))
        seen = set()
        for key in self._below(fixed):
            found = key[len(self.key) + 1 :].split("/")[: len(parts)]
            matches = len(found) == len(parts) and all(map(fnmatch.fnmatchcase, found, parts)) and all(found)
            if matches and (name := "/".join(found)) not in seen:
                seen.add(name)
                yield self / name

    def rglob(self, pattern: str) -> Iterator[ObjectPath]:
        """Yield the objects at any depth whose last part matches a pattern."""
        for key in self._below():
            if fnmatch.fnmatchcase(key.rpartition("/")[2], pattern) and not key.endswith("/"):
                yield ObjectPath(self.store, key, self._listing)

    def _below(self, inner: str = "", most: int | None = None) -> dict[str, ObjectInfo]:
        """Return the objects below the path whose relative keys begin with `inner`."""
        prefix = f"{self.key}/{inner}"
        if self._listing is None:
            return self.store.list(prefix, most)
        return {key: each for key, each in self._listing.items() if key.startswith(prefix)}
