"""What stands in a released file or folder besides its rows: nothing may, but for a few files known by name.

A folder is published whole, hidden files included. Besides the files of the table it may hold the empty `_SUCCESS`
that says it is complete, its own `_certificate.json`, and the checksums that Hadoop's local file system keeps
(`.part-0.parquet.crc`), if they are just that.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa

from shoal.data.files import format_of
from shoal.data.outputs import CERTIFICATE
from shoal.data.paths import is_sql, reason
from shoal.engines.opening import files_of
from shoal.errors import InputError, PromiseError
from shoal.report.certificate import stated_of

SUCCESS = "_SUCCESS"
CHECKED = 512  # bytes to a checksum
CRC = b"crc\0" + CHECKED.to_bytes(4)


def inspect_released(source: str | Path) -> None:
    """Refuses a file or a local folder that holds what no row shows; of a database the table alone is released."""
    if is_sql(source) or not Path(source).exists():
        return
    path = Path(source)
    for file in _table_of(path) if path.is_dir() else [path]:
        try:
            format_of(file).inspect(file)
        except (pa.ArrowException, zipfile.BadZipFile, ElementTree.ParseError, OSError, KeyError) as error:
            raise InputError(
                f"It cannot be said what stands in {str(file)!r} besides its rows: {reason(error)}. Write it anew."
            ) from None


def _table_of(folder: Path) -> list[Path]:
    """The files of the table, if the folder holds nothing else."""
    table = files_of(folder)
    for path in sorted(folder.rglob("*")):
        if path.parent != folder or not path.is_file():
            raise _beside(folder, path, "put all files of a release in one folder of their own")
        if path not in table and not _of_the_release(path, folder):
            raise _beside(folder, path, "take it away")
    if (own := folder / CERTIFICATE).exists():
        stated_of(own, folder)
    return table


def _of_the_release(path: Path, folder: Path) -> bool:
    if path.name == SUCCESS:
        return path.stat().st_size == 0
    if path.name == CERTIFICATE:
        return True
    checked = folder / path.name[1:].removesuffix(".crc")
    if path.name != f".{checked.name}.crc" or not checked.is_file():
        return False
    return path.read_bytes() == checksums(checked)


def checksums(path: Path) -> bytes:
    """As Hadoop's local file system keeps them beside a file."""
    content = path.read_bytes()
    blocks = (content[start : start + CHECKED] for start in range(0, len(content), CHECKED))
    return CRC + b"".join(zlib.crc32(block).to_bytes(4) for block in blocks)


def _beside(folder: Path, path: Path, what: str) -> PromiseError:
    return PromiseError(
        f"The folder {str(folder)!r} holds {str(path.relative_to(folder))!r} besides the table, which no promise is "
        f"about: {what}."
    )
