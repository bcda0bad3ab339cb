"""Judging a table that was released by whomever: does it keep what a policy promises?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal import events
from shoal.data.schema import Role, Schema, need_quasi
from shoal.draft import prepare
from shoal.engines.memory import MemoryTable, table_of
from shoal.engines.paired import records_alike
from shoal.engines.table import Table, records_of
from shoal.errors import InputError, PromiseError
from shoal.masking.publishing.confidential import shown_alike
from shoal.policy import Policy
from shoal.privacy.check import judge, released_classes
from shoal.privacy.judge import Judged, Original, judge_table
from shoal.privacy.model import Source, Verdict
from shoal.pseudonymize import puts_together

if TYPE_CHECKING:
    from shoal.data.forms import Form
    from shoal.report.certificate import Checked


def check(
    frame: Any,
    policy: Policy,
    *,
    original: Any = None,
    paired: bool = False,
    engine: str | None = None,
    listen: events.Listener | None = None,
    stop: events.Stop | None = None,
) -> tuple[Verdict, ...]:
    """Judges a table, released by whomever, against a policy's models; a measured risk needs the original beside it.

    Of a frame its rows are judged. Of a file or folder, by name, all that `shoal check --policy` looks at: what stands
    there of each value, columns that the policy would not release, and whatever is in it besides the rows. `paired`
    says that row i of release and original is the same person: a release is shuffled unless told otherwise. `listen`
    and `stop` are as in `shoal.anonymize`.
    """
    with events.heard(listen, stop):
        return _check(frame, policy, original, paired, engine)


def _check(frame: Any, policy: Policy, original: Any, paired: bool, engine: str | None) -> tuple[Verdict, ...]:
    from shoal.data.forms import Forms
    from shoal.data.frames import to_polars
    from shoal.data.reading import Reading
    from shoal.data.released import read_released, reading_of
    from shoal.engines.opening import engine_of, open_table
    from shoal.report.inspection import inspect_released

    if paired and original is None:
        raise InputError("Which rows belong together is asked beside the original: give it as well (original=).")
    chosen = engine_of(frame, engine)
    written, forms = None, Forms.under(Reading.of(policy.reading.of_values()), policy.shown_attributes, released=True)
    if chosen != "memory":
        table = open_table(frame, chosen, as_written=policy.quasi_identifiers, forms=forms)
        own = Forms.under(policy.reading, policy.attributes)
        original = None if original is None else open_table(original, chosen, forms=own)
    elif isinstance(frame, str | Path):
        reading = reading_of(frame, policy.reading)
        forms = Forms.under(reading, policy.shown_attributes, released=True)
        released, written = read_released(frame, policy.quasi_identifiers, reading, forms)
        table = MemoryTable(released)
    else:
        table = MemoryTable(to_polars(frame, as_it_stands=policy.quasi_identifiers)[0])
    checked = check_table(table, written, policy, original=original, paired=paired, forms=forms.columns)
    if isinstance(frame, str | Path):
        inspect_released(frame)
        refuse_unnamed(list(checked.shown.columns), policy)
    return checked.verdicts


def refuse_unnamed(columns: Sequence[str], policy: Policy) -> None:
    """Refuses a file that shows a column which the policy would not release."""
    roles = policy.roles(columns, released=True)
    if unnamed := ", ".join(repr(name) for name in columns if name not in roles):
        raise PromiseError(f"The file shows {unnamed}, which the policy names no role for and would not release.")


def check_table(
    table: pl.DataFrame | Table,
    written: pl.DataFrame | None,
    policy: Policy,
    *,
    original: Any = None,
    paired: bool = False,
    forms: Mapping[str, Form] | None = None,
) -> Checked:
    """Judges a table of any engine, beside its `original` (a table of the same engine, or a frame) where that is given.

    Of a file in memory, `written` is what stands there of the quasi-identifiers; of one on an engine, `forms` say how
    these are written.
    """
    from shoal.report.certificate import Checked
    from shoal.report.shown import Shown

    if not policy.models:
        raise InputError("Nothing is promised: name a model, such as k-anonymity (--k 5).")
    table = table_of(table)
    frame = table.whole
    known = policy.schema(pl.DataFrame(schema=table.schema) if frame is None else frame, released=True)
    schema = shown_alike(known, policy.show)
    need_quasi(schema.quasi_identifiers)
    for name in schema.with_role(Role.IDENTIFIER):
        raise PromiseError(
            f"The table shows {name!r}, which the policy names as an identifier: it must not be released."
        )
    if frame is None:
        judged = _in_chunks(table, schema, policy, original, forms or {}, paired=paired)
        return Checked(judged.verdicts, Shown.of_chunks(table, schema, judged))
    classes = released_classes(frame, schema, _beside(frame, policy, original, paired=paired), written=written)
    return Checked(
        judge(classes, policy.promises(schema)),
        Shown.of_classes(frame, classes, puts_together(policy, frame.columns)),
    )


def _beside(frame: pl.DataFrame, policy: Policy, original: Any, *, paired: bool) -> Source | None:
    """The original in memory."""
    from shoal.data.frames import to_polars

    if original is None:
        return None
    source = Source(prepare(to_polars(original)[0], policy)[0], None, paired)
    if paired and len(source.original) != frame.height:
        counts = f"the original has {len(source.original):,} records, the release {frame.height:,}"
        raise InputError(f"The tables cannot be paired: {counts}.")
    return source


def _in_chunks(
    table: Table, schema: Schema, policy: Policy, original: Table | None, forms: Mapping[str, Form], *, paired: bool
) -> Judged:
    """Judged chunk by chunk; beside an original only if both are in the same order."""
    from shoal.survey import survey

    promises, together = policy.promises(schema), puts_together(policy, list(table.schema))
    if original is None:
        return judge_table(table, schema, promises, records_of(table), forms=forms, together=together)
    if not paired:
        raise InputError(
            f"The engine {table.engine!r} compares a release with its original record by record: give both in the same "
            "order and say so (--paired), or leave the original out. A release is shuffled unless it was made with "
            "--write keep-order."
        )
    records = records_alike(table, original)
    known = survey(original, policy)
    paired_original = Original(known.table, known.attributes.schema, known.attributes.whole)
    return judge_table(table, schema, promises, records, paired_original, forms, together)
