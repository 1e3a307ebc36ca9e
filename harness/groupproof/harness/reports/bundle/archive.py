"""The file format of a certificate: one Zstandard frame around a tar archive with exactly one form for the same contents.

Nothing is ever unpacked to disk. What groupproof never packs is refused as `NotACertificate` before it is read: links, devices, paths that lead
elsewhere, sizes beyond the limits. Any change after packing, even of order, dates and padding, is `DamagedBundle`.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Final

import zstandard

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.reports.bundle.bundle_files import FILE_BYTES_MAX, FILES_MAX, TOTAL_BYTES_MAX, rank

__all__ = ["MAGIC", "DamagedBundle", "NotACertificate", "pack", "unpack"]

MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of a Zstandard frame (RFC 8878)."""

_LEVEL: Final = 10
_WINDOW_BYTES_MAX: Final = 1 << 27
_STEP_BYTES: Final = 1024
"""The number of compressed bytes that are decompressed at once. Even of a bomb that makes no more than 32 MiB."""

_COPIED_BYTES: Final = 1 << 16


class NotACertificate(WrongUsage):
    """The file is not one that groupproof packs. `str()` says what was found."""


class DamagedBundle(Exception):
    """groupproof packed the file, but it was changed since. `str()` says what was found."""


def _header(name: str, size: int) -> bytes:
    """Return a file's tar header: ustar, mode 0644, no owner, no date. Raise `ValueError` for a name that is too long for it."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")


def _padding(size: int, block: int = tarfile.BLOCKSIZE) -> bytes:
    return bytes(-size % block)


def pack(files: Iterable[tuple[str, int, Callable[[], BinaryIO]]], out: BinaryIO) -> None:
    """Write the files (name, size in bytes, opener) to `out`, in the order of `rank`. The same files give the same bytes."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=False)
    with compressor.stream_writer(out, closefd=False) as tar:
        written = 0
        for name, size, opened in sorted(files, key=lambda file: rank(file[0])):
            tar.write(_header(name, size))
            with opened() as file:
                while block := file.read(_COPIED_BYTES):
                    tar.write(block)
            tar.write(_padding(size))
            written += tarfile.BLOCKSIZE + size + len(_padding(size))
        tar.write(_end(written))


def _end(written: int) -> bytes:
    end = bytes(2 * tarfile.BLOCKSIZE)
    return end + _padding(written + len(end), tarfile.RECORDSIZE)


@dataclass(slots=True)
class _Plain:
    """The decompressed stream for `tarfile`, counted and hashed."""

    source: BinaryIO
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    bytes_read: int = 0
    _ready: bytearray = field(default_factory=bytearray)
    _frame: zstandard.ZstdDecompressionObj = field(init=False)

    def __post_init__(self) -> None:
        self._frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES_MAX).decompressobj()

    def read(self, size: int) -> bytes:
        while len(self._ready) < size and not self._frame.eof:
            self._ready += self._decompressed()
        block = bytes(self._ready[:size])
        del self._ready[:size]
        self.digest.update(block)
        self.bytes_read += len(block)
        if self.bytes_read > TOTAL_BYTES_MAX:
            raise NotACertificate(f"it unpacks to more than {TOTAL_BYTES_MAX >> 20} MiB, which no certificate does")
        return block

    def _decompressed(self) -> bytes:
        compressed = self.source.read(_STEP_BYTES)
        if not compressed:
            raise DamagedBundle("it is cut short: its compressed data has no end")
        try:
            return self._frame.decompress(compressed)
        except (zstandard.ZstdError, MemoryError) as error:
            raise DamagedBundle(f"its compressed data was changed, and can't be unpacked: {error}") from error

    def drain(self) -> None:
        """Read to the end. Raise `DamagedBundle` where bytes follow it."""
        while self.read(_COPIED_BYTES):
            pass
        if self._frame.unused_data or self.source.read(1):
            raise DamagedBundle("there is data after its end")


def unpack(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield each file's name and bytes. Raise `NotACertificate` or `DamagedBundle`; the latter also at the end."""
    if source.read(len(MAGIC)) != MAGIC:
        raise NotACertificate("it is not compressed by Zstandard")
    source.seek(0)
    plain = _Plain(source)
    due, last, count, length = hashlib.sha256(), "", 0, 0
    for info, read in _members(plain):
        _check(info, count)
        if count and rank(info.name) <= rank(last):
            raise DamagedBundle(f"{info.name} comes after {last}, where groupproof does not put it")
        contents = read()
        for part in (_header(info.name, info.size), contents, _padding(info.size)):
            due.update(part)
            length += len(part)
        last, count = info.name, count + 1
        yield info.name, contents
    plain.drain()
    due.update(_end(length))
    if due.digest() != plain.digest.digest():
        raise DamagedBundle("its archive is not as it was packed: a header, padding or its end was changed")


def _members(plain: _Plain) -> Iterator[tuple[tarfile.TarInfo, Callable[[], bytes]]]:
    """Yield each entry of the archive and a function that reads it."""
    count = 0
    try:
        with tarfile.open(fileobj=plain, mode="r|", errorlevel=1) as archive:  # type: ignore[call-overload] # of a stream no more is asked than to read
            for info in archive:
                count += 1
                yield info, partial(_read, archive, info)
    except tarfile.TarError as error:
        if count == 0:
            raise NotACertificate(f"it holds no tar archive: {error}") from error
        raise DamagedBundle(f"its archive can't be read behind file {count}: {error}") from error


def _read(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    try:
        file = archive.extractfile(info)
        contents = b"" if file is None else file.read()
    except tarfile.TarError as error:
        raise DamagedBundle(f"{info.name} in it can't be read: {error}") from error
    if len(contents) != info.size:
        raise DamagedBundle(f"it is cut short within {info.name}")
    return contents


def _check(info: tarfile.TarInfo, count: int) -> None:
    """Raise `NotACertificate` for an entry that groupproof never packs."""
    name = repr(info.name[:80])
    if count >= FILES_MAX:
        raise NotACertificate(f"it holds more than {FILES_MAX} files, which no certificate does")
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.sparse is not None:
        raise NotACertificate(f"{name} in it is no plain file, and a certificate holds nothing else")
    if info.name.startswith("/") or "\\" in info.name or any(part in ("", ".", "..") for part in info.name.split("/")):
        raise NotACertificate(f"{name} in it links to another place")
    if info.size > FILE_BYTES_MAX:
        raise NotACertificate(f"{name} in it claims {info.size} bytes; no file of a certificate has more than {FILE_BYTES_MAX >> 20} MiB")
    try:
        _header(info.name, info.size)
    except (ValueError, UnicodeError) as error:
        raise NotACertificate(f"{name} in it has a name that groupproof doesn't give: {error}") from error
