"""The storage of a load's trace: a local folder, or a URI that pyarrow supports (`s3://`, `gs://`, `abfs://`, `hdfs://`).

Every file is written completely or not at all: under a hidden name first where files can be renamed, in one piece where there are only objects.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import from_batch, parquet_files, read_parquet, to_batch, write_parquet

if TYPE_CHECKING:
    from pyarrow import fs

__all__ = ["Place", "is_uri"]

_URI: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def is_uri(text: str) -> bool:
    """Return whether the text is a URI."""
    return _URI.match(text) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """A folder or a file: `path` in the file system `files`, which `address` and `options` name, or a local path if it is None."""

    path: str
    files: fs.FileSystem | None = None
    address: str = ""
    options: str = ""

    @classmethod
    def of(cls, location: str | Path) -> Place:
        """Return the place of a path or a URI; raise `WrongUsage` for a URI that pyarrow cannot open."""
        if not is_uri(str(location)):
            return cls(str(Path(location).absolute()))
        from pyarrow import ArrowException, fs

        address, mark, options = str(location).partition("?")
        try:
            files, path = fs.FileSystem.from_uri(str(location))
        except (ArrowException, OSError, ValueError) as error:
            raise WrongUsage(f"{re.sub(r'//[^/@]*@', '//', address)} is no place that pyarrow reaches: {' '.join(str(error).split())}") from error
        if isinstance(files, fs.LocalFileSystem):
            return cls(path)
        return cls(path, files, address.rstrip("/"), mark + options)

    @property
    def local(self) -> Path | None:
        """The local path; None for a URI."""
        return Path(self.path) if self.files is None else None

    def __truediv__(self, name: str) -> Place:
        if self.files is None:
            return Place(str(Path(self.path) / name))
        return Place(f"{self.path.rstrip('/')}/{name}", self.files, f"{self.address}/{name}", self.options)

    def __str__(self) -> str:
        """Return the place in the form that `of` reads."""
        return self.path if self.files is None else self.address + self.options

    @property
    def label(self) -> str:
        """The place for a person, without parts that may hold keys."""
        return self.path if self.files is None else re.sub(r"//[^/@]*@", "//", self.address)

    # Reading

    def is_file(self) -> bool:
        return Path(self.path).is_file() if self.files is None else bool(self._info().is_file)

    def is_folder(self) -> bool:
        """Return whether there is a folder; with objects only, whether there is one below."""
        return Path(self.path).is_dir() if self.files is None else self._info().type.name == "Directory"

    def is_empty(self) -> bool:
        return not any(Path(self.path).iterdir()) if self.files is None else not self._below(recursive=False)

    def read_text(self) -> str:
        """Return a file's text; raise `OSError`, `ValueError`."""
        if self.files is None:
            return Path(self.path).read_text("utf-8")
        with self.files.open_input_stream(self.path) as opened:
            return bytes(opened.read()).decode()

    def sizes(self) -> list[tuple[int, int]]:
        """Return rows and bytes of each Parquet file below."""
        from pyarrow import parquet

        if self.files is None:
            return [(parquet.read_metadata(file).num_rows, file.stat().st_size) for file in parquet_files(Path(self.path))]
        return [(parquet.read_metadata(file.path, filesystem=self.files).num_rows, int(file.size)) for file in self._parquet()]

    def observations(self) -> Iterator[Observation]:
        """Yield the observations of the Parquet files below, one file after the other, so that thousands are not open at once. Raise `OSError`."""
        if self.files is None:
            for file in parquet_files(Path(self.path)):
                yield from read_parquet(file)
            return
        from pyarrow import parquet

        for item in self._parquet():
            with self.files.open_input_file(item.path) as opened:
                for batch in parquet.ParquetFile(opened).iter_batches():
                    yield from from_batch(batch)

    def _info(self) -> Any:
        assert self.files is not None, "it is called only for a folder that pyarrow reads"
        return self.files.get_file_info(self.path)

    def _below(self, *, recursive: bool) -> list[Any]:
        from pyarrow import fs

        assert self.files is not None, "it is called only for a folder that pyarrow reads"
        return list(self.files.get_file_info(fs.FileSelector(self.path, recursive=recursive, allow_not_found=True)))

    def _parquet(self) -> list[Any]:
        found = [file for file in self._below(recursive=True) if file.is_file and file.path.endswith(".parquet")]
        return sorted((file for file in found if not file.base_name.startswith((".", "_"))), key=lambda file: str(file.path))

    # Writing

    def make(self) -> None:
        """Create the folder and its parents; raise `OSError`."""
        if self.files is None:
            Path(self.path).mkdir(parents=True, exist_ok=True)
        else:
            self.files.create_dir(self.path, recursive=True)

    def write_text(self, text: str) -> None:
        """Write a file completely or not at all; raise `OSError`."""
        if self.files is not None:
            self._put(text.encode())
            return
        file = Path(self.path)
        unfinished = file.with_name(f".{file.name}.part")
        unfinished.write_text(text, "utf-8")
        os.replace(unfinished, file)

    def write_parquet(self, rows: Iterable[Observation]) -> None:
        """Write observations completely or not at all; raise `OSError`."""
        if self.files is None:
            write_parquet(Path(self.path), rows)
            return
        import pyarrow as pa
        from pyarrow import parquet

        buffer = BytesIO()
        parquet.write_table(pa.Table.from_batches([to_batch(rows)]), buffer, compression="zstd")
        self._put(buffer.getvalue())

    def _put(self, content: bytes) -> None:
        assert self.files is not None, "it is called only for a folder that pyarrow reads"
        is_of_objects = self.files.type_name in ("s3", "gcs")  # an incomplete object is invisible there
        folder, _, name = self.path.rpartition("/")
        unfinished = self.path if is_of_objects else f"{folder}/.{name}.part"
        with self.files.open_output_stream(unfinished) as opened:
            opened.write(content)
        if not is_of_objects:
            self.files.move(unfinished, self.path)
