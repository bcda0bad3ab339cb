"""How a file is to be read, where that is not left to be found out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.data.reading import Reading
from shoal.errors import InputError, did_you_mean, needs_memory

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.codebook import Codebook
    from shoal.data.dialects import Dialect
    from shoal.data.forms import Forms
    from shoal.data.notation import Spelling
    from shoal.data.released import Released
    from shoal.policy import Policy


class Layout(Reading):
    """How a job reads its files: what is stated here, and otherwise what the policy states (`[read]`)."""

    name: ClassVar[str] = Reading.name

    def forms(self, policy: Policy | None = None, *, lenient: bool = False) -> Forms:
        """In which forms dates and amounts are written, to be put down there by what reads a file.

        What a policy declares decides what a column may hold. Where `lenient`, what is in doubt is noted, not refused.
        """
        from shoal.data.forms import Forms

        return Forms(self, lenient=lenient) if policy is None else Forms.under(self, policy.attributes)

    def read(
        self,
        source: str | Path,
        policy: Policy | None = None,
        text: Sequence[str] = (),
        forms: Forms | None = None,
    ) -> pl.DataFrame:
        """The table; where a policy leaves out what no role names, that need not be understood.

        `text` names more columns to be read as text; in `forms` is put down how dates and amounts are written.
        """
        from shoal.data.files import read_table

        forms = self.forms(policy) if forms is None else forms
        return read_table(source, self.with_text(tuple(text)), needed=needed_by(policy), forms=forms)

    def read_either(self, source: str | Path, policy: Policy) -> pl.DataFrame:
        """A table that may be an original or a release: this lacks columns, and its layout and sheet may be its own."""
        from dataclasses import replace

        from shoal.data.files import read_table
        from shoal.data.released import reading_of
        from shoal.data.sheets import has_sheet

        stated = policy.reading.chosen()
        kept = {key: value for key, value in stated.items() if key in ("text", "names")}
        if policy.reading.sheet is not None and has_sheet(source, policy.reading.sheet):
            kept["sheet"] = policy.reading.sheet
        reading = self.over(Reading(**(reading_of(source, policy.reading).chosen() | kept)))
        forms = replace(type(self).of(reading).forms(policy), may_lack=True)
        return read_table(source, reading, needed=needed_by(policy), forms=forms)

    def read_both(
        self, original: str | Path, released: str | Path, policy: Policy
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """An original and its release, which is written as the original is where it does not show otherwise."""
        layout = self.over(policy.reading)
        forms = layout.forms(policy)
        before = layout.read(original, policy, forms=forms)
        return before, layout.read_release(released, policy.changed(reading=forms.settled(layout.settled(original))))

    def read_release(self, released: str | Path, policy: Policy, text: Sequence[str] = ()) -> pl.DataFrame:
        """A release of what is read as the policy states; columns in `text` as text, where it has them."""
        from shoal.data.files import read_table
        from shoal.data.forms import Forms
        from shoal.data.released import reading_of

        reading = reading_of(released, policy.reading).with_text((*policy.reading.text, *text))
        return read_table(released, reading, forms=Forms.under(reading, policy.attributes, released=True))

    def settled(self, source: str | Path) -> Reading:
        """The same, with what was seen in a text file where it is not written in the plainest way."""
        from shoal.data.csv_files import settled
        from shoal.data.files import is_delimited
        from shoal.data.paths import check_readable

        if not is_delimited(source):
            return Reading.of(self)
        check_readable(Path(source))
        return settled(Path(source), Reading.of(self))

    def assumed(self, source: str | Path) -> tuple[str, ...]:
        """What was assumed of a text file and may be wrong, in sentences."""
        from shoal.data.csv_files import assumed
        from shoal.data.files import is_delimited

        return assumed(Path(source), self) if is_delimited(source) else ()

    def in_parts(self, engine: str, policy: Policy | None = None, *, released: bool = False) -> Forms:
        """In which forms a table in parts is written, to be put down there; what the engine cannot do is refused."""
        from dataclasses import replace

        from shoal.data.forms import Forms

        for key in self.for_memory_alone:
            raise needs_memory(f"The policy's 'read.{key}'", engine)
        attributes = {} if policy is None else policy.shown_attributes if released else policy.attributes
        forms = Forms.under(Reading.of(self), attributes, released=released)
        return replace(forms, needed=needed_by(policy))

    def released(self, source: str | Path, policy: Policy) -> Released:
        """A released table, and what stands there of the quasi-identifiers."""
        from shoal.data.forms import Forms
        from shoal.data.released import read_released, reading_of

        reading = self.over(reading_of(source, policy.reading))
        forms = Forms.under(reading, policy.shown_attributes, released=True)
        return read_released(source, policy.quasi_identifiers, reading, forms)

    def dialect(self, source: str | Path, output: str | Path, asked: Reading) -> tuple[Dialect | None, tuple[str, ...]]:
        """How the release is laid out: as asked, otherwise as the source is; and what the custodian should know of it.

        None where it is no text file.
        """
        from shoal.data.csv_files import dialect_of
        from shoal.data.dialects import named_by, written_like
        from shoal.data.files import is_delimited

        if not is_delimited(output):
            return None, ()
        target, path = Path(output), Path(source) if is_delimited(source) else None
        like = named_by(target) if path is None else dialect_of(path, self)
        chosen = written_like(path, like, target, asked)
        return chosen, chosen.sentences(path, like, target)

    def codebook(self, source: str | Path) -> Codebook | None:
        """What an SPSS, Stata or SAS file says of its columns and codes."""
        from shoal.data.paths import is_sql
        from shoal.data.statistical_files import codebook_of

        return None if is_sql(source) else codebook_of(source)

    def spelling(self, source: str | Path, forms: Forms | None = None) -> Spelling | None:
        """How a text file is written, to be kept where nothing is masked; to be called before it is read."""
        from shoal.data.files import is_delimited
        from shoal.data.notation import Spelling
        from shoal.data.paths import check_readable

        if not is_delimited(source):
            return None
        check_readable(Path(source))
        return Spelling.of(Path(source), self, forms)


def refuse_written(asked: Reading, output: str | Path, engine: str) -> None:
    """Refuses what is asked of how a text file is laid out where none is written, or not by this engine."""
    from shoal.data.files import is_delimited

    for key in asked.chosen():
        if engine != "memory":
            instead = " On disk and Spark text files have commas, UTF-8 and decimal points."
            raise needs_memory(f"--write {key}", engine, instead)
        if not is_delimited(output):
            raise InputError(f"--write {key} is of text files, and {str(output)!r} is none: leave it out.")


def needed_by(policy: Policy | None) -> frozenset[str] | None:
    """The columns that a policy names, where it leaves out all others, which need not be understood."""
    if policy is None or policy.rest != "drop" or not policy.quasi_identifiers:
        return None
    roles = (policy.identifiers, policy.quasi_identifiers, policy.confidential, policy.insensitive)
    named = (*roles, policy.identified_by, policy.text.columns, [policy.weights] if policy.weights else [])
    return frozenset(name for names in named for name in names)


def column_of(table: pl.DataFrame, name: str) -> pl.Series:
    """The column of that name; refused with those that there are where it is none of them."""
    if name not in table.columns:
        hint = did_you_mean(name, table.columns) or f" It has {', '.join(map(repr, table.columns[:20]))}."
        raise InputError(f"The table has no column {name!r}.{hint}")
    return table[name]
