"""Judging a table that was released by whomever: does it keep what a policy promises?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.data.schema import Role
from shoal.draft import prepare
from shoal.errors import InputError, PromiseError
from shoal.masking.publishing.confidential import shown_alike
from shoal.policy import Policy
from shoal.privacy.check import judge, released_classes
from shoal.privacy.model import Source, Verdict
from shoal.show import Sheet

if TYPE_CHECKING:
    from shoal.report.certificate import Checked

_COUNTED = ("records", "suppressed", "classes", "smallest_class")


def check(
    frame: Any, policy: Policy, *, original: Any = None, paired: bool = False, engine: str | None = None
) -> tuple[Verdict, ...]:
    """Judges a table, released by whomever, against a policy's models; a measured risk needs the original beside it.

    Of a frame its rows are judged. Of a file or folder, by name, all that `shoal check --policy` looks at: what stands
    there of each value, columns that the policy would not release, and whatever is in it besides the rows. `paired`
    says that row i of release and original is the same person: a release is shuffled unless told otherwise.
    """
    from shoal.data.frames import to_polars
    from shoal.data.released import read_released
    from shoal.engines.opening import engine_of, open_table
    from shoal.report.inspection import inspect_released

    if (chosen := engine_of(frame, engine)) != "memory":
        from shoal.parted.check import check as check_parts

        if original is not None or paired:
            raise InputError(f"The engine {chosen!r} judges a release by itself: leave the original out.")
        found = check_parts(open_table(frame, chosen, as_written=policy.quasi_identifiers), policy)
        if isinstance(frame, str | Path):
            inspect_released(frame)
            refuse_unnamed(list(found.shown.columns), policy)
        return found.verdicts
    if isinstance(frame, str | Path):
        released = read_released(frame, policy.quasi_identifiers)
        found = check_table(*released, policy, original=original, paired=paired)
        inspect_released(frame)
        refuse_unnamed(released.table.columns, policy)
        return found.verdicts
    table, _ = to_polars(frame, as_it_stands=policy.quasi_identifiers)
    return check_table(table, None, policy, original=original, paired=paired).verdicts


def refuse_unnamed(columns: Sequence[str], policy: Policy) -> None:
    """Refuses a file that shows a column which the policy would not release."""
    roles = policy.roles(columns, released=True)
    if unnamed := ", ".join(repr(name) for name in columns if name not in roles):
        raise PromiseError(f"The file shows {unnamed}, which the policy names no role for and would not release.")


def check_table(
    table: pl.DataFrame,
    written: pl.DataFrame | None,
    policy: Policy,
    *,
    original: Any = None,
    paired: bool = False,
) -> Checked:
    """Judges a table in memory; of a file, `written` is what stands there of the quasi-identifiers."""
    from shoal.data.frames import to_polars
    from shoal.report.certificate import Checked, Shown

    if not policy.models:
        raise InputError("Nothing is promised: name a model, such as k-anonymity (--k 5).")
    schema = shown_alike(policy.schema(table, released=True), policy.show)
    if not schema.quasi_identifiers:
        raise InputError("No quasi-identifier is named: name the columns an intruder may know (--quasi a,b).")
    for name in schema.with_role(Role.IDENTIFIER):
        raise PromiseError(
            f"The table shows {name!r}, which the policy names as an identifier: it must not be released."
        )
    source = None if original is None else Source(prepare(to_polars(original)[0], policy)[0], None, paired)
    if paired and source is not None and len(source.original) != table.height:
        counts = f"the original has {len(source.original):,} records, the release {table.height:,}"
        raise InputError(f"The tables cannot be paired: {counts}.")
    classes = released_classes(table, schema, source, written=written)
    return Checked(judge(classes, policy.promises(schema)), Shown.of(table, classes.sizes))


def released_sheets(
    title: str, facts: Mapping[str, Any], more: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]
) -> list[Sheet]:
    """What was released, by any engine, and how it was judged; `facts` is the release for machines."""
    counts = [(name.replace("_", " "), f"{facts[name]:,}") for name in _COUNTED]
    rows = [*counts, ("information loss", f"{facts['information_loss']:.4f}"), *more]
    return [Sheet(title, ("", "value"), rows), judgement(verdicts)]


def judgement(verdicts: Sequence[Verdict]) -> Sheet:
    """Promise by promise, as a table."""
    rows = [
        (
            verdict.model + (f" of {verdict.attribute}" if verdict.attribute else ""),
            f"{verdict.asked:g}",
            f"{verdict.achieved:.4g}",
            "holds" if verdict.holds else "does not hold",
        )
        for verdict in verdicts
    ]
    return Sheet("Judged on what is shown", ("promise", "asked", "reached", ""), rows, numbers=2)
