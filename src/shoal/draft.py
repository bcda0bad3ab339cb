"""A draft: the table as a policy has it masked, which nobody has judged yet.

A draft gets out only as a release (`shoal.release`), after an independent check of what it shows.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.cells import in_whole_numbers, with_one_zero
from shoal.data.frames import Frame, Restore, to_polars
from shoal.data.microdata import Coded, Microdata
from shoal.data.people import Repeating, likely_identifiers, repeating
from shoal.data.schema import Role, Schema
from shoal.errors import InputError
from shoal.masking.collapse import refuse_single_class
from shoal.masking.method import Masked, Method, class_size, with_cells
from shoal.masking.publishing.confidential import check_promises, grouped_by, publish_confidential, shown_alike
from shoal.masking.publishing.private_mean import budget
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel

if TYPE_CHECKING:
    from shoal.data.notation import Spelling
    from shoal.releases.ledger import Ledger


class InFile(NamedTuple):
    """A draft as a file shows it."""

    table: pl.DataFrame  # its values
    rows: npt.NDArray[np.int64]  # which record of the input each of its records is
    spelled: pl.DataFrame  # its values in the text of the file that they were read from
    copied: dict[str, pl.DataType]  # the columns whose text was copied from there, with the types of their values


@dataclass(frozen=True)
class Draft(Generic[Frame]):
    """A masked table that nobody has judged yet, and how it was made."""

    table: pl.DataFrame = field(repr=False)  # in the order of the input; texts that many records share, as codes
    schema: Schema
    policy: Policy
    promises: tuple[PrivacyModel, ...]
    original: Microdata = field(repr=False)
    masked: Masked = field(repr=False)
    notes: tuple[str, ...]
    restore: Restore[Frame] = field(repr=False)
    repeating: tuple[Repeating, ...] = ()  # identifiers of fewer people than records
    spelling: Spelling | None = field(default=None, repr=False)  # of the text file from which the table was read

    def noted(self, ledger: Ledger) -> Self:
        """The draft with a note where hardly anybody in it is known to the ledger."""
        notes = [note for note in ledger.strangers(self.original.frame) if note not in self.notes]
        return replace(self, notes=(*self.notes, *notes))

    def in_file(self, path: str | Path, order: npt.NDArray[np.uint32] | None = None) -> InFile:
        """The draft as a file of this name shows it: its records in this order, or in that of the input."""
        from shoal.data.files import is_delimited
        from shoal.data.notation import respelled

        rows = np.arange(self.table.height) if self.masked.kept is None else self.masked.kept
        table = self.table
        if order is not None:
            table, rows = table[order], rows[order]
        if Path(path).suffix.lower() != ".csv":  # elsewhere the codes would show
            table = self.plain(table)
        if self.spelling is None or not is_delimited(path):
            return InFile(table, rows, table, {})
        source = self.original.frame
        spelled, copied = respelled(
            table, source, list(self.schema), list(self.masked.columns), self.spelling.texts, pl.Series(rows)
        )
        return InFile(table, rows, spelled, {name: source[name].dtype for name in copied})

    def plain(self, table: pl.DataFrame) -> pl.DataFrame:
        """Records of the draft with every text as text."""
        coded = [name for name in self.masked.columns if table[name].dtype == pl.Enum]
        return table.with_columns(pl.col(coded).cast(pl.String))


@events.apart
def draft(
    frame: Frame,
    policy: Policy,
    *,
    seed: int | None = None,
    after: Ledger | None = None,
    spelling: Spelling | None = None,
) -> Draft[Frame]:
    """Masks the frame as the policy says. Nothing has been judged yet.

    Where the frame was read from a text file, its `spelling` lets what nothing masks leave in the same text.
    """
    from shoal.data.scratch import sweep

    sweep()
    table, restore = to_polars(frame)
    events.stage("checking the table")
    policy.refuse_suppression()
    original, notes = prepare(table, policy)
    unnamed = [name for name in table.columns if name not in original.schema]
    identifiers = [*original.schema.with_role(Role.IDENTIFIER), *likely_identifiers(table, unnamed)]
    again = tuple(repeating(table, identifiers))
    notes += tuple(identifier.sentence() for identifier in again)
    promises = policy.promises(original.schema)
    k = class_size(original, promises)  # whatever the method, a class needs k records
    method = policy.method if after is None else _incremental(policy.method, after, original)
    promises = with_cells(promises, method, original.schema, k)
    refuse_single_class(len(original), original.schema, lambda name: _counts(original[name]), promises)
    means = policy.private_means()
    if policy.show:
        check_promises(original.schema, policy.method, means, promises)
        original = Microdata(table, grouped_by(original.schema, policy.show))
    events.stage("masking")
    masked = method.mask(original, promises, suppression=policy.suppression, seed=seed)
    events.stage("publishing")
    if policy.show:
        masked = publish_confidential(original, masked, policy.show, means)
        original = Microdata(table, shown_alike(original.schema, policy.show))
    types = original.frame.schema
    masked = replace(
        masked, columns={name: in_whole_numbers(column, types[name]) for name, column in masked.columns.items()}
    )
    notes += budget(means, k) + masked.notes
    return Draft(
        assemble(original, masked), original.schema, policy, promises, original, masked, notes, restore, again, spelling
    )


def _counts(coded: Coded) -> npt.NDArray[np.int64]:
    """Records of each value, missing one of them."""
    return np.append(coded.counts, coded.missing)


def _incremental(method: Method, ledger: Ledger, original: Microdata) -> Method:
    from shoal.releases.incremental import Incremental

    subjects = ledger.digests(original.frame)
    shown = original.frame.select(
        attribute.name for attribute in original.schema if Role.IDENTIFIER not in attribute.roles
    )
    return Incremental(method, ledger.releases(), subjects, ledger.own(subjects, shown))


def prepare(table: pl.DataFrame, policy: Policy) -> tuple[Microdata, tuple[str, ...]]:
    """The table with its schema, refused where it cannot be worked on; and what will be left out."""
    if table.width == 0 or table.height == 0:
        raise InputError("The table has no records: nothing can be released.")
    schema = policy.schema(table)
    if not schema.quasi_identifiers:
        raise InputError("No quasi-identifier is named: name the columns an intruder may know (--quasi a,b).")
    for name in schema.confidential:
        if table[name].null_count() == table.height:
            raise InputError(f"The confidential column {name!r} is missing in every record: leave it out.")
    return Microdata(table, schema), left_out(table.columns, schema) + in_order_of_type(policy, table.schema)


def in_order_of_type(policy: Policy, types: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Which columns are ordinal because their type states an order, and which; what else a policy says, it knows."""
    asked = [name for name in (*policy.quasi_identifiers, *policy.confidential) if name not in policy.attributes]
    stated = {name: dtype for name in asked if isinstance(dtype := types[name], pl.Enum)}
    return tuple(
        f"Column {name!r} is taken as ordinal, in the order that its type states: {_rising(dtype.categories)}."
        for name, dtype in stated.items()
    )


def _rising(categories: pl.Series) -> str:
    few = categories if len(categories) <= 8 else [*categories.head(4), "...", *categories.tail(3)]
    return " < ".join(few)


def left_out(columns: Sequence[str], named: Container[str]) -> tuple[str, ...]:
    """What the custodian should know of columns that have no role."""
    unnamed = [name for name in columns if name not in named]
    if not unnamed:
        return ()
    return (
        f"No role names {_listed(unnamed)}: left out of the release "
        "(--insensitive releases columns as they are, --rest insensitive all that are left).",
    )


def assemble(original: Microdata, masked: Masked) -> pl.DataFrame:
    """The released table: masked quasi-identifiers, other columns as they are, identifiers left out."""
    kept = original.frame if masked.kept is None else original.frame[masked.kept]
    shown = [attribute.name for attribute in original.schema if Role.IDENTIFIER not in attribute.roles]

    def column(name: str) -> pl.Series:
        shown = masked.columns[name].values() if name in masked.columns else kept[name]
        return with_one_zero(shown) if shown.dtype.is_float() else shown

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return pl.DataFrame(list(pool.map(column, shown)))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
