"""How a file of text is to be read, where that is not left to be found out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.catalogue import Entry, parameter
from shoal.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.codebook import Codebook
    from shoal.data.notation import Spelling
    from shoal.policy import Policy


class Layout(Entry):
    """The delimiter, encoding and decimal mark of text files, each detected if None; and columns that are text."""

    name: ClassVar[str] = "--read"

    delimiter: str | None = parameter("of a text file: one character, tab, space or comma", default=None)
    encoding: str | None = parameter("of a text file, such as latin-1; otherwise UTF-8", default=None)
    decimal: str | None = parameter("the decimal mark", default=None)
    text: tuple[str, ...] = parameter("columns to read as text", default=())

    @property
    def of_text_files(self) -> list[str]:
        """What is stated here that only a text file has."""
        return [name for name in ("delimiter", "encoding", "decimal") if getattr(self, name) is not None]

    def read(self, source: str | Path, policy: Policy | None = None, text: Sequence[str] = ()) -> pl.DataFrame:
        """The table; where a policy leaves out what no role names, that need not be understood.

        `text` names more columns to be read as text.
        """
        from shoal.data.files import read_table

        needed = None
        if policy is not None and policy.rest == "drop":
            roles = (policy.identifiers, policy.quasi_identifiers, policy.confidential, policy.insensitive)
            named = (*roles, policy.identified_by, policy.text.columns, [policy.weights] if policy.weights else [])
            needed = {name for names in named for name in names}
        return read_table(
            source, delimiter=self.delimiter, encoding=self.encoding, decimal=self.decimal, text=[*self.text, *text],
            needed=needed,
        )  # fmt: skip

    def codebook(self, source: str | Path) -> Codebook | None:
        """What an SPSS, Stata or SAS file says of its columns and codes."""
        from shoal.data.paths import is_sql
        from shoal.data.statistical_files import codebook_of

        return None if is_sql(source) else codebook_of(source)

    def spelling(self, source: str | Path) -> Spelling | None:
        """How a text file is written, to be kept where nothing is masked; to be called before it is read."""
        from shoal.data.files import is_delimited
        from shoal.data.notation import Spelling
        from shoal.data.paths import check_readable

        if not is_delimited(source):
            return None
        check_readable(Path(source))
        return Spelling.of(Path(source), self.delimiter, self.encoding, self.decimal)


def column_of(table: pl.DataFrame, name: str) -> pl.Series:
    """The column of that name; refused with those that there are where it is none of them."""
    if name not in table.columns:
        hint = did_you_mean(name, table.columns) or f" It has {', '.join(map(repr, table.columns[:20]))}."
        raise InputError(f"The table has no column {name!r}.{hint}")
    return table[name]
