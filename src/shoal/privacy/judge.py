"""What the models say of a finished table of any engine: the independent check, by nothing but what is shown.

Models that ask for class sizes alone, or for the people who fit each class, are given those. Where a model asks for
what stands in the classes, these are spread over chunks by what they show, none divided, and each chunk is judged by
the model's own verdict: a table keeps a model where every chunk does, and reaches what the worst of them reaches.

What only the original knows, beside which a release can be judged where both are in the same order, is compared in
chunks drawn at random: who is found among all released records is found among those of a chunk too, where there are
fewer to be taken for, so that the mean of the chunks, by records, is no more optimistic than the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.data.forms import Form, in_plain
from shoal.data.microdata import Microdata, Whole
from shoal.data.person import refuse_whole_by_class, shown_person
from shoal.data.schema import Attribute, Kind, Schema
from shoal.engines.paired import ORIGINAL, AtRandom, side_by_side
from shoal.engines.table import COUNTED, Batch, Table, selected
from shoal.engines.whole import LISTED, summarise
from shoal.errors import InputError
from shoal.privacy.check import released_classes
from shoal.privacy.classes import ByClass, Sizes, all_of, class_sizes, classes_to_fit, without_nan
from shoal.privacy.histories import WholeHistories
from shoal.privacy.histories_in_chunks import fewest_alike
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Source, Verdict, in_order
from shoal.privacy.people_in_chunks import people_having, refuse_gaps_in
from shoal.privacy.weighed import judged_by_weights, need_shown_weights


@dataclass(frozen=True)
class Judged:
    """The verdicts on a table, in the order of the models, and how large its classes are.

    By each column that puts rows together, `histories` has the owners of the history that fewest show.
    """

    verdicts: tuple[Verdict, ...]
    sizes: Sizes
    histories: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Original:
    """The original of a release, record by record in the same order, on the same engine."""

    table: Table
    schema: Schema
    whole: Mapping[str, Whole]

    def values(self, names: Sequence[str]) -> Table:
        """The original values of these columns."""
        return self.table.select(names)

    def beside(self, released: Table, names: Sequence[str], records: int) -> Table:
        """The released records with their original values, each named `ORIGINAL` and the column."""
        return side_by_side(released, self.table.select(names), records)


@dataclass(frozen=True)
class WentAlong(Original):
    """Originals that went along with the records as they were masked: columns of the masked table, never released."""

    def values(self, names: Sequence[str]) -> Table:
        """Those of the records that were kept."""
        schema = pl.Schema({name: self.table.schema[f"{ORIGINAL}{name}"] for name in names})
        return self.table.map(_Own(tuple(names)), schema)

    def beside(self, released: Table, names: Sequence[str], records: int) -> Table:
        """The masked records, which `released` shows in another order: see `same_records`."""
        return self.table.select([*released.schema, *(f"{ORIGINAL}{name}" for name in names)])


@dataclass(frozen=True)
class _Own:
    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return batch.frame.select(pl.col(f"{ORIGINAL}{name}").alias(name) for name in self.names)


def judge_table(
    table: Table,
    schema: Schema,
    models: Sequence[PrivacyModel],
    records: int,
    original: Original | None = None,
    forms: Mapping[str, Form] | None = None,
    together: Sequence[str] = (),
) -> Judged:
    """What the models say of the table as it stands there; those of `records` that it does not show were suppressed.

    Classes are what shows the same text; where cells are compared with values, they are read by these `forms`. By the
    columns `together` anybody can put rows together.
    """
    forms = forms or {}
    quasi = tuple(schema.quasi_identifiers)
    sizes = class_sizes(selected(table, quasi), quasi, records, nan_is_missing=False)
    by_size = _counted(pl.DataFrame(schema=table.schema).select(quasi), schema, sizes, records - sizes.records)
    judged: dict[int, Verdict] = {}
    within: dict[int, PrivacyModel] = {}
    for number, model in enumerate(models):
        if model.beside_original:
            judged[number] = _beside_original(table, schema, model, sizes, original, forms)
        elif model.weights is not None:
            judged[number] = _by_weights(table, schema, model, model.weights, sizes, original)
        elif model.counted_in is not None:
            judged[number] = model.verdict(_listed(table, schema, sizes, forms))
        elif isinstance(model, WholeHistories):
            judged[number] = _of_histories(table, schema, model, sizes)
        elif model.by_size:
            judged[number] = model.verdict(by_size)
        else:
            within[number] = model
    judged |= dict(zip(within, _within(table, schema, list(within.values()), sizes, original), strict=True))
    histories = {name: fewest_alike(table, quasi, name, sizes.records) for name in together}
    return Judged(tuple(judged[number] for number in range(len(models))), sizes, histories)


def _of_histories(table: Table, schema: Schema, model: WholeHistories, sizes: Sizes) -> Verdict:
    """By the numbers that the table shows; what a row without one belongs to must be said."""
    column, person = model.shown_in(table.schema, schema.person), schema.person
    one_each = model.together == "person" and person is not None and person.one_each
    refuse_gaps_in(table, column, one_each=one_each)
    return model.reached(fewest_alike(table, schema.quasi_identifiers, column, sizes.records))


def _by_weights(
    table: Table, schema: Schema, model: PrivacyModel, weights: str, sizes: Sizes, original: Original | None
) -> Verdict:
    """By the original's weights, or those that the table shows where nothing else is given."""
    quasi, records = tuple(schema.quasi_identifiers), sizes.records
    if original is None:
        need_shown_weights(table.schema, model)
        return judged_by_weights(selected(table, [*quasi, weights]), quasi, weights, model, records)
    both = original.beside(selected(table, quasi), [weights], records)
    return judged_by_weights(both, quasi, f"{ORIGINAL}{weights}", model, records)


def _counted(frame: pl.DataFrame, schema: Schema, sizes: Sizes, suppressed: int = 0) -> EquivalenceClasses:
    """Classes of which no more is known than what they show, in `frame`, and how large they are."""
    kinds = {attribute.name: attribute.kind for attribute in schema}
    each = np.repeat(sizes.size, sizes.classes)
    return EquivalenceClasses(
        frame, tuple(schema.quasi_identifiers), kinds, schema, counted=each, suppressed=suppressed
    )


def _listed(table: Table, schema: Schema, sizes: Sizes, forms: Mapping[str, Form]) -> EquivalenceClasses:
    listed = classes_to_fit(table, schema.quasi_identifiers, sizes.number)
    return _counted(in_plain(listed.drop(COUNTED), forms), schema, sizes)


# ---- within classes


@dataclass(frozen=True)
class _Judge:
    """The verdicts on a chunk's classes, one record a model."""

    schema: Schema
    models: tuple[PrivacyModel, ...]
    whole: Mapping[str, pl.DataFrame]
    original: Schema | None  # of columns that classes show alike, whose own values stand beside; and of the people

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        learnt = [without_nan(frame[name]) for name in self.whole if name not in self.schema.quasi_identifiers]
        source = None
        if self.original is not None:
            names = [column.removeprefix(ORIGINAL) for column in frame.columns if column.startswith(ORIGINAL)]
            own = frame.select(pl.col(f"{ORIGINAL}{name}").alias(name) for name in names)
            source = Source(Microdata(own, self.original), None)
        classes = released_classes(frame.with_columns(learnt), self.schema, source, self.whole)
        return told_of([model.verdict(classes) for model in self.models], frame.height)


_TOLD = pl.Schema({"model": pl.Int64(), "achieved": pl.Float64(), "holds": pl.Boolean(), "records": pl.Int64()})


def told_of(verdicts: Sequence[Verdict], records: int) -> pl.DataFrame:
    """What a chunk tells of the models, one record each."""
    return pl.DataFrame(
        {
            "model": range(len(verdicts)),
            "achieved": [float(verdict.achieved) for verdict in verdicts],
            "holds": [verdict.holds for verdict in verdicts],
            "records": records,
        },
        schema=_TOLD,
    )


def _within(
    table: Table, schema: Schema, models: Sequence[PrivacyModel], sizes: Sizes, original: Original | None
) -> list[Verdict]:
    if not models:
        return []
    quasi = tuple(schema.quasi_identifiers)
    learnt = list(dict.fromkeys(model.attribute for model in models if model.attribute))
    alike = [name for name in learnt if name in quasi]  # of these only the original knows how they differ in a class
    released = [name for name in learnt if name not in quasi]
    person = schema.person
    shown_by = None if person is None else shown_person(table.schema, person)
    hidden = [person.column] if person is not None and shown_by is None else []  # whose records are, in the original
    only = selected(table, (*quasi, *released, *([] if shown_by is None else [shown_by])))
    originals, values = None, None
    if alike or hidden:
        what = f"Every class shows {alike[0]!r} alike: how its values differ" if alike else "How many people there are"
        known = _need(original, f"{what} within a class")
        originals = Schema(tuple(known.schema[name] for name in alike), person)
        values = known.values([*alike, *hidden])
        only = known.beside(only, [*alike, *hidden], sizes.records)
    if person is not None and any(model.closeness is not None for model in models):
        refuse_whole_by_class(shown_by)
        whole = {name: people_having(only, name, person, shown_by or f"{ORIGINAL}{person.column}") for name in released}
        whole |= {name: people_having(values, name, person) for name in alike if values is not None}
        whole = {name: _ordered(counts, schema[name]) for name, counts in whole.items()}
    else:
        whole = _distributions(table, schema, released)
        whole |= _distributions(values, schema, alike) if values is not None and alike else {}
    chunks = table.chunks(sizes.records)
    work = _Judge(schema, tuple(models), whole, originals)
    verdicts = all_of(only.exchange(ByClass(quasi, chunks), chunks).map(work, _TOLD))
    return [_worst(model, verdicts.filter(pl.col("model") == number)) for number, model in enumerate(models)]


def _worst(model: PrivacyModel, verdicts: pl.DataFrame) -> Verdict:
    achieved = verdicts["achieved"].to_numpy()
    worst = float(achieved.max(initial=0.0) if model.less_is_safer else achieved.min(initial=np.inf))
    return Verdict(model.name, model.asked, worst, bool(verdicts["holds"].all()), model.attribute)


def _distributions(table: Table, schema: Schema, names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """What the whole table holds of each of these."""
    distributions = {}
    for name, marginal in (summarise(table, names).marginals if names else {}).items():
        if marginal.counts is None:
            raise InputError(f"Column {name!r} has more than {LISTED:,} values: too many to judge within classes.")
        counts = marginal.counts.rename({"value": "@value", "records": "@records"})
        if marginal.missing:
            counts = counts.extend(
                pl.DataFrame({"@value": [None], "@records": [marginal.missing]}, schema=counts.schema)
            )
        distributions[name] = _ordered(counts, schema[name])
    return distributions


def _ordered(counts: pl.DataFrame, attribute: Attribute) -> pl.DataFrame:
    """The values in their declared order, where there is one."""
    if attribute.kind not in (Kind.ORDINAL, Kind.NOMINAL):
        return counts
    return counts.with_columns(in_order(counts["@value"].alias(attribute.name), attribute).alias("@value"))


# ---- beside the original


def _need(original: Original | None, what: str) -> Original:
    if original is None:
        raise InputError(
            f"{what} can only be judged beside the original: give both in the same order and say so (--original FILE "
            "--paired). A release is shuffled unless it was made with --write keep-order."
        )
    return original


@dataclass(frozen=True)
class _Measure:
    """The verdict on a random chunk of a release beside its original."""

    schema: Schema
    model: PrivacyModel
    original: Schema
    whole: Mapping[str, Whole]
    forms: Mapping[str, Form]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        quasi = self.schema.quasi_identifiers
        own = frame.select(pl.col(f"{ORIGINAL}{name}").alias(name) for name in quasi)
        known = Schema(tuple(attribute for attribute in self.original if attribute.name in quasi))
        source, written = Source(Microdata(own, known, self.whole), None), frame.select(quasi)
        classes = released_classes(in_plain(written, self.forms), self.schema, source, written=written)
        return told_of([self.model.verdict(classes)], frame.height)


def _beside_original(
    table: Table, schema: Schema, model: PrivacyModel, sizes: Sizes, original: Original | None,
    forms: Mapping[str, Form],
) -> Verdict:  # fmt: skip
    """The mean of random chunks, by records."""
    known = _need(original, "A measured risk")
    model.refuse_in_chunks(table.engine)
    quasi = schema.quasi_identifiers
    both = side_by_side(table.select(quasi), known.table.select(quasi), sizes.records)
    chunks = table.chunks(sizes.records)
    work = _Measure(schema, model, known.schema, known.whole, forms)
    verdicts = all_of(both.exchange(AtRandom(chunks), chunks).map(work, _TOLD))
    achieved = float(np.average(verdicts["achieved"].to_numpy(), weights=verdicts["records"].to_numpy()))
    note = (
        f"The measured risk is the mean of {verdicts.height:,} random chunks of the release, each beside its original: "
        "no more optimistic than the risk of all records together."
    )
    return Verdict(model.name, model.asked, achieved, achieved <= model.asked, note=note if verdicts.height > 1 else "")
