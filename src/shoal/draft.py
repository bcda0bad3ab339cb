"""A draft: the table as a policy has it masked, which nobody has judged yet.

A draft gets out only as a release (`shoal.release`), after an independent check of what it shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.built_attributes import assumed_notes, built_notes, distinct_notes
from shoal.data.cells import in_whole_numbers, with_one_zero
from shoal.data.codebook import Codebook
from shoal.data.frames import Frame, Restore, to_polars
from shoal.data.fresh_numbers import fresh_numbers
from shoal.data.household import refuse_homeless
from shoal.data.microdata import Coded, Microdata
from shoal.data.ordered_categories import orders_stated
from shoal.data.people import Repeating, likely_identifiers, repeating
from shoal.data.person import numbered, refuse_gaps
from shoal.data.roles import left_out
from shoal.data.schema import Attribute, Role, Schema, need_quasi, refuse_missing
from shoal.data.text_choice import left_out_note, texts_left_out
from shoal.data.weights import weights_note, weights_of
from shoal.engines.whole import need_records
from shoal.errors import InputError, PromiseError
from shoal.masking.collapse import refuse_single_class
from shoal.masking.method import Masked, Method, class_size, with_cells
from shoal.masking.publishing.confidential import check_promises, grouped_by, publish_confidential, shown_alike
from shoal.masking.publishing.person_in_class import person_in_class, refuse_in_class
from shoal.masking.publishing.private_mean import budget
from shoal.masking.whole_histories import held_together, refuse_whole, whole_of
from shoal.policy import Policy
from shoal.privacy.check import released_classes
from shoal.privacy.consistency import refuse_inconsistent
from shoal.privacy.model import PrivacyModel
from shoal.pseudonymize import KEPT, judge_replaced, notes_of, replaced

if TYPE_CHECKING:
    from shoal.data.dialects import Dialect
    from shoal.data.forms import Forms
    from shoal.data.notation import Spelling
    from shoal.releases.ledger import Ledger


class InFile(NamedTuple):
    """A draft as a file shows it."""

    table: pl.DataFrame  # its values
    rows: npt.NDArray[np.int64]  # which record of the input each of its records is
    spelled: pl.DataFrame  # its values in the text of the file that they were read from
    copied: dict[str, pl.DataType]  # the columns whose text was copied from there, with the types of their values
    forms: Forms  # how columns write their values
    dialect: Dialect  # how a text file of it is laid out


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
    renumbered: str | None = None  # the column that shows fresh numbers in place of what the original has there
    book: Codebook | None = field(default=None, repr=False)  # of the SPSS, Stata or SAS file that it was read from
    before: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)  # what pseudonyms and shifts replaced
    dialect: Dialect | None = None  # how a text file of it is laid out; None: as its name says

    @property
    def source(self) -> pl.DataFrame:
        """The table as it came, which says whom its records are about."""
        return self.original.frame.with_columns(self.before.get_columns())

    @property
    def owner(self) -> str | None:
        """The column that says whose rows belong together, where whole histories are promised."""
        whole = whole_of(self.promises)
        return None if whole is None else owner_column(self.policy, whole)

    def noted(self, ledger: Ledger) -> Self:
        """The draft with a note where hardly anybody in it is known to the ledger."""
        strangers = ledger.strangers(self.source, several=self.owner is not None)
        notes = [note for note in strangers if note not in self.notes]
        return replace(self, notes=(*self.notes, *notes))

    def in_file(self, path: str | Path, order: npt.NDArray[np.uint32] | None = None) -> InFile:
        """The draft as a file of this name shows it: its records in this order, or in that of the input."""
        from shoal.data.dialects import named_by
        from shoal.data.files import is_delimited
        from shoal.data.forms import Forms
        from shoal.data.notation import with_commas

        dialect = self.dialect or named_by(path)
        rows = np.arange(self.table.height) if self.masked.kept is None else self.masked.kept
        table = self.table
        if order is not None:
            table, rows = table[order], rows[order]
        if Path(path).suffix.lower() != ".csv":  # elsewhere the codes would show
            table = self.plain(table)
        source, forms = self.original.frame, Forms()
        if not is_delimited(path):
            return InFile(table, rows, table, {}, forms, dialect)
        if self.spelling is None:
            spelled, types = table, dict[str, pl.DataType]()
        else:
            spelled, types, forms = self._spelled(table, rows, self.spelling, dialect)
        if dialect.decimal == ",":
            spelled, types, forms = with_commas(spelled, source.schema, types, forms)
        return InFile(table, rows, spelled, types, forms, dialect)

    def _spelled(
        self, table: pl.DataFrame, rows: npt.NDArray[np.int64], spelling: Spelling, dialect: Dialect
    ) -> tuple[pl.DataFrame, dict[str, pl.DataType], Forms]:
        """Records in the text of the file that they were read from; which columns are copied from it, and its forms."""
        from shoal.data.notation import respelled

        source, forms, texts = self.original.frame, spelling.forms, partial(spelling.texts, decimal=dialect.decimal)
        own = [attribute for attribute in self.schema if attribute.name != self.renumbered]
        spelled, copied = respelled(
            table, source, own, self.changed, texts, pl.Series(rows), forms
        )  # what was replaced is never copied from the file
        others = [name for name in self.before.columns if name in table.columns and name not in self.masked.columns]
        written = [name for name in others if spelled[name].dtype != table[name].dtype]  # dates, as the file has them
        return spelled, {name: source[name].dtype for name in (*copied, *written)}, forms

    @property
    def changed(self) -> list[str]:
        """The columns of which the file that was read shows something else."""
        return list(dict.fromkeys((*self.masked.columns, *self.before.columns, *self.policy.text.mask)))

    def judge_replaced(self, shown: pl.DataFrame | pl.LazyFrame, rows: npt.NDArray[np.int64] | None) -> None:
        """Refuses what is shown of these records unless pseudonyms and shifted dates are right beside the original."""
        from shoal.engines.memory import MemoryTable

        if not self.before.width:
            return
        before = (self.before if rows is None else self.before[rows]).rename(lambda name: f"{KEPT}{name}")
        after = shown.lazy().select(name for name in self.before.columns if name in self.table.columns).collect()
        if after.height != before.height:
            raise PromiseError("What was written does not show the records that were masked. Nothing was released.")
        paired = MemoryTable(pl.concat([after, before], how="horizontal"))
        judge_replaced(paired, self.policy, list(self.masked.columns), after.height)

    def labels(self, rows: npt.NDArray[np.int64]) -> Codebook | None:
        """What the file of these records may say of codes: those for missing only in columns that are as they were."""
        if self.book is None:
            return None
        shown = [name for name in self.schema.names if name != self.renumbered]
        book = replace(self.book, variables={name: v for name, v in self.book.variables.items() if name in shown})
        return book.of(rows, [name for name in shown if self.schema[name].roles == {Role.INSENSITIVE}])

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
    method: Method | None = None,
    book: Codebook | None = None,
) -> Draft[Frame]:
    """Masks the frame as the policy says. Nothing has been judged yet.

    Where the frame was read from a text file, its `spelling` lets what nothing masks leave in the same text; the `book`
    of an SPSS, Stata or SAS file labels what is written to such a file. A `method` is held to the policy's promises in
    place of its own.
    """
    from shoal.data.scratch import sweep

    sweep()
    table, restore = to_polars(frame)
    events.stage("checking the table")
    policy.refuse_suppression()
    table, texts = with_texts(table, policy)  # before anything else is replaced: the text holds what stood there
    table, before = replaced(table, policy)
    original, notes = prepare(table, policy)
    again = _again(table, original.schema, policy)
    notes = (*_of_file(spelling, book, original), *texts, *notes, *notes_of(policy), *(w.sentence() for w in again))
    promises = policy.promises(original.schema)
    k = class_size(original, promises)  # whatever the method, a class needs k records
    whole = whole_of(promises)
    _refuse_rules(policy, table, whole)
    if after is not None:
        refuse_whole(whole, "goes on from earlier releases class by class (--incremental)")
        method = _incremental(policy.method, after, original, table.with_columns(before.get_columns()))
    elif method is None:
        method = held_together(policy.method, promises)
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
    made = Draft(
        assemble(original, masked), original.schema, policy, promises, original, masked, notes, restore, again,
        spelling, book=book, before=before,
    )  # fmt: skip
    if whole is None or owner_column(policy, whole) in policy.pseudonyms:  # which show whose rows belong together
        return made
    return renumbered([made], [owner_column(policy, whole)], seed)[0]


def renumbered(drafts: Sequence[Draft[Frame]], columns: Sequence[str], seed: int | None) -> list[Draft[Frame]]:
    """The drafts with fresh numbers in the columns that say whose a row is: the same owner has the same in all."""
    owners = [_owners(made, column) for made, column in zip(drafts, columns, strict=True)]
    places = np.cumsum([0, *(len(each) for each in owners)])
    numbers = numbered(pl.concat(owners), one_each=True)  # a gap was refused, unless each is a person
    fresh = fresh_numbers([numbers[a:b] for a, b in pairwise(places)], seed)
    return [
        replace(
            made,
            table=pl.DataFrame([pl.Series(column, number), *made.table.drop(column, strict=False)]),
            schema=made.schema.only(_pseudonym(attribute, column) for attribute in made.schema),
            renumbered=column,
        )
        for made, column, number in zip(drafts, columns, fresh, strict=True)
    ]


def _owners(made: Draft, column: str) -> pl.Series:
    """Whose each shown row is, as text, so that tables of several types can be compared."""
    whose = made.original.frame[column]
    return (whose if made.masked.kept is None else whose[made.masked.kept]).cast(pl.String).alias("")


def _pseudonym(attribute: Attribute, column: str) -> Attribute:
    """What stands there in place of an identifier."""
    return replace(attribute, roles=frozenset({Role.INSENSITIVE})) if attribute.name == column else attribute


def owner_column(policy: Policy, whole: PrivacyModel) -> str:
    """The column that says whose rows belong together."""
    column = policy.household_column if whole.together == "household" else policy.person
    assert column is not None
    return column


def _refuse_rules(policy: Policy, table: pl.DataFrame, whole: PrivacyModel | None) -> None:
    """Refuses tables beside this one, and rules that the table breaks or that its release would not show."""
    if policy.tables:
        raise InputError(
            f"The policy names further tables ({', '.join(policy.tables)}), which are released together with this one: "
            "use shoal.anonymize_tables, or leave them out."
        )
    if policy.consistent and whole is None:
        raise InputError(
            "The rules of consistent are checked on what is released, which must show whose rows belong together: "
            "promise linked or households, or leave the rules out."
        )
    if policy.consistent:
        refuse_inconsistent(policy.rules, {"": policy.owned(table)}, released=False)


def _of_file(spelling: Spelling | None, book: Codebook | None, original: Microdata) -> tuple[str, ...]:
    """What was made of the cells of a text file, and of the codes of a file that labels them."""
    cells = () if spelling is None else spelling.forms.notes
    return (*cells, *(() if book is None else book.notes(original.schema.names)))


def _again(table: pl.DataFrame, schema: Schema, policy: Policy) -> tuple[Repeating, ...]:
    """Identifiers that repeat, where no column was named to count people by."""
    unnamed = [name for name in table.columns if name not in schema]
    known = [*schema.with_role(Role.IDENTIFIER), *schema.with_role(Role.PSEUDONYM)]
    people = [name for name in (*known, *likely_identifiers(table, unnamed)) if name != policy.household_column]
    return () if policy.person is not None else tuple(repeating(table, people))


def with_people_numbered(made: Draft[Frame], seed: int | None) -> Draft[Frame]:
    """The draft with a column that numbers the people of each class afresh, so that anybody can count them."""
    refuse_in_class(made.original.frame.columns, made.policy.person, made.promises)
    people = made.original.people
    assert people is not None
    key = released_classes(made.table, made.schema).key.to_numpy()
    whose = people if made.masked.kept is None else people[made.masked.kept]
    return replace(made, table=made.table.with_columns(person_in_class(key, whose, seed)))


def with_texts(table: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table with free text masked, or left out, as the policy says; refused where a role is all that it says."""
    left = texts_without_role(table, table.columns, policy)
    work = policy.text.work(never_shown(policy))
    return (table if work is None else work(table)).drop(left), left_out_note(left) + policy.text.notes()


def never_shown(policy: Policy) -> tuple[str, ...]:
    """Columns whose values are sought in the record's free text: identifiers, and who the record is about."""
    return tuple(dict.fromkeys((*policy.identifiers, *policy.pseudonyms, *([policy.person] if policy.person else []))))


def texts_without_role(sample: pl.DataFrame, columns: Sequence[str], policy: Policy) -> list[str]:
    """Columns of free text that have no role but by `rest`, judged by some records."""
    policy.text.refuse(columns, policy.identifiers)
    named = {*policy.identifiers, *policy.quasi_identifiers, *policy.confidential, *policy.insensitive}
    kinds = {name: choice.kind for name, choice in policy.attributes.items()}
    return texts_left_out(sample, policy.roles(columns), named, kinds, policy.text)


def _counts(coded: Coded) -> npt.NDArray[np.int64]:
    """Records of each value, missing one of them."""
    return np.append(coded.counts, coded.missing)


def _incremental(method: Method, ledger: Ledger, original: Microdata, source: pl.DataFrame) -> Method:
    from shoal.releases.incremental import Incremental

    ledger.refuse_going_on()
    subjects = ledger.digests(source)
    shown = original.frame.select(
        attribute.name for attribute in original.schema if Role.IDENTIFIER not in attribute.roles
    )
    return Incremental(method, ledger.releases(), subjects, ledger.own(subjects, shown))


def prepare(table: pl.DataFrame, policy: Policy) -> tuple[Microdata, tuple[str, ...]]:
    """The table with its schema, refused where it cannot be worked on; and what will be left out."""
    need_records(table.height)
    schema = policy.schema(table)
    need_quasi(schema.quasi_identifiers)
    refuse_missing(name for name in schema.confidential if table[name].null_count() == table.height)
    if policy.person is not None:
        refuse_gaps(table[policy.person], one_each=policy.missing_person == "one-each")
    if policy.household_column is not None:
        refuse_homeless(table[policy.household_column])
    roles = {attribute.name: attribute.roles for attribute in schema}
    if policy.weights is not None:
        weights_of(table, policy.weights)
    original = Microdata(table, schema)
    return original, notes_before(policy, schema, table.columns, roles, table.schema, lambda n: original[n].counts)


def notes_before(
    policy: Policy, schema: Schema, columns: Sequence[str], roles: Mapping[str, frozenset[Role]],
    types: Mapping[str, pl.DataType], counts: Callable[[str], npt.NDArray[np.int64]],
) -> tuple[str, ...]:  # fmt: skip
    """What is to be said of a table before it is masked: what is left out, assumed and built; `counts` of values."""
    return (
        *left_out(columns, roles, policy.weights),
        *weights_note(policy.weights, roles),
        *_in_order_of_type(policy, types),
        *assumed_notes(schema),
        *built_notes(policy.built_trees(schema)),
        *distinct_notes(schema, counts),
    )


def _in_order_of_type(policy: Policy, types: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Which columns are ordinal because their type states an order, and which; what else a policy says, it knows."""
    asked = [name for name in (*policy.quasi_identifiers, *policy.confidential) if name not in policy.attributes]
    return orders_stated(asked, types)


def assemble(original: Microdata, masked: Masked) -> pl.DataFrame:
    """The released table: masked quasi-identifiers, other columns as they are, identifiers left out."""
    kept = original.frame if masked.kept is None else original.frame[masked.kept]
    shown = [attribute.name for attribute in original.schema if Role.IDENTIFIER not in attribute.roles]

    def column(name: str) -> pl.Series:
        shown = masked.columns[name].values() if name in masked.columns else kept[name]
        return with_one_zero(shown) if shown.dtype.is_float() else shown

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return pl.DataFrame(list(pool.map(column, shown)))
