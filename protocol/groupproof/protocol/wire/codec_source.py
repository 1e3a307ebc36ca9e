"""Generates the readers and writers of shapes as Python text and compiles each once, like `dataclasses` does for `__init__`.

One message is one function, without calls for common fields: adjacent numbers are one `struct` format, texts are slices, structs in arrays are loops.
The earlier tree of closures took two to four times as long. `reader_text(shape)` returns the text of a message; the functions that it calls are in
`codec.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import groupby
from typing import Any, Final

from groupproof.protocol.wire import codec
from groupproof.protocol.wire.codec import NUMBERS, SIZES, Column, Reader, Shape, Writer

__all__ = ["reader_of", "reader_text", "writer_of", "writer_text"]


def reader_of(shape: Shape) -> Reader:
    """Return the reader of `shape`. It fills in absent and default-valued fields and skips unknown tagged fields (KIP-482)."""
    read: Reader = _reader(shape).compiled(shape.title)
    return read


def reader_text(shape: Shape) -> str:
    """Return the text that `reader_of` compiles."""
    return _reader(shape).text


def writer_of(shape: Shape) -> Writer:
    """Return the writer of `shape`. It writes a missing field as its default, and raises `ValueError` for an unknown one."""
    write: Writer = _writer(shape).compiled(shape.title)
    return write


def writer_text(shape: Shape) -> str:
    """Return the text that `writer_of` compiles."""
    return _writer(shape).text


class _Function:
    """The text of a function, line by line, and the values that it refers to."""

    def __init__(self, head: str) -> None:
        self._lines = [head]
        self._depth = 1
        self._named = 0
        self.values: dict[str, Any] = {name: getattr(codec, name) for name in codec.__all__} | {"error": struct.error, "small": _SMALL}

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compiled(self, title: str) -> Any:
        exec(compile(self.text, f"<{title}>", "exec"), self.values)  # the text is ours, made of the names of Kafka's schemas
        return self.values["made"]

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write `head`, and the lines of the context indented below it."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self) -> str:
        """Return the name of a new variable."""
        self._named += 1
        return f"v{self._named}"

    def value(self, value: Any) -> str:
        """Return the text for `value`: a literal, or a name."""
        if value is None or isinstance(value, bool | int | str | bytes) or value == ():
            return repr(value)
        name = f"c{len(self.values)}"
        self.values[name] = value
        return name

    def number(self, letters: str, method: str) -> str:
        """Return the name of a `struct` format's method."""
        name = f"{method}_{letters}"
        self.values[name] = getattr(struct.Struct(f">{letters}"), method)
        return name


def _runs(shape: Shape) -> Iterator[list[Column]]:
    """Yield the untagged columns in order: adjacent numbers together, each other column alone."""
    for is_number, run in groupby((column for column in shape.columns if column.tag is None), _is_number):
        columns = list(run)
        yield from [columns] if is_number else [[column] for column in columns]


def _is_number(column: Column) -> bool:
    return column.kind in NUMBERS and not column.is_array


def _letters(columns: list[Column]) -> str:
    return "".join(NUMBERS[column.kind] for column in columns)


def _tagged(shape: Shape) -> list[Column]:
    return sorted((column for column in shape.columns if column.tag is not None), key=lambda column: column.tag or 0)


def _entry(column: Column) -> Column:
    return replace(column, is_array=False, is_nullable=False)


# Reading


def _reader(column: Shape | Column) -> _Function:
    function = _Function("def made(frame, at, left):")
    read = _read_struct(function, column) if isinstance(column, Shape) else _read(function, column)
    function.line(f"return {read}, at")
    return function


def _read_struct(function: _Function, shape: Shape) -> str:
    """Write the code that reads the struct, and return the name of its dictionary. The other `_read` functions work in the same way."""
    tagged = _tagged(shape)
    items = {name: _default(function, value) for name, value in shape.absent.items()}
    items |= {column.name: _default(function, column.default) for column in tagged}
    for run in _runs(shape):
        items |= zip((column.name for column in run), _read_numbers(function, run) if _is_number(run[0]) else [_read(function, run[0])], strict=True)
    body = function.name()
    function.line(f"{body} = {_made(function, shape, items)}")
    if shape.is_flexible:
        tags = function.value({column.tag: (column.name, _reader(column).compiled(column.name)) for column in tagged})
        with function.block("if frame[at]:"):
            function.line(f"at = read_tags(frame, at, left, {tags}, {body})")
        with function.block("else:"):
            function.line("at += 1")
    return body


def _made(function: _Function, shape: Shape, items: Mapping[str, str]) -> str:
    """Return the text that makes a value of `shape` from its fields: a dictionary, or a message with the fields of its class."""
    if shape.message is None:
        return f"{{{', '.join(f'{name!r}: {value}' for name, value in items.items())}}}"
    assert not _tagged(shape), f"{shape.title}: a message is made before its tagged fields are read"
    fields = _fields(shape.message)
    return f"{function.value(shape.message)}({', '.join(f'{name}={value}' for name, value in items.items() if name in fields)})"


def _fields(message: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(message))


def _default(function: _Function, value: Any) -> str:
    return f"{function.value(value)}.copy()" if isinstance(value, dict) else function.value(value)


def _read_numbers(function: _Function, run: list[Column]) -> list[str]:
    names = [function.name() for _ in run]
    function.line(f"{', '.join(names)}, = {function.number(_letters(run), 'unpack_from')}(frame, at)")
    function.line(f"at += {sum(SIZES[column.kind] for column in run)}")
    return names


def _read(function: _Function, column: Column) -> str:
    if column.is_array:
        return _read_array(function, column)
    if column.shape is not None:
        if column.is_nullable:
            return _read_nullable_struct(function, column.shape, is_tagged=column.tag is not None)
        return _read_struct(function, column.shape)
    if column.kind in NUMBERS:
        return _read_numbers(function, [column])[0]
    return _READ_FIXED[column.kind](function) if column.kind in _READ_FIXED else _read_bytes(function, column)


def _read_nullable_struct(function: _Function, shape: Shape, *, is_tagged: bool) -> str:
    """Write the code for the byte before a nullable struct: below 0 means null, or 0 in a tagged field (Kafka's `MessageDataGenerator`)."""
    value = function.name()
    function.line("at += 1")
    with function.block("if not frame[at - 1]:" if is_tagged else "if frame[at - 1] > 127:"):
        function.line(f"{value} = None")
    with function.block("else:"):
        function.line(f"{value} = {_read_struct(function, shape)}")
    return value


def _read_array(function: _Function, column: Column) -> str:
    name, entry, count = function.name(), _entry(column), _read_length(function, "i", is_flexible=column.is_flexible)
    if not column.is_nullable:
        _read_entries(function, name, entry, count)
        return name
    with function.block(f"if {count} == -1:"):
        function.line(f"{name} = None")
    with function.block("else:"):
        _read_entries(function, name, entry, count)
    return name


def _read_entries(function: _Function, name: str, entry: Column, count: str) -> None:
    size_min = _size_min(entry)
    with function.block(f"if {count} < 0 or {count} * {size_min} > len(frame) - at or {count} > left[0]:"):
        function.line(f"raise refused_count({entry.name!r}, {count}, {size_min}, len(frame) - at)")
    function.line(f"left[0] -= {count}")
    if _is_number(entry):
        function.values["unpack_from"] = struct.unpack_from
        function.line(f"{name} = unpack_from(f'>{{{count}}}{NUMBERS[entry.kind]}', frame, at)")
        function.line(f"at += {count} * {SIZES[entry.kind]}")
        return
    function.line(f"{name} = []")
    with function.block(f"for _ in range({count}):"):
        function.line(f"{name}.append({_read(function, entry)})")
    function.line(f"{name} = tuple({name})")


def _size_min(column: Column) -> int:
    """Return the least size of a value in bytes, so that an impossible array length is refused without reading on."""
    if column.is_array or column.shape is None:
        return 1 if column.is_array else SIZES.get(column.kind, 1)
    return max(1, sum(_size_min(inner) for inner in column.shape.columns if inner.tag is None))


def _read_length(function: _Function, letter: str, *, is_flexible: bool) -> str:
    length = function.name()
    if not is_flexible:
        function.line(f"{length}, = {function.number(letter, 'unpack_from')}(frame, at)")
        function.line(f"at += {struct.calcsize(letter)}")
        return length
    function.line(f"{length} = frame[at] - 1")
    with function.block(f"if {length} < 127:"):
        function.line("at += 1")
    with function.block("else:"):
        function.line(f"{length}, at = read_uvarint(frame, at)")
        function.line(f"{length} -= 1")
    return length


def _read_bytes(function: _Function, column: Column) -> str:
    value, is_text = function.name(), column.kind == "string"
    size, end = _read_length(function, "h" if is_text else "i", is_flexible=column.is_flexible), function.name()
    function.line(f"{end} = at + {size}")
    with function.block(f"if {size} < 0 or {end} > len(frame):"):
        refusal = f"raise refused_length({column.name!r}, {size}, len(frame) - at)"
        if column.is_nullable:
            with function.block(f"if {size} != -1:"):
                function.line(refusal)
        function.line(f"{value} = None" if column.is_nullable else refusal)
    with function.block("else:"):
        function.line(f"{value} = frame[at:{end}]{'.decode()' if is_text else ''}")
        function.line(f"at = {end}")
    return value


def _read_bool(function: _Function) -> str:
    value = function.name()
    function.line(f"{value} = frame[at] != 0")
    function.line("at += 1")
    return value


def _read_uuid(function: _Function) -> str:
    value = function.name()
    function.line(f"{value} = read_uuid(frame, at)")
    function.line("at += 16")
    return value


# Writing


def _writer(column: Shape | Column) -> _Function:
    function = _Function("def made(out, value):")
    if isinstance(column, Shape):
        _write_struct(function, column, "value")
    else:
        _write(function, column, "value")
    return function


def _write_struct(function: _Function, shape: Shape, body: str) -> None:
    """Write the code that appends the struct in the variable `body` to `out`. The other `_write` functions work in the same way."""
    of_column = _getter(function, shape, body)
    for run in _runs(shape):
        values = [of_column(column) for column in run]
        if _is_number(run[0]):
            _write_numbers(function, run, values)
        else:
            value = function.name()
            function.line(f"{value} = {values[0]}")
            _write(function, run[0], value)
    tagged = _tagged(shape)
    if tagged:
        tags = tuple((column.tag, column.name, column.default, _writer(column).compiled(column.name)) for column in tagged)
        function.line(f"write_tags(out, {body}, {function.value(tags)})")
    elif shape.is_flexible:
        function.line("out.append(0)")


def _getter(function: _Function, shape: Shape, body: str) -> Callable[[Column], str]:
    """Return the function that returns the text of a column's value."""
    if shape.message is not None:
        assert not _tagged(shape), f"{shape.title}: a message has no tagged fields"
        fields = _fields(shape.message)
        return lambda column: f"{body}.{column.name}" if column.name in fields else function.value(column.default)
    names, get = function.value(frozenset(shape.names)), function.name()
    with function.block(f"if not {names}.issuperset({body}):"):
        function.line(f"raise unknown_field({shape.title!r}, {body}, {names})")
    function.line(f"{get} = {body}.get")
    return lambda column: f"{get}({column.name!r}, {function.value(column.default)})"


def _write_numbers(function: _Function, run: list[Column], values: list[str]) -> None:
    with function.block("try:"):
        function.line(f"out += {function.number(_letters(run), 'pack')}({', '.join(values)})")
    with function.block("except error as why:"):
        lines = (f"({column.name!r}, {NUMBERS[column.kind]!r}, {value})" for column, value in zip(run, values, strict=True))
        function.line(f"raise refused_number(why, {', '.join(lines)}) from None")


def _write(function: _Function, column: Column, value: str) -> None:
    if column.kind in NUMBERS and not column.is_array:
        _write_numbers(function, [column], [value])
    elif column.kind in _WRITE_FIXED and not column.is_array:
        function.line(_WRITE_FIXED[column.kind].format(value=value))
    elif column.shape is not None and not column.is_array and not column.is_nullable:
        _write_struct(function, column.shape, value)
    else:
        _write_nullable(function, column, value)


def _write_nullable(function: _Function, column: Column, value: str) -> None:
    """Write a value that starts with a length, or with a null marker."""
    is_struct = column.shape is not None and not column.is_array
    letter = "h" if column.kind == "string" and not column.is_array else "i"
    with function.block(f"if {value} is None:"):
        null = (b"\0" if column.tag is not None else b"\xff") if is_struct else b"\0" if column.is_flexible else struct.pack(f">{letter}", -1)
        function.line(f"out += {null!r}" if column.is_nullable else f"raise refused({column.name!r}, None)")
    with function.block("else:"):
        if is_struct:
            assert column.shape is not None
            function.line("out.append(1)")
            _write_struct(function, column.shape, value)
        elif column.is_array:
            _write_entries(function, column, value)
        else:
            _write_bytes(function, column, value, letter)


def _write_entries(function: _Function, column: Column, value: str) -> None:
    entry, entry_name = _entry(column), function.name()
    _write_length(function, column, value, "i")
    if not _is_number(entry):
        with function.block(f"for {entry_name} in {value}:"):
            _write(function, entry, entry_name)
        return
    letter = NUMBERS[entry.kind]
    function.values["pack"] = struct.pack
    with function.block("try:"):
        function.line(f"out += pack(f'>{{len({value})}}{letter}', *{value})")
    with function.block("except error as why:"):
        function.line(f"raise refused_number(why, *(({entry.name!r}, {letter!r}, {entry_name}) for {entry_name} in {value})) from None")


def _write_bytes(function: _Function, column: Column, value: str, letter: str) -> None:
    encoded = value
    if column.kind == "string":
        encoded = function.name()
        function.line(f"{encoded} = {value}.encode()")
    _write_length(function, column, encoded, letter)
    function.line(f"out += {encoded}")


def _write_length(function: _Function, column: Column, value: str, letter: str) -> None:
    length = function.name()
    function.line(f"{length} = len({value})")
    if column.is_flexible:
        function.line(f"out += small[{length}] if {length} < 127 else uvarint({length} + 1)")
        return
    with function.block(f"if {length} > {_LONGEST[letter]}:"):
        function.line(f"raise refused({column.name!r}, {value})")
    function.line(f"out += {function.number(letter, 'pack')}({length})")


_READ_FIXED: Final = {"bool": _read_bool, "uuid": _read_uuid}
_WRITE_FIXED: Final = {"bool": "out.append(1 if {value} else 0)", "uuid": "out += uuid_bytes({value})"}
_LONGEST: Final = {"h": 2**15 - 1, "i": 2**31 - 1}
_SMALL: Final = tuple(bytes([length + 1]) for length in range(127))
