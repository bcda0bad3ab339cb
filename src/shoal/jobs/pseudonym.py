"""Pseudonyms undone by whoever has the key, led over to another version of the key, and the key itself renewed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout, column_of
from shoal.jobs.paths import check_paths
from shoal.show.result import Result
from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.pseudonym_forms import Form
    from shoal.data.pseudonym_keys import Key, Keys

_UNSEEN = (
    "Pseudonyms of the form 'like' give values whatever the key: whether it is the one they were made with cannot be "
    "seen from the file. Compare the key's id, {ids}, with the one noted at the release."
)


@dataclass(frozen=True, repr=False)
class PseudonymsUsed(Result):
    """A table made of pseudonyms by a key: where it went, how many it is about, and the ids of the keys."""

    output: str
    records: int
    pseudonyms: int
    keys: tuple[Key, ...] = field(repr=False)
    form: str

    def sheets(self) -> list[Sheet]:
        """One row: the file, its records and pseudonyms, and the keys by their ids."""
        row = (self.output, self._ids, f"{self.records:,}", f"{self.pseudonyms:,}")
        return [Sheet("Written", ("file", "key", "records", "pseudonyms"), [row], numbers=2)]

    def to_dict(self) -> dict[str, Any]:
        """The file, its numbers, and of each key its version and id."""
        keys = [{"version": key.version, "id": key.id} for key in self.keys]
        return {"output": self.output, "records": self.records, "pseudonyms": self.pseudonyms, "keys": keys}

    def remarks(self) -> list[str]:
        """Where nobody can see whether the key is the right one."""
        return [_UNSEEN.format(ids=self._ids)] if self.form == "like" else []

    @property
    def _ids(self) -> str:
        return ", ".join(key.id for key in self.keys)


@dataclass(frozen=True)
class RevealPseudonyms(Job[PseudonymsUsed]):
    """Writes a table with the identifiers again in the place of one column's pseudonyms, for its owner alone.

    `key` names the file of the secret key (None: the environment has it), `version` the one that they were made with
    (None: the last).
    """

    source: str
    column: str
    output: str
    key: Path | None
    domain: str = "person"
    form: str = "sealed"
    version: int | None = None
    overwrite: bool = False
    layout: Layout = field(default_factory=Layout)

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        form = _form(self.form)
        if not form.reversible:
            form.revealed((), _keys(self.key).current, self.domain)
        _keys(self.key).version(self.version)
        check_paths([self.source, self.key], self.output, overwrite=self.overwrite)

    def work(self) -> PseudonymsUsed:
        """Reads the table, opens every pseudonym of the column, and writes the table; or nothing."""
        from shoal.data.files import write_table
        from shoal.data.pseudonym_forms import values_of

        form, key = _form(self.form), _keys(self.key).version(self.version)
        events.stage("reading")
        table = _as_it_stands(self.source, self.layout)
        shown = column_of(table, self.column)
        events.stage("opening pseudonyms")
        values = events.apart(values_of)(shown, form, key, self.domain)
        events.stage("writing")
        book = self.layout.codebook(self.source)
        write_table(table.with_columns(values), self.output, overwrite=self.overwrite, private=True, book=book)
        return PseudonymsUsed(self.output, table.height, values.drop_nulls().n_unique(), (key,), form.name)


@dataclass(frozen=True)
class MapPseudonyms(Job[PseudonymsUsed]):
    """Writes each pseudonym of one version of the key with that of another, `old` and `new`, for its owner alone.

    Of `sealed` and `like` the source shows the pseudonyms; of `code` it is the table of the identifiers.
    """

    source: str
    column: str
    output: str
    key: Path | None
    old: int
    new: int
    domain: str = "person"
    form: str = "sealed"
    length: int | None = None
    overwrite: bool = False
    layout: Layout = field(default_factory=Layout)

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        _form(self.form, self.length)
        keys = _keys(self.key)
        if keys.version(self.old) == keys.version(self.new):
            raise InputError(f"--from and --to name the same version {self.old}: the pseudonyms stay as they are.")
        check_paths([self.source, self.key], self.output, overwrite=self.overwrite)

    def work(self) -> PseudonymsUsed:
        """Reads the column, makes the pseudonyms of both versions, and writes the pairs; or nothing."""
        from shoal.data.files import write_table
        from shoal.data.pseudonym_forms import pairs_of

        form, keys = _form(self.form, self.length), _keys(self.key)
        old, new = keys.version(self.old), keys.version(self.new)
        events.stage("reading")
        table = self.layout.read(self.source) if form.name == "code" else _as_it_stands(self.source, self.layout)
        column = column_of(table, self.column)
        events.stage("making pseudonyms")
        pairs = events.apart(pairs_of)(column, form, old, new, self.domain)
        events.stage("writing")
        write_table(pairs, self.output, overwrite=self.overwrite, private=True)
        return PseudonymsUsed(self.output, table.height, pairs.height, (old, new), form.name)


@dataclass(frozen=True, repr=False)
class KeyVersions(Result):
    """The versions of a secret key by their ids, of which the last is in use."""

    keys: Keys = field(repr=False)

    def sheets(self) -> list[Sheet]:
        """One row a version; nothing of a key is shown but its id."""
        rows = [(str(key.version), key.id) for key in self.keys.versions]
        return [Sheet("Versions of the key", ("version", "id"), rows)]

    def to_dict(self) -> dict[str, Any]:
        """All versions, and the one in use."""
        versions = [{"version": key.version, "id": key.id} for key in self.keys.versions]
        return {"in_use": self.keys.current.version, "versions": versions}


@dataclass(frozen=True)
class RotateKey(Job[KeyVersions]):
    """Adds a version to a key's file, with which pseudonyms are made from now on; those before stay in it."""

    key: Path

    def refuse(self) -> None:
        """Raises where there is no such key, or it is damaged or not its owner's alone."""
        _keys(self.key)

    def work(self) -> KeyVersions:
        """Writes the file anew with one version more."""
        from shoal.data.pseudonym_keys import add_version

        events.stage("renewing the key")
        events.check()
        keys = add_version(self.key)
        events.named()
        return KeyVersions(keys)


def _form(word: str, length: int | None = None) -> Form:
    from shoal.data.pseudonym_forms import form_of

    return form_of(word, length)


def _keys(path: Path | None) -> Keys:
    from shoal.data.pseudonym_keys import read_keys

    return read_keys(path)


def _as_it_stands(source: str, layout: Layout) -> pl.DataFrame:
    """The table; of a text file every cell as it is written, since no number of it is meant here."""
    from shoal.data.files import is_delimited, read_table

    if not is_delimited(source):
        return layout.read(source)
    return layout.read(source, text=read_table(source, layout, needed=()).columns)
