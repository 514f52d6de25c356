"""Compiles readers from tables: one generated Python function per message and version, unrolled field by field.

Compiled readers are several times as fast as the composed ones of `decoders.compose`, but handle only well-formed,
common bytes. They *decline* everything else; the caller then uses the composed reader, which also reports the errors.
Tests check that both give the same result wherever the compiled reader does not decline.

Adjacent fields of fixed width are read with one call. Lengths must not be negative, and one check at the end verifies
that the cursor did not run past the buffer. This is safe because the cursor only moves forward: nothing is read twice,
and slices past the end are empty.
"""

import functools
import struct
from typing import Any, Final

from decoders import wire
from decoders.compose import tags_reader
from decoders.errors import MalformedBytes
from decoders.schema import ArrayOf, Field, FieldType, Message, Primitive, Struct
from decoders.wire import Reader


class Declined(Exception):  # noqa: N818  # not an error: the composed reader is used instead
    """The compiled reader cannot read these bytes; the composed reader must read them."""


DECLINE_ERRORS: Final = (Declined, MalformedBytes, IndexError, struct.error, UnicodeDecodeError)
"""The exceptions of compiled readers; all mean `Declined`."""


@functools.cache
def compiled_reader(message: Message, version: int, only: frozenset[str] | None = None) -> Reader:
    """Return the compiled reader of one message version, cached: (buffer, at) -> (fields, position after them).

    The reader raises `DECLINE_ERRORS`. `only` names the requested fields, at any depth. The other fields are skipped,
    with the same checks. Tagged fields are always included.
    """
    generator = _Generator(version, flexible=message.is_flexible(version), only=only)
    fields = generator.struct(message.struct)
    generator.flush()
    body = "\n".join(generator.lines)
    source = (
        f"def read(b, at):\n    n = len(b)\n{body}\n    if at > n:\n        raise Declined\n    return {fields}, at\n"
    )
    scope: dict[str, Any] = {"Declined": Declined, "compact_length": wire.compact_length, **generator.constants}
    exec(compile(source, f"<{message.name} {version}>", "exec"), scope)  # noqa: S102  # the source comes from our own tables only
    reader: Reader = scope["read"]
    return reader


class _Generator:
    """Generates the body of one reader. `b` is the buffer, `n` its length, `at` the cursor; the rest are fields."""

    def __init__(self, version: int, *, flexible: bool, only: frozenset[str] | None) -> None:
        self._version = version
        self._flexible = flexible
        self._only = only
        self._depth = 1
        self._variables = 0
        self._fixed_width: list[tuple[str, str]] = []
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}

    def struct(self, part: Struct) -> str:
        """Generate the read of a struct. Return the expression of its fields, valid after `flush`."""
        fields: dict[str, str] = {}
        for field in part.fields:
            included = self._only is None or field.name in self._only
            if field.tag is None and field.present(self._version):
                value = self._field(field, included=included)
            else:
                value = self._constant(field.default_value())
            if included:
                fields[field.name] = value
        expression = "{" + ", ".join(f"{name!r}: {value}" for name, value in fields.items()) + "}"
        return self._tagged(part, expression) if self._flexible else expression

    def flush(self) -> None:
        """Generate one read for the pending adjacent fields of fixed width."""
        pending, self._fixed_width = self._fixed_width, []
        if not pending:
            return
        layout = struct.Struct(">" + "".join(code for code, _ in pending))
        names = [name for _, name in pending if name]
        if names:
            self._line(f"{', '.join(names)}, = {self._constant(layout.unpack_from)}(b, at)")
        self._line(f"at += {layout.size}")

    def _tagged(self, part: Struct, expression: str) -> str:
        """Generate the read of a tagged section; a non-empty one is read by the composed `tags_reader`."""
        self.flush()
        name = self._variable()
        self._line(f"{name} = {expression}")
        self._line(f"at = {self._constant(tags_reader(part, self._version))}({name}, b, at) if b[at] else at + 1")
        return name

    def _field(self, field: Field, *, included: bool) -> str:
        """Generate the read of an untagged field. Return its expression, which is undefined if not included."""
        nullable = field.may_be_null(self._version)
        if not field.optional_at_end:
            return self._value(field.type, nullable=nullable, included=included)
        self.flush()
        name = self._variable()
        self._line(f"{name} = {self._constant(field.default_value())}")
        self._open("if at < n:")
        value = self._value(field.type, nullable=nullable, included=included)
        self.flush()
        self._close(f"{name} = {value}" if included else None)
        return name

    def _value(self, kind: FieldType, *, nullable: bool, included: bool) -> str:
        if isinstance(kind, Struct):
            return self._nullable_struct(kind, included=included) if nullable else self.struct(kind)
        if isinstance(kind, ArrayOf):
            return self._counted(kind, nullable=nullable, included=included)
        if kind.width is None:
            return self._sized(kind, nullable=nullable, included=included)
        name = self._variable() if included else ""
        self._fixed_width.append((kind.code if included else f"{kind.width}x", name))
        return name

    def _nullable_struct(self, part: Struct, *, included: bool) -> str:
        marker, name = self._variable(), self._variable()
        self._fixed_width.append(("b", marker))
        self.flush()
        self._line(f"{name} = None")
        self._open(f"if {marker} >= 0:")
        fields = self.struct(part)
        self.flush()
        self._close(f"{name} = {fields}" if included else None)
        return name

    def _length(self, code: str) -> str:
        """Generate the read of a length: a fixed-width number, or a varint of length + 1, nearly always one byte."""
        name = self._variable()
        if self._flexible:
            self.flush()
            self._line(f"{name} = b[at] - 1")
            self._line("at += 1")
            self._line(f"if {name} > 126: {name}, at = compact_length(b, at - 1)")
        else:
            self._fixed_width.append((code, name))
            self.flush()
        return name

    def _sized(self, kind: Primitive, *, nullable: bool, included: bool) -> str:
        """Generate the read of a string or bytes with a length prefix."""
        is_text = kind.name == "string"
        length, name = self._length("h" if is_text else "i"), self._variable()
        if is_text and self._flexible:
            self._line(f"if {length} > {wire.LONGEST_STRING}: raise Declined")
        if nullable:
            self._line(f"{name} = None")
            self._open(f"if {length} >= 0:")
        else:
            self._line(f"if {length} < 0: raise Declined")
        if included:
            self._line(f"{name} = b[at : at + {length}]{'.decode()' if is_text else ''}")
        self._line(f"at += {length}")
        if nullable:
            self._close()
        return name

    def _counted(self, kind: ArrayOf, *, nullable: bool, included: bool) -> str:
        """Generate the read of an array. A count that exceeds the remaining bytes is declined before any allocation."""
        count, name, element = self._length("i"), self._variable(), kind.element
        minimum_width = (element.width if isinstance(element, Primitive) else None) or 1
        self._line(f"if {count} * {minimum_width} > n - at{'' if nullable else f' or {count} < 0'}: raise Declined")
        if nullable:
            self._line(f"{name} = None")
            self._open(f"if {count} >= 0:")
        if isinstance(element, Primitive) and element.width is not None:
            self._numbers(element, count, name if included else None)
        else:
            self._elements(element, count, name, included=included)
        if nullable:
            self._close()
        return name

    def _numbers(self, element: Primitive, count: str, name: str | None) -> None:
        """Generate one read for all elements of fixed width."""
        if name is not None:
            code = element.code
            element_format = f"'{code}' * {count}" if code == "16s" else f"f'{{{count}}}{code}'"
            self.constants["unpack_from"] = struct.unpack_from
            self._line(f"{name} = unpack_from('>' + {element_format}, b, at)")
        self._line(f"at += {element.width} * {count}")

    def _elements(self, element: FieldType, count: str, name: str, *, included: bool) -> None:
        if included:
            self._line(f"{name} = []")
        self._open(f"for _ in range({count}):")
        value = self._value(element, nullable=False, included=included)
        self.flush()
        self._close(f"{name}.append({value})" if included else None)
        if included:
            self._line(f"{name} = tuple({name})")

    # Lines, variables and constants of the generated source

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _open(self, text: str) -> None:
        self._line(text)
        self._depth += 1

    def _close(self, last: str | None = None) -> None:
        if last is not None or self.lines[-1].endswith(":"):
            self._line(last or "pass")
        self._depth -= 1

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name
