"""The independent check of a large table: records that show the same are brought together, and judged as ever.

How large classes are is counted by sums (`shoal.privacy.classes`). Where a model asks for more, the classes are spread
over parts by what they show, none divided, and each part is judged by the models' own verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.data.schema import Kind, Role, Schema
from shoal.engines.table import Table, selected
from shoal.engines.whole import LISTED, summarise
from shoal.errors import InputError, PromiseError
from shoal.parted.capabilities import refuse_to_judge
from shoal.policy import Policy
from shoal.privacy import KAnonymity
from shoal.privacy.check import released_classes
from shoal.privacy.classes import ByClass, Sizes, all_of, class_sizes, records_of, without_nan
from shoal.privacy.model import PrivacyModel, Verdict, in_order
from shoal.report.certificate import Checked, Shown


@dataclass(frozen=True)
class Judged:
    verdicts: tuple[Verdict, ...]
    sizes: Sizes


def judge(table: Table, schema: Schema, promises: Sequence[PrivacyModel], records: int) -> Judged:
    """What the models say of the table as it stands there; `records`: no fewer than it has."""
    quasi = schema.quasi_identifiers
    sizes = class_sizes(selected(table, quasi), quasi, records, nan_is_missing=False)
    within = [model for model in promises if not isinstance(model, KAnonymity)]
    found = dict(zip(within, _judge_within(table, schema, within, sizes.records), strict=True)) if within else {}
    verdicts = (found[model] if model in found else _by_size(model, sizes) for model in promises)
    return Judged(tuple(verdicts), sizes)


def _by_size(model: PrivacyModel, sizes: Sizes) -> Verdict:
    holds = sizes.smallest >= model.asked or not len(sizes.size)
    return Verdict(model.name, model.asked, sizes.smallest, holds)


def check(table: Table, policy: Policy) -> Checked:
    """Judges a table, released by whomever, against a policy's models."""
    if not policy.models:
        raise InputError("Nothing is promised: name a model, such as k-anonymity (--k 5).")
    refuse_to_judge(policy, table.engine)
    empty = pl.DataFrame(schema=table.schema)
    schema = policy.schema(empty, released=True)
    if not schema.quasi_identifiers:
        raise InputError("No quasi-identifier is named: name the columns an intruder may know (--quasi a,b).")
    for name in schema.with_role(Role.IDENTIFIER):
        raise PromiseError(
            f"The table shows {name!r}, which the policy names as an identifier: it must not be released."
        )
    judged = judge(table, schema, policy.promises(schema), records_of(table))
    return Checked(judged.verdicts, shown_by(table, schema, judged.sizes))


def shown_by(table: Table, schema: Schema, sizes: Sizes) -> Shown:
    """What a certificate tells of a table; of ordered categories it lists those that are shown."""
    empty = pl.DataFrame(schema=table.schema)
    listed = [name for name in schema.confidential if schema[name].kind in (Kind.NOMINAL, Kind.ORDINAL)]
    found = {name: table.counts([name])[name] for name in listed}
    columns = {name: found.get(name, empty[name]) for name in empty.columns}
    return Shown(sizes.records, columns, int(sizes.classes.sum()), sizes.smallest)


# ---- what is judged within classes


@dataclass(frozen=True)
class _Judge:
    """The verdicts on a part's classes, one record a model."""

    schema: Schema
    models: tuple[PrivacyModel, ...]
    whole: Mapping[str, pl.DataFrame]

    def __call__(self, frame: pl.DataFrame, part: int) -> pl.DataFrame:
        learnt = [without_nan(frame[name]) for name in self.whole if name not in self.schema.quasi_identifiers]
        classes = released_classes(frame.with_columns(learnt), self.schema, whole=self.whole)
        found = [model.verdict(classes) for model in self.models]
        return pl.DataFrame(
            {
                "model": range(len(found)),
                "achieved": [float(v.achieved) for v in found],
                "holds": [v.holds for v in found],
            },
            schema=_Judge.shown,
        )

    shown = pl.Schema({"model": pl.Int64(), "achieved": pl.Float64(), "holds": pl.Boolean()})


def _judge_within(table: Table, schema: Schema, models: Sequence[PrivacyModel], records: int) -> list[Verdict]:
    """A table keeps a model where every part does; it reaches what the worst of them reaches."""
    quasi = tuple(schema.quasi_identifiers)
    asked = list(dict.fromkeys(model.attribute for model in models if model.attribute))
    whole = _distributions(table, schema, asked)
    only = selected(table, (*quasi, *asked))
    parts = table.chunks(records)
    told = only.exchange(ByClass(quasi, parts), parts).map(_Judge(schema, tuple(models), whole), _Judge.shown)
    found = all_of(told)
    verdicts = []
    for number, model in enumerate(models):
        of = found.filter(pl.col("model") == number)
        worst = of["achieved"].max() if getattr(model, "less_is_safer", False) else of["achieved"].min()
        verdicts.append(Verdict(model.name, model.asked, float(worst), bool(of["holds"].all()), model.attribute))  # type: ignore[arg-type]
    return verdicts


def _distributions(table: Table, schema: Schema, names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """What the whole table releases of each of these."""
    found = {}
    for name, marginal in summarise(table, names).marginals.items():
        if marginal.counts is None:
            raise InputError(f"Column {name!r} has more than {LISTED:,} values: too many to judge within classes.")
        counts = marginal.counts.rename({"value": "@value", "records": "@records"})
        if marginal.missing:
            counts = counts.extend(
                pl.DataFrame({"@value": [None], "@records": [marginal.missing]}, schema=counts.schema)
            )
        found[name] = counts.with_columns(in_order(counts["@value"].alias(name), schema[name]).alias("@value"))
    return found
