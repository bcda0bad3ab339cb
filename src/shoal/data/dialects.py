"""How a text file is laid out: what parts its fields, its encoding, its decimal mark. A release keeps the original's.

Tabs belong to names that end in .tsv: such a file gets them, and one of another name does not inherit them from it.
Where commas part the fields, decimals have points.
"""

from __future__ import annotations

import codecs
import gzip
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.csv_layout import TYPED, delimiter_of
from shoal.data.decoded import is_utf8
from shoal.data.encodings import called
from shoal.data.reading import Reading
from shoal.errors import InputError

WRITTEN = ("delimiter", "encoding", "decimal")  # what `--write` says of a text file


@dataclass(frozen=True)
class Dialect:
    """What parts the fields of a text file, its encoding, and its decimal mark."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def stated(self) -> dict[str, Any]:
        """What is not UTF-8, commas and points, by the keys of `Reading`."""
        typed = next((word for word, sign in TYPED.items() if sign == self.delimiter), self.delimiter)
        plain = {"delimiter": self.delimiter == ",", "encoding": is_utf8(self.encoding), "decimal": self.decimal == "."}
        values = {"delimiter": typed, "encoding": self.encoding, "decimal": self.decimal}
        return {key: value for key, value in values.items() if not plain[key]}

    def sentences(self, source: Path | None, like: Dialect, target: Path) -> tuple[str, ...]:
        """What the custodian should know of a file that is not laid out in the plainest way, or not like the source."""
        signs = {"\t": "tabs", " ": "spaces"}
        words = {
            "delimiter": f"{signs.get(self.delimiter, repr(self.delimiter))} between fields",
            "encoding": called(self.encoding),
            "decimal": "decimal commas",
        }
        own = ", ".join(words[key] for key in self.stated())
        as_read = ", as the file that was read" if source is not None and self == like else ""
        notes = [f"{target.name} is written with {own}{as_read}; --write delimiter=... and the like change it."]
        if like.decimal == "," and self.decimal == ".":
            notes.append(f"Decimal commas are points in {target.name}.")
        return tuple(notes if own else notes[1:])


PLAIN = Dialect()


def named_by(path: str | Path) -> Dialect:
    """The plainest layout of a file of this name: tabs for .tsv, commas otherwise."""
    return Dialect(delimiter="\t" if is_tabbed(path) else ",")


def is_tabbed(path: str | Path) -> bool:
    """Whether the name says that tabs part the fields."""
    return ".tsv" in [suffix.lower() for suffix in Path(path).suffixes[-2:]]


def written_like(source: Path | None, like: Dialect, target: Path, asked: Reading) -> Dialect:
    """The layout of the target: as asked, otherwise that of the source, where its name does not say otherwise."""
    kept = like
    if source is None or is_tabbed(target) or (is_tabbed(source) and like.delimiter == "\t"):
        kept = replace(like, delimiter=named_by(target).delimiter)
    if asked.delimiter is not None:
        kept = replace(kept, delimiter=delimiter_of(asked) or ",")
    if asked.encoding is not None:
        is_utf8(asked.encoding)  # refuses what is no character set
        kept = replace(kept, encoding=asked.encoding)
    if kept.delimiter == ",":
        if asked.every_decimal == ",":
            raise InputError("Commas part the fields, so decimals have points: say --write delimiter=; as well.")
        kept = replace(kept, decimal=".")
    return replace(kept, decimal=asked.every_decimal or kept.decimal)


def write_text(frame: pl.DataFrame, path: Path, dialect: Dialect) -> None:
    """Writes a text file, quoted only where needed, compressed for .gz; what the encoding cannot hold is refused."""
    compressed = path.suffix.lower() == ".gz"
    if is_utf8(dialect.encoding):
        frame.write_csv(
            path,
            separator=dialect.delimiter,
            include_bom=codecs.lookup(dialect.encoding).name == "utf-8-sig",
            compression="gzip" if compressed else "uncompressed",
        )
        return
    plain = io.BytesIO()
    frame.write_csv(plain, separator=dialect.delimiter)
    text = plain.getvalue().decode()
    try:
        content = text.encode(dialect.encoding)
    except UnicodeEncodeError:
        raise _beyond(frame, dialect.encoding, path) from None
    if content.decode(dialect.encoding) != text:
        raise _beyond(frame, dialect.encoding, path)
    path.write_bytes(gzip.compress(content, mtime=0) if compressed else content)


def _beyond(frame: pl.DataFrame, encoding: str, path: Path) -> InputError:
    """The error of a table that an encoding cannot hold, with the first text that it cannot."""

    def held(text: str) -> bool:
        try:
            return text.encode(encoding).decode(encoding) == text
        except UnicodeError:
            return False

    how = "write it in another encoding (--write encoding=utf-8)"
    if names := [name for name in frame.columns if not held(name)]:
        return InputError(f"The column name {names[0]!r} has characters that {called(encoding)} does not have: {how}.")
    for column in frame.select(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)):
        for value in column.unique(maintain_order=True).drop_nulls():
            if not held(value):
                return InputError(
                    f"Column {column.name!r} holds {value!r}, which has characters that {called(encoding)} does not "
                    f"have: {how}."
                )
    return InputError(f"The table cannot be written in {called(encoding)}: {how}.")
