"""A grouping that shows whole histories alike: of people where rows are linked, of households where they live together.

It takes the wide records of `shoal.masking.histories` to any method that groups records. Defined in
docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.microdata import Microdata
from shoal.data.person import numbered
from shoal.data.schema import Kind
from shoal.errors import InputError, did_you_mean
from shoal.masking.grouping.ordered import hilbert_order
from shoal.masking.histories import Rows, mask_histories
from shoal.masking.method import Masked, Method
from shoal.masking.shapes import Ints, common_shapes, whole_shapes
from shoal.privacy.histories import WholeHistories
from shoal.privacy.households import OF_MEMBERS
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.model import PrivacyModel

_HARDLY = 0.05  # of the owners of several rows: in fewer, a column that differs is thought a mistake


class Together(Method):
    """All rows of an owner as one record of another method that groups records."""

    method: Method

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Whole histories shown alike, of those whose number of rows is no rarity."""
        model = whole_of(models)
        assert model is not None
        refuse_other_methods(self.method, model)
        rows = rows_of(microdata, model)
        [masked] = mask_together([rows], self.method, models, suppression=suppression, seed=seed)
        return masked


def whole_of(models: Sequence[PrivacyModel]) -> WholeHistories | None:
    """The promise about whole histories, where there is one."""
    asked = [model for model in models if isinstance(model, WholeHistories)]
    if len(asked) > 1:
        raise InputError(
            f"{asked[0].name} and {asked[1].name} are two ways to put rows together, of which one release has one: "
            "promise one of them."
        )
    return asked[0] if asked else None


def held_together(method: Method, models: Sequence[PrivacyModel]) -> Method:
    """The method as the promises ask for it: of whole histories where one of them is about these."""
    return method if whole_of(models) is None else Together(method)


def refuse_whole(whole: PrivacyModel | None, what: str) -> None:
    """Refuses a promise about whole histories where a release is made otherwise."""
    if whole is not None:
        raise InputError(f"{whole.name} shows all rows of one {whole.together} alike, and this {what}: leave one out.")


def refuse_other_methods(method: Method, model: PrivacyModel) -> None:
    """Refuses what does not group records, or promises that wide records cannot be held to."""
    if method.shown_by is None:
        raise InputError(
            f"{model.name} puts all rows of one {model.together} side by side and groups these, which the method "
            f"{method.name!r} does not: choose one that groups records (hilbert, kd, mdav, ...)."
        )


def mask_together(
    tables: Sequence[Rows],
    method: Method,
    models: Sequence[PrivacyModel],
    *,
    suppression: float = 0.0,
    seed: int | None = None,
) -> list[Masked]:
    """Tables, whose owners have the same numbers in all, with whole histories shown alike; the first is of owners."""
    model = whole_of(models)
    assert model is not None
    owners = max(int(rows.owner.max(initial=-1)) for rows in tables) + 1
    counts = np.stack([rows.counts(owners) for rows in tables], axis=1)
    k = max(each.smallest_class for each in models)
    refuse_few(owners, k, model)
    if model.all_or_none:
        shown = whole_shapes(counts, k)
    else:
        shown = common_shapes(counts, k, least=np.arange(len(tables)) == 0)
    if not shown.any():
        raise InputError(f"No {k} {_PLURAL[model.together]} have as many rows as each other: nothing can be shown.")
    within = [KAnonymity(k), *(_within(each, model) for each in models if each.attribute is not None)]
    masked = mask_histories(tables, shown, method, within, suppression=suppression, seed=seed)
    notes, facts = _withheld(counts, shown, model, tables)
    return [
        Masked(each.columns, each.kept, notes if not number else (), facts if not number else {})
        for number, each in enumerate(masked)
    ]


_PLURAL = {"person": "people", "household": "households"}


def refuse_few(owners: int, k: int, model: PrivacyModel) -> None:
    """Refuses a k that not even all owners together reach."""
    if owners < k:
        raise InputError(
            f"k = {k} is larger than the table's {owners:,} {_PLURAL[model.together]}: ask for a smaller k or give "
            "more of them."
        )


def _within(each: PrivacyModel, model: PrivacyModel) -> PrivacyModel:
    if each.closeness is not None:
        raise InputError(
            f"{each.name} compares classes of rows with the whole table, and {model.name} shows whole histories: "
            "promise l-diversity instead, or leave one of them out."
        )
    return each


def _withheld(
    counts: Ints, shown: Ints, model: PrivacyModel, tables: Sequence[Rows]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What was left out so that histories are alike, in words and in numbers."""
    who = _PLURAL[model.together]
    gone = ~shown.any(axis=1) & counts.any(axis=1)
    left_out, surplus = int(counts[gone].sum()), int((counts - shown)[~gone].sum())
    facts: dict[str, Any] = {
        who: int((~gone).sum()),
        f"{who}_withheld": int(gone.sum()),
        "rows_withheld": left_out + surplus,
    }
    notes = []
    if surplus:
        some = int(((counts - shown)[~gone].sum(axis=1) > 0).sum())
        notes.append(
            f"Withheld: {surplus:,} of {int(counts.sum()):,} rows, the last ones of {some:,} people who have more than "
            "others: fewer than 25 have as many."
        )
    if gone.any():
        notes.append(
            f"Withheld: {int(gone.sum()):,} of {len(counts):,} {who} with all of their {left_out:,} rows: too few "
            f"have as many{'' if len(tables) == 1 else ' in each table'}."
        )
    return tuple(notes), facts


# ---- whose rows they are


def rows_of(microdata: Microdata, model: WholeHistories) -> Rows:
    """The rows of one table by their owners, each owner's in order."""
    if model.together == "household":
        assert model.column is not None
        home = numbered(microdata.frame[model.column])
        return Rows(microdata, home, _members(microdata, model), _household_level(microdata, home, model))
    people = microdata.people
    assert people is not None
    shared = tuple(name for name in microdata.schema.quasi_identifiers if not _differing(microdata, people, name).any())
    return Rows(microdata, people, _in_time(microdata, model.time), shared)


def _in_time(microdata: Microdata, time: str | None) -> Ints:
    """By the column that says so, or along a Hilbert curve, so that like rows of people stand side by side."""
    place = np.empty(len(microdata), np.int64)
    if time is None:
        place[hilbert_order(microdata.rows(), microdata.least())] = np.arange(len(microdata))
        return place
    column = _need(microdata.frame, time, "as time")
    place[column.arg_sort(nulls_last=True).to_numpy()] = np.arange(len(microdata))
    return place


def _members(microdata: Microdata, model: WholeHistories) -> Ints:
    """The members of all households in one order: each household's are in it as well."""
    quasi = [microdata[name] for name in microdata.schema.quasi_identifiers]
    numbers = [coded.name for coded in quasi if coded.attribute.kind is Kind.NUMERIC]
    default = (*(f"-{name}" for name in numbers), *(coded.name for coded in quasi if coded.name not in numbers))
    keys = []
    for name in model.order or default:
        column = _need(microdata.frame, name.removeprefix("-"), "as order")
        rank = _ranks(column)
        keys.append(-rank if name.startswith("-") else rank)
    place = np.empty(len(microdata), np.int64)
    place[np.lexsort(keys[::-1])] = np.arange(len(microdata))
    return place


def _ranks(column: pl.Series) -> Ints:
    """Rank of each value, those of ordered categories in their order; missing comes first."""
    return column.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()


def _need(frame: pl.DataFrame, name: str, named: str) -> pl.Series:
    if name not in frame.columns:
        raise InputError(f"The table has no column {name!r}, named {named}.{did_you_mean(name, frame.columns)}")
    return frame[name]


def _differing(microdata: Microdata, owner: Ints, name: str) -> Ints:
    """The owners whose rows differ in this attribute, by their numbers."""
    codes = microdata[name].codes
    first = np.full(int(owner.max(initial=-1)) + 1, -2, np.int64)
    first[owner] = codes
    return np.unique(owner[codes != first[owner]])


def _household_level(microdata: Microdata, home: Ints, model: WholeHistories) -> tuple[str, ...]:
    """The quasi-identifiers that are the household's; refused where one of them differs within a household."""
    quasi = microdata.schema.quasi_identifiers
    for name in model.shared:
        if name not in (*quasi, OF_MEMBERS):
            raise InputError(
                f"{name!r} is named as shared by a household, but is no quasi-identifier.{did_you_mean(name, quasi)}"
            )
    several = int((np.bincount(home) > 1).sum())
    shared = []
    for name in (name for name in quasi if not model.shared or name in model.shared):
        differing = _differing(microdata, home, name)
        if len(differing) and (model.shared or len(differing) < _HARDLY * several):
            raise InputError(_in_two(microdata, home, name, differing, several, model))
        if not len(differing):
            shared.append(name)
    return tuple(shared)


def _in_two(microdata: Microdata, home: Ints, name: str, differing: Ints, several: int, model: WholeHistories) -> str:
    row = int(np.flatnonzero(home == differing[0])[0])
    values = microdata.frame[name].filter(pl.Series(home == differing[0])).unique(maintain_order=True).to_list()
    which = microdata.frame[str(model.column)][row]
    more = f", and {len(differing) - 1:,} households more do" if len(differing) > 1 else ""
    otherwise = (
        f"or leave {name!r} out of shared"
        if model.shared
        else f"or name what is the household's (shared=COLUMN or {OF_MEMBERS})"
    )
    return (
        f"Household {which!r} shows both {values[0]!r} and {values[1]!r} in {name!r}{more}, which the members of "
        f"{several - len(differing):,} others share: correct it, {otherwise}."
    )
