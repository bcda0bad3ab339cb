"""What an intruder could do and what an analyst still can: risk, attacks and utility of any frame under a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal import events
from shoal.data.forms import Forms
from shoal.data.frames import to_polars
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.engines.opening import engine_for, engine_of, open_table
from shoal.engines.paired import need_as_many
from shoal.engines.table import Table
from shoal.measure import About, Measured, Pair, evaluate
from shoal.policy import Policy
from shoal.risk.attack import Attacked, Scene, run_attacks
from shoal.risk.disclosure import named_in
from shoal.risk.measure import Risk, assess_risk
from shoal.utility.measure import Utility
from shoal.utility.pairing import read_both, why_unpaired
from shoal.utility.placed import Known, check_columns
from shoal.utility.tables import assess_utility, compare_tables


def risk(
    frame: Any,
    policy: Policy,
    *,
    when: Sequence[str] = (),
    engine: str | None = None,
    listen: events.Listener | None = None,
    stop: events.Stop | None = None,
) -> Risk:
    """What an intruder could do with an original or a released table.

    `when` are conditions on confidential attributes whose disclosure is measured, as `charge > 100000`. A Spark frame
    is measured by Spark, a folder from disk; both say in `left_out` what they did not measure as in memory. `listen`
    and `stop` are as in `shoal.anonymize`.
    """
    with events.heard(listen, stop):
        forms = Forms.under(policy.reading, policy.shown_attributes, released=True)
        table = open_table(frame, engine_of(frame, engine), masked=may_be_masked(policy, when), forms=forms)
        schema = released_schema(table, policy)
        return (assess_risk if table.whole is None else events.apart(assess_risk))(
            table, schema, when=when, groups=policy.groups
        )


def released_schema(table: Table, policy: Policy) -> Schema:
    """What the policy says of the columns of a table; of one that comes in chunks, by their types alone."""
    frame = pl.DataFrame(schema=table.schema) if table.whole is None else table.whole
    return policy.schema(frame, released=True)


def may_be_masked(policy: Policy, when: Sequence[str] = ()) -> list[str]:
    """Columns that are read as they stand, unless it is their values that are asked for."""
    asked = {*policy.confidential, *(name for condition in when for name in named_in(condition))}
    return [name for name in policy.quasi_identifiers if name not in asked]


def utility(
    original: Any,
    masked: Any,
    policy: Policy,
    *,
    paired: bool | None = None,
    engine: str | None = None,
    listen: events.Listener | None = None,
    stop: events.Stop | None = None,
) -> Utility:
    """What the masked table kept of the original one; `paired`: whether row i of both is the same person.

    On an engine records are compared with their originals only if `paired` says so, and where tables have an order.
    `listen` and `stop` are as in `shoal.anonymize`.
    """
    with events.heard(listen, stop):
        if (chosen := engine_for((original, masked), engine)) != "memory":
            forms = Forms.under(policy.reading, policy.attributes)
            before_table = known_of(open_table(original, chosen, forms=forms), policy)
            shown = Forms.under(forms.settled(policy.reading), policy.shown_attributes, released=True)
            after_table = open_table(masked, chosen, masked=policy.quasi_identifiers, forms=shown)
            return compare_tables(before_table, after_table, paired=bool(paired))
        before, _ = to_polars(original)
        after, _ = to_polars(masked)
        return assess_utility(before, after, policy.schema(before), paired=paired)


def known_of(original: Table, policy: Policy) -> Known:
    """What one pass over an original table tells of its quasi-identifiers."""
    from shoal.survey import survey

    check_columns(policy.quasi_identifiers, list(original.schema), list(original.schema))
    source = survey(original, policy.model_copy(update={"confidential": ()}))
    return Known(source.table, source.attributes.schema, source.attributes.whole, source.summary)


@events.apart
def measured(
    original: Any, masked: Any, policy: Policy, about: About, names: Sequence[str], *, paired: bool | None = None
) -> Measured:
    """Measures of risk or utility by their names (`all` for every one), or one's own by `module:function`."""
    before, _ = to_polars(original)
    after, _ = to_polars(masked)
    microdata, cells = read_both(before, after, policy.schema(before))
    unpaired = why_unpaired(microdata, cells, after.height, paired)
    return evaluate(Pair.of(microdata, cells), names, about, unpaired=unpaired)


def attack(
    original: Any,
    released: Any,
    policy: Policy,
    names: Sequence[str] = ("all",),
    *,
    paired: bool = False,
    seed: int = 0,
    listen: events.Listener | None = None,
    stop: events.Stop | None = None,
) -> Attacked:
    """Attacks by their names (`all` for every one): what somebody finds out who has the release and knows the method.

    The original scores her guesses; the two tables need not stand in the same order, unless she is to be scored by
    whose record she takes for whose: then row i of both must be the same person, and `paired` says so. `listen` and
    `stop` are as in `shoal.anonymize`.
    """
    with events.heard(listen, stop):
        return _attacked(original, released, policy, names, paired, seed)


@events.apart
def _attacked(original: Any, released: Any, policy: Policy, names: Sequence[str], paired: bool, seed: int) -> Attacked:
    before, _ = to_polars(original)
    after, _ = to_polars(released)
    schema = policy.schema(before)
    if paired:
        need_as_many(before.height, after.height)
    scene = Scene(
        Microdata(before, schema),
        after,
        policy.method,
        policy.promises(schema),
        policy.suppression,
        seed,
        np.arange(after.height) if paired else None,
    )
    return run_attacks(scene, names)
