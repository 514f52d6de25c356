"""Readers compiled from tables: a Python function per message and version, written out field by field.

Several times as fast as the walk in `decoders.compose`, of which it knows only what sound bytes need: whatever is
unusual it *declines*, and the walk is asked, which alone words errors. The law, tested: where a compiled reader gives
an answer, it is the walk's answer. Neighbours of fixed width are read at once, lengths are checked to be no less than
zero, and one check at the end says whether all of it lay inside the buffer: until then the cursor only moves forward,
so that nothing is read twice and what lies outside is empty.
"""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING, Any, Final

from decoders import wire
from decoders.compose import tags_reader
from decoders.errors import MalformedBytes
from decoders.schema import ArrayOf, Field, FieldType, Message, Primitive, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from decoders.wire import Reader


class Declined(Exception):  # noqa: N818  # says what the reader did; never leaves the package
    """These bytes are for the walk."""


DECLINE_ERRORS: Final = (Declined, MalformedBytes, IndexError, struct.error, UnicodeDecodeError)
"""What a compiled reader may raise; each means the same."""

_CODES: Final[Mapping[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}


@functools.cache
def compiled_reader(message: Message, version: int, only: frozenset[str] | None = None) -> Reader:
    """Compile the reader of one message version: (buffer, at) -> (fields, at after them). Raises `DECLINE_ERRORS`.

    `only` names the fields that are wanted, at whatever depth; the others are read past, and so are checked as if they
    were wanted. Tagged fields come along unasked.
    """
    writer = _Writer(version, flexible=message.is_flexible(version), only=only)
    fields = writer.struct(message.struct)
    writer.flush()
    body = "\n".join(writer.lines)
    source = (
        f"def read(b, at):\n    n = len(b)\n{body}\n    if at > n:\n        raise Declined\n    return {fields}, at\n"
    )
    scope: dict[str, Any] = {"Declined": Declined, "compact_length": wire.compact_length, **writer.constants}
    exec(compile(source, f"<{message.name} {version}>", "exec"), scope)  # noqa: S102  # made of our own tables alone
    reader: Reader = scope["read"]
    return reader


class _Writer:
    """Writes the body of one reader. `b` is the buffer, `n` its length, `at` the cursor; the rest are fields."""

    def __init__(self, version: int, *, flexible: bool, only: frozenset[str] | None) -> None:
        self._version = version
        self._flexible = flexible
        self._only = only
        self._depth = 1
        self._names = 0
        self._run: list[tuple[str, str]] = []
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}

    def struct(self, part: Struct) -> str:
        """Read a struct; gives the expression of its fields, to be used after `flush`."""
        fields: dict[str, str] = {}
        for field in part.fields:
            wanted = self._only is None or field.name in self._only
            if field.tag is None and field.present(self._version):
                fields[field.name] = self._field(field, wanted=wanted) if wanted else self._past(field)
            else:
                fields[field.name] = self._constant(field.default_value())
            if not wanted:
                del fields[field.name]
        expression = "{" + ", ".join(f"{name!r}: {value}" for name, value in fields.items()) + "}"
        return self._tagged(part, expression) if self._flexible else expression

    def flush(self) -> None:
        """Write what reads the neighbours of fixed width that were held back."""
        run, self._run = self._run, []
        if not run:
            return
        form = struct.Struct(">" + "".join(code for code, _ in run))
        names = [name for _, name in run if name]
        if names:
            self._line(f"{', '.join(names)}, = {self._constant(form.unpack_from)}(b, at)")
        self._line(f"at += {form.size}")

    def _tagged(self, part: Struct, expression: str) -> str:
        """Leave a tagged section that is not empty to the walk's own reader of them."""
        self.flush()
        name = self._name()
        self._line(f"{name} = {expression}")
        self._line(f"at = {self._constant(tags_reader(part, self._version))}({name}, b, at) if b[at] else at + 1")
        return name

    def _past(self, field: Field) -> str:
        """Read past a field."""
        self._field(field, wanted=False)
        return ""

    def _field(self, field: Field, *, wanted: bool) -> str:
        """Read one of the ordered fields; gives its expression, which means nothing where it is not wanted."""
        nullable = field.may_be_null(self._version)
        if not field.may_end:
            return self._value(field.type, nullable=nullable, wanted=wanted)
        self.flush()
        name = self._name()
        self._line(f"{name} = {self._constant(field.default_value())}")
        self._open("if at < n:")
        value = self._value(field.type, nullable=nullable, wanted=wanted)
        self.flush()
        self._close(f"{name} = {value}" if wanted else None)
        return name

    def _value(self, kind: FieldType, *, nullable: bool, wanted: bool) -> str:
        if isinstance(kind, Struct):
            return self._nullable_struct(kind, wanted=wanted) if nullable else self.struct(kind)
        if isinstance(kind, ArrayOf):
            return self._counted(kind, nullable=nullable, wanted=wanted)
        if kind.width is None:
            return self._sized(kind, nullable=nullable, wanted=wanted)
        name = self._name() if wanted else ""
        self._run.append((_CODES[kind.name] if wanted else f"{kind.width}x", name))
        return name

    def _nullable_struct(self, part: Struct, *, wanted: bool) -> str:
        marker, name = self._name(), self._name()
        self._run.append(("b", marker))
        self.flush()
        self._line(f"{name} = None")
        self._open(f"if {marker} >= 0:")
        fields = self.struct(part)
        self.flush()
        self._close(f"{name} = {fields}" if wanted else None)
        return name

    def _length(self, code: str) -> str:
        """Read a length: a number of fixed width, or a varint of length + 1, which nearly always takes one byte."""
        name = self._name()
        if self._flexible:
            self.flush()
            self._line(f"{name} = b[at] - 1")
            self._line("at += 1")
            self._line(f"if {name} > 126: {name}, at = compact_length(b, at - 1)")
        else:
            self._run.append((code, name))
            self.flush()
        return name

    def _sized(self, kind: Primitive, *, nullable: bool, wanted: bool) -> str:
        """Read a string or bytes behind their length."""
        is_text = kind.name == "string"
        length, name = self._length("h" if is_text else "i"), self._name()
        if is_text and self._flexible:
            self._line(f"if {length} > {wire.LONGEST_STRING}: raise Declined")
        if nullable:
            self._line(f"{name} = None")
            self._open(f"if {length} >= 0:")
        else:
            self._line(f"if {length} < 0: raise Declined")
        if wanted:
            self._line(f"{name} = b[at : at + {length}]{'.decode()' if is_text else ''}")
        self._line(f"at += {length}")
        if nullable:
            self._close()
        return name

    def _counted(self, kind: ArrayOf, *, nullable: bool, wanted: bool) -> str:
        """Read an array. A count beyond the bytes that are left is declined before anything is made of it."""
        count, name, element = self._length("i"), self._name(), kind.element
        least = (element.width if isinstance(element, Primitive) else None) or 1
        self._line(f"if {count} * {least} > n - at{'' if nullable else f' or {count} < 0'}: raise Declined")
        if nullable:
            self._line(f"{name} = None")
            self._open(f"if {count} >= 0:")
        if isinstance(element, Primitive) and element.width is not None:
            self._numbers(element, count, name if wanted else None)
        else:
            self._elements(element, count, name, wanted=wanted)
        if nullable:
            self._close()
        return name

    def _numbers(self, element: Primitive, count: str, name: str | None) -> None:
        """Read elements of fixed width, all at once."""
        if name is not None:
            code = _CODES[element.name]
            each = f"'{code}' * {count}" if code == "16s" else f"f'{{{count}}}{code}'"
            self.constants["unpack_from"] = struct.unpack_from
            self._line(f"{name} = unpack_from('>' + {each}, b, at)")
        self._line(f"at += {element.width} * {count}")

    def _elements(self, element: FieldType, count: str, name: str, *, wanted: bool) -> None:
        if wanted:
            self._line(f"{name} = []")
        self._open(f"for _ in range({count}):")
        value = self._value(element, nullable=False, wanted=wanted)
        self.flush()
        self._close(f"{name}.append({value})" if wanted else None)
        if wanted:
            self._line(f"{name} = tuple({name})")

    # Lines and names.

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1

    def _close(self, last: str | None = None) -> None:
        if last is not None or self.lines[-1].endswith(":"):
            self._line(last or "pass")
        self._depth -= 1

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name
