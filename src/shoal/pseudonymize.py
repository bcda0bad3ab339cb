"""Identifiers replaced by keyed pseudonyms and dates shifted by person, before anything is masked; and both judged.

The replacing is one piece of work over some records, so that memory, disk and Spark do the same. What it replaces goes
along under another name, never into a release, and beside it the release is judged: by what both columns show, without
the key (docs/spec.md#pseudonyms-judged).
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from shoal.data.cells import plain_text
from shoal.data.date_shift import shifted, shifts_of
from shoal.data.forms import Forms
from shoal.data.frames import OWN
from shoal.data.identity import identity_text
from shoal.data.notation import rewritten
from shoal.data.person import IN_CLASS
from shoal.data.pseudonym_choices import ShownPseudonyms
from shoal.data.pseudonym_forms import Form, Number, digests, pseudonyms_of, refuse_clash, texts_of
from shoal.data.pseudonym_keys import Key
from shoal.engines.table import Batch, Table
from shoal.engines.text import SPELLED
from shoal.engines.whole import LISTED
from shoal.errors import InputError, PromiseError
from shoal.policy import Policy
from shoal.privacy.classes import class_sizes
from shoal.privacy.linked import Linked

KEPT = f"{OWN}identified "  # begins the name of a column as it was before it was replaced
_BY_CHANCE = 10  # pseudonyms that may equal the very value they stand for, and 1 of so many values more:
_OF_VALUES = 100_000


class Pseudonym(NamedTuple):
    """How one column is replaced."""

    form: Form
    domain: str


class Shift(NamedTuple):
    """How dates are shifted."""

    columns: tuple[str, ...]
    subject: str
    domain: str
    days: int
    keep_weekday: bool


@dataclass(frozen=True)
class Replacing:
    """A work that replaces identifiers and shifts dates of some records, and keeps what stood there as `KEPT`."""

    pseudonyms: Mapping[str, Pseudonym]
    shift: Shift | None
    key: Key = field(repr=False)
    person: str | None = None  # the column by which people are counted
    forms: Forms = field(default_factory=Forms)  # in which a file writes dates

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that will show something else."""
        return (*self.pseudonyms, *(self.shift.columns if self.shift is not None else ()))

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that go along as they were."""
        return tuple(dict.fromkeys((*self.columns, *([self.shift.subject] if self.shift is not None else []))))

    def __call__(self, batch: Batch) -> pl.DataFrame:
        """The records with these columns replaced."""
        frame = batch.frame
        if self.person is not None and self.person in self.pseudonyms:
            _refuse_spellings(frame[self.person])
        shown = [self._pseudonyms(frame[name], *chosen) for name, chosen in self.pseudonyms.items()]
        if (shift := self.shift) is not None:
            by = shifts_of(frame[shift.subject], self.key, shift.domain, shift.days, keep_weekday=shift.keep_weekday)
            shown += [shifted(frame[name], by) for name in shift.columns]
        spelled = [
            self._written(column).alias(f"{SPELLED}{column.name}")
            for column in shown
            if f"{SPELLED}{column.name}" in frame.columns
        ]
        kept = [frame[name].alias(f"{KEPT}{name}") for name in self.kept]
        return frame.with_columns(*shown, *spelled, *kept)

    def _written(self, column: pl.Series) -> pl.Series:
        if column.name not in self.pseudonyms and (form := self.forms.columns.get(column.name)) is not None:
            return rewritten(column, form)
        return column if column.dtype == pl.String else plain_text(column)

    def _pseudonyms(self, column: pl.Series, form: Form, domain: str) -> pl.Series:
        return pseudonyms_of(column, form, self.key, domain)

    def schema(self, types: pl.Schema) -> pl.Schema:
        """Of what a table of these types becomes."""
        replaced = {name: pl.Int64() if form.numbers else pl.String() for name, (form, _) in self.pseudonyms.items()}
        return pl.Schema({**types, **replaced, **{f"{KEPT}{name}": types[name] for name in self.kept}})


def replacing(policy: Policy, columns: Sequence[str]) -> Replacing | None:
    """What the policy has replaced in a table of these columns; None: nothing."""
    if not policy.pseudonyms and policy.shift is None:
        return None
    policy.roles(columns)  # refused where a column is not there, or has another role
    chosen = {name: Pseudonym(each.made_by(), each.domain) for name, each in policy.pseudonyms.items()}
    return Replacing(chosen, _shift(policy, columns), policy.secret_keys.current, policy.person)


def _refuse_spellings(column: pl.Series) -> None:
    """Spellings tell no people apart, and would give one of them two pseudonyms."""
    text, plain = texts_of(column), identity_text(column)
    if (text == "").any():
        raise InputError(f"Column {column.name!r} says whose a record is and holds an empty text: fill it in.")
    if (bad := text.is_not_null() & text.ne_missing(plain)).any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"Column {column.name!r} says whose a record is, and {column[row]!r} is counted as {plain[row]!r}: with a "
            "pseudonym of its own it would be somebody else. Write everybody in one way."
        )


def _shift(policy: Policy, columns: Sequence[str]) -> Shift | None:
    choice = policy.shift
    if choice is None:
        return None
    subject = policy.shifted_by()
    for name in (subject, *choice.columns):
        if name not in columns:
            raise InputError(f"The table has no column {name!r}, named in the shift of dates: correct the name.")
    known = policy.pseudonyms.get(subject)
    domain = choice.domain or (known.domain if known is not None else "person")
    return Shift(choice.columns, subject, domain, choice.days, choice.keep_weekday)


class Replaced(NamedTuple):
    """A table whose identifiers are pseudonyms, and the columns as they were, under their own names."""

    table: pl.DataFrame
    before: pl.DataFrame


def replaced(table: pl.DataFrame, policy: Policy) -> Replaced:
    """The table as the policy has it replaced, in memory."""
    work = replacing(policy, table.columns)
    if work is None:
        return Replaced(table, pl.DataFrame())
    both = work(Batch(table, 0))
    before = both.select(pl.col(f"{KEPT}{name}").alias(name) for name in work.kept)
    return Replaced(both.select(table.columns), before)


def replaced_in_chunks(table: Table, policy: Policy, forms: Forms | None = None) -> Table:
    """The table as the policy has it replaced, on its engine, with what goes along; dates leave in their `forms`."""
    work = replacing(policy, [name for name in table.schema if not name.startswith(SPELLED)])
    if work is None:
        return table
    for name, (form, domain) in work.pseudonyms.items():
        texts_of(pl.Series(name, dtype=table.schema[name]))  # refused by its type before anything is read
        if isinstance(form, Number):
            listed = table.select([name]).fold(_Digests(name, domain, work.key), operator.or_) or set()
            if len(listed) > LISTED:
                raise InputError(
                    f"Column {name!r} has more than {LISTED:,} values, too many to be numbered on the engine "
                    f"{table.engine!r}: choose the form 'code'."
                )
            ranked = replace(form, order=tuple(sorted(listed)))
            work = replace(work, pseudonyms={**work.pseudonyms, name: Pseudonym(ranked, domain)})
    work = work if forms is None else replace(work, forms=forms)
    return table.map(work, work.schema(table.schema))


@dataclass(frozen=True)
class _Digests:
    name: str
    domain: str
    key: Key = field(repr=False)

    def __call__(self, batch: Batch) -> set[bytes]:
        values = texts_of(batch.frame[self.name]).drop_nulls().unique()
        return set(digests(values.to_list(), self.key, self.domain))


def notes_of(policy: Policy) -> tuple[str, ...]:
    """What the custodian should know of pseudonyms and shifted dates."""
    notes = []
    if policy.identified_by:
        keys = policy.secret_keys
        new = f" It is new: keep a copy of {keys.where}, for nobody else." if keys.fresh else ""
        notes.append(f"The secret key of pseudonyms is {keys.current.id}, version {keys.current.version}.{new}")
    for name, choice in policy.pseudonyms.items():
        form = choice.made_by()
        undone = "whoever has the key can undo them" if form.reversible else f"to undo them, {form.undone}"
        notes.append(
            f"Column {name!r} shows pseudonyms of the form {form.name!r} (domain {choice.domain!r}): the release is "
            f"pseudonymous, personal data still; records of one {choice.domain} can be put together; {undone}."
        )
    if policy.shift is not None:
        weeks = ", by whole weeks" if policy.shift.keep_weekday else ""
        notes.append(
            f"The dates {', '.join(map(repr, policy.shift.columns))} are shifted by up to {policy.shift.days:,} days "
            f"for each value of {policy.shifted_by()!r}{weeks}: intervals, order and seasons stay, and one known date "
            "of a person gives all others."
        )
    return tuple(notes)


def puts_together(policy: Policy, columns: Collection[str]) -> tuple[str, ...]:
    """The released columns by which anybody can put rows together, where that is not promised to be safe."""
    promised = policy.person if any(model.name == Linked.name for model in policy.models) else None
    named = dict.fromkeys((*policy.pseudonyms, *([policy.person] if policy.person is not None else [])))
    afresh = (promised, IN_CLASS)  # the latter numbers people in each class by itself
    return tuple(name for name in named if name in columns and name not in afresh)


def pseudonyms_by_key(policy: Policy) -> tuple[ShownPseudonyms, ...]:
    """The columns whose pseudonyms are the same in every release of their domain and key, for the ledger."""
    stable = {name: choice for name, choice in policy.pseudonyms.items() if choice.made_by().stable}
    if not stable:
        return ()
    key = policy.secret_keys.current.id
    return tuple(ShownPseudonyms(name, choice.domain, choice.form, key) for name, choice in stable.items())


# ---- judged


def judge_replaced(paired: Table, policy: Policy, masked: Sequence[str], records: int) -> None:
    """Refuses what was released unless pseudonyms and shifted dates are what they should be, beside the original.

    `paired` shows the released columns and, under `KEPT` and their names, what stands in the original. Dates that are
    `masked` are not looked at: what they still tell is what the promises are about.
    """
    for name, choice in policy.pseudonyms.items():
        _judge_pseudonyms(paired.map(_Texts(name), _TEXTS), name, choice.made_by(), records)
    if policy.shift is not None:
        columns = [name for name in policy.shift.columns if name not in masked]
        whole_weeks = policy.shift.keep_weekday
        most = policy.shift.days + (6 if whole_weeks else 0)
        _judge_shift(paired, policy.shifted_by(), columns, most, records, whole_weeks=whole_weeks)


_TEXTS = pl.Schema({"value": pl.String(), "shown": pl.String()})
_ONE = pl.Schema({"value": pl.String()})


@dataclass(frozen=True)
class _Texts:
    """Value and pseudonym of each record, as texts."""

    name: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        value, shown = batch.frame[f"{KEPT}{self.name}"], batch.frame[self.name].cast(pl.String)
        return pl.DataFrame({"value": texts_of(value), "shown": shown})


def _judge_pseudonyms(pairs: Table, name: str, form: Form, records: int) -> None:
    if pairs.fold(_Misfit(form), operator.or_):
        raise PromiseError(
            f"Column {name!r} does not show pseudonyms of the form {form.name!r} throughout: a value is missing, or "
            "was not replaced. Nothing was released."
        )
    present = pairs.map(_Present(), _TEXTS)
    values, shown = (present.map(_Only(side), _ONE) for side in _TEXTS)
    counts = [class_sizes(table, table.schema.names(), records).number for table in (values, shown, present)]
    if counts[1] < counts[2] == counts[0]:
        refuse_clash(name, form)
    if len(set(counts)) > 1:
        raise PromiseError(
            f"The pseudonyms of {name!r} are not one for each value: {counts[0]:,} values have {counts[1]:,}. Nothing "
            "was released."
        )
    if form.looks_alike:
        same = class_sizes(present.map(_Same(), _TEXTS), _TEXTS.names(), records).number
        left = same > _BY_CHANCE + counts[0] // _OF_VALUES
    else:
        left = class_sizes(values.union(shown), ["value"], 2 * records).number < counts[0] + counts[1]
    if left:
        raise PromiseError(f"Column {name!r} still shows values of the original. Nothing was released.")


@dataclass(frozen=True)
class _Misfit:
    """Whether some pseudonym is missing without its value, or looks otherwise than its form."""

    form: Form

    def __call__(self, batch: Batch) -> bool:
        pairs = batch.frame.unique()
        if (pairs["value"].is_null() != pairs["shown"].is_null()).any():
            return True
        return not all(self.form.fits(value, shown) for value, shown in pairs.drop_nulls().iter_rows())


class _Present:
    """The records that have a value."""

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return batch.frame.drop_nulls()


@dataclass(frozen=True)
class _Only:
    """One side of the pairs."""

    side: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return batch.frame.select(pl.col(self.side).alias("value"))


class _Same:
    """The records whose pseudonym is their value."""

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return batch.frame.filter(pl.col("value") == pl.col("shown"))


_MOVED = pl.Schema({"subject": pl.String(), "days": pl.Int64()})


def _judge_shift(
    paired: Table, subject: str, columns: Sequence[str], most: int, records: int, *, whole_weeks: bool
) -> None:
    moved: Table | None = None
    for name in columns:
        work = _Moved(subject, name)
        if paired.fold(_Unmoved(work, most, whole_weeks), operator.or_):
            raise PromiseError(f"The dates {name!r} are not all shifted as they should be. Nothing was released.")
        column = paired.map(work, _MOVED).map(_Present(), _MOVED)
        moved = column if moved is None else moved.union(column)
    if moved is None:
        return
    both = class_sizes(moved, _MOVED.names(), len(columns) * records).number
    if both != class_sizes(moved.select(["subject"]), ["subject"], len(columns) * records).number:
        raise PromiseError("The dates of a person are not all shifted alike. Nothing was released.")


@dataclass(frozen=True)
class _Moved:
    """By how many days each record's date was moved; missing where there is no date."""

    subject: str
    name: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        frame = batch.frame
        before, after = (frame[name].cast(pl.Datetime("us")) for name in (f"{KEPT}{self.name}", self.name))
        by = (after - before).dt.total_days()
        return pl.DataFrame({"subject": texts_of(frame[f"{KEPT}{self.subject}"]), "days": by}, schema=_MOVED)


@dataclass(frozen=True)
class _Unmoved:
    """Whether some date stands as it was, was moved by part of a day or too far, or is missing without reason."""

    work: _Moved
    most: int
    whole_weeks: bool

    def __call__(self, batch: Batch) -> bool:
        frame, name = batch.frame, self.work.name
        before, after = frame[f"{KEPT}{name}"], frame[name]
        moved = self.work(batch)
        if (after.is_null() != (before.is_null() | moved["subject"].is_null())).any():
            return True
        days = moved["days"].drop_nulls()
        exact = (after.cast(pl.Datetime("us")) - before.cast(pl.Datetime("us"))).dt.total_microseconds().drop_nulls()
        parts = (exact % 86_400_000_000 != 0).any()
        weeks = self.whole_weeks and (days % 7 != 0).any()
        return bool(parts or weeks or (days == 0).any() or (days.abs() > self.most).any())
