"""Secrets by reference: an option holds where its secret is, and the secret is read at each use.

A rotated password is therefore used by the next login, and a pickled, printed or logged configuration has no secret.

Tasks import this module: what only the checking of options needs is imported where it is used.
"""

# ruff: noqa: PLC0415 -- see above

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

STARS: Final = "**********"


class SecretUnavailable(Refusal):
    """The place of a secret cannot be read now; it may be readable later."""

    code = ExitCode.USAGE


class Secret:
    """A secret by reference; the subclasses are the kinds of places. As the type of an option it accepts text too."""

    __slots__ = ()

    def reveal(self) -> str:
        """Read the secret. Raises SecretUnavailable."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """The place of the secret, for messages, such as `file /run/secrets/password`."""
        match self:
            case SecretFile(path):
                return f"file {path}"
            case SecretVariable(name):
                return f"variable {name}"
            case SecretEntry(path, key):
                return f"{key} in {path}"
        return "a value in this process"

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, __: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Accept a Secret, or text as a SecretValue; dump stars."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            _validate, serialization=core_schema.plain_serializer_function_ser_schema(lambda _: STARS)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _: core_schema.CoreSchema, __: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of a password."""
        return {"type": "string", "format": "password", "writeOnly": True}


@dataclasses.dataclass(frozen=True, slots=True)
class SecretFile(Secret):
    """A file with nothing but the secret, such as a mounted Kubernetes Secret."""

    path: Path

    def reveal(self) -> str:
        """See Secret."""
        return read_secret_file(self.path)


@dataclasses.dataclass(frozen=True, slots=True)
class SecretVariable(Secret):
    """An environment variable, which child processes inherit."""

    name: str

    def reveal(self) -> str:
        """See Secret."""
        if (text := os.environ.get(self.name)) is None:
            raise SecretUnavailable(f"the variable {self.name} is not set in this process", "set it, or use a file")
        return text


@dataclasses.dataclass(frozen=True, slots=True)
class SecretEntry(Secret):
    """An entry `section.option` of a YAML configuration file."""

    path: Path
    key: str

    def reveal(self) -> str:
        """See Secret."""
        import yaml

        section, _, option = self.key.partition(".")
        try:
            text = yaml.safe_load(self.path.read_text(encoding="utf-8"))[section][option]
        except OSError as error:
            raise _unreadable(self.path, error.strerror or "error") from None
        except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
            # Without the cause, whose text may quote the file.
            raise SecretUnavailable(f"{self.path} has no {self.key} any more", "write it again") from None
        return str(text)


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class SecretValue(Secret):
    """The secret itself, for callers in this process. It cannot be pickled; its repr has no secret."""

    text: str

    def __repr__(self) -> str:
        return f"SecretValue({STARS!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret that is a value cannot leave its process: name a file or a variable instead")

    def reveal(self) -> str:
        """See Secret."""
        return self.text


def _validate(value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if isinstance(value, str):
        return SecretValue(value)
    raise ValueError("must be text")


def read_secret_file(path: Path) -> str:
    """Return the text of a file without the line break at its end. Raises SecretUnavailable."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _unreadable(path, error.strerror or "error") from None
    except UnicodeDecodeError:
        raise _unreadable(path, "not text") from None
    # Editors add a line break at the end of a file; it is not part of the password.
    return text.removesuffix("\n").removesuffix("\r")


def _unreadable(path: Path, reason: str) -> SecretUnavailable:
    return SecretUnavailable(f"{path} cannot be read: {reason}", "mount or write the file; it is read at each login")
