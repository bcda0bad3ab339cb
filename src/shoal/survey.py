"""What is known of a table of any size before any work: roles and kinds by the policy, statistics by one pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from shoal.data.forms import Forms
from shoal.data.frames import check_names
from shoal.data.identity import identity_text
from shoal.data.microdata import Microdata
from shoal.data.schema import Role, Schema, need_quasi, refuse_missing
from shoal.data.weights import need_weights
from shoal.draft import notes_before
from shoal.engines.spelled import Spelled, spelling_of
from shoal.engines.table import Table, selected
from shoal.engines.text import SPELLED
from shoal.engines.whole import LISTED, Summary, summarise
from shoal.errors import InputError
from shoal.masking.chunks import Attributes, WholeTable
from shoal.masking.method import class_size, with_cells
from shoal.masking.publishing.confidential import grouped_by, shown_alike
from shoal.policy import Policy
from shoal.privacy.histories import in_order_of
from shoal.privacy.model import PrivacyModel
from shoal.privacy.people_in_chunks import refuse_gaps_in, refuse_homeless_in, with_people
from shoal.privacy.weighed import weights_in
from shoal.pseudonymize import KEPT


@dataclass(frozen=True)
class Survey:
    """A table of any engine, the policy of its release, and what one pass over all records told."""

    table: Table  # the columns that will be shown
    policy: Policy
    attributes: Attributes
    summary: Summary = field(repr=False)
    notes: tuple[str, ...]
    spelled: Spelled = field(default_factory=Spelled)

    @cached_property
    def schema(self) -> Schema:
        """The attributes as the release is judged by them: what classes show alike identifies too."""
        return shown_alike(self.attributes.schema, self.policy.show)

    @property
    def records(self) -> int:
        """How many records the table has."""
        return self.summary.records

    @property
    def stated(self) -> Policy:
        """The policy as a certificate states it: of values that leave in plain form nothing says how they are read."""
        as_written = self.spelled.copied or self.spelled.notations
        return self.policy if as_written else self.policy.changed(reading={})

    @cached_property
    def promises(self) -> tuple[PrivacyModel, ...]:
        """The models promised, each knowing whether the cells shown are fixed; more than k records are needed."""
        schema = self.attributes.schema
        promises = self.policy.promises(schema)
        return with_cells(promises, self.policy.method, schema, class_size(range(self.records), promises))

    @cached_property
    def k(self) -> int:
        """The least class that may be released; whoever asks for more than there are records is refused."""
        return class_size(range(self.records), self.promises)

    @cached_property
    def whole(self) -> WholeTable:
        """What a method may ask for; classes are made without what they show alike."""
        grouped = Attributes(grouped_by(self.attributes.schema, self.policy.show), self.attributes.whole)
        return WholeTable(self.table, grouped, self.summary, self.promises, self.k, self.policy.suppression)

    @property
    def released(self) -> Attributes:
        """The attributes as the release is judged by them, with what the whole table says of each."""
        return Attributes(self.schema, self.attributes.whole)

    @property
    def sample(self) -> Microdata:
        """Some records, drawn evenly."""
        return self.released.microdata(self.summary.sample)


def survey(table: Table, policy: Policy, *, subject: str | None = None, forms: Forms | None = None) -> Survey:
    """One pass over the table; refused where it cannot be worked on.

    The `subject` of a ledger goes along unseen, and what was replaced by pseudonyms. In which `forms` its file writes
    dates and amounts it is released where it is spelled.
    """
    names = [name for name in table.schema if not name.startswith((SPELLED, KEPT))]
    check_names(names, "The table")
    roles = policy.roles(names)
    need_quasi([name for name, named in roles.items() if Role.QUASI_IDENTIFIER in named])
    ordered = [name for name in names if name in roles and Role.IDENTIFIER not in roles[name]]
    asked = [name for name in ordered if roles[name] & {Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL}]
    whole_table, table = table, selected(table, ordered)
    summary = summarise(table, asked)
    confidential = (name for name in asked if Role.CONFIDENTIAL in roles[name])
    refuse_missing(name for name in confidential if summary.marginals[name].missing == summary.records)
    empty = pl.DataFrame(schema=table.schema)
    values = {name: summary.marginals[name].values(name) for name in asked}
    seen = {name: summary.sample[name] for name in asked if name not in policy.attributes}  # to judge its kind by
    unlisted = {name: seen.get(name, empty[name]) for name in ordered}
    columns = {name: unlisted[name] if (known := values.get(name)) is None else known for name in ordered}
    for name in asked:
        if values[name] is None and policy.builds(name):
            raise InputError(
                f"Column {name!r} has more than {LISTED:,} values, too many for a hierarchy to be built of: give one, "
                "round its values, or use a grouped method."
            )
    unseen_columns = {name: pl.Series(name, dtype=pl.Null) for name in names if name not in columns}
    counts = {name: records for name in asked if (records := summary.marginals[name].numbers()) is not None}
    schema = policy.schema({**unseen_columns, **columns}, counts=counts)
    schema = schema.only(attribute for attribute in schema if attribute.name in columns)
    for weights in (*weights_in(policy.models), *([policy.weights] if policy.weights is not None else [])):
        need_weights(whole_table.schema, weights)
    whole = marginals = {name: summary.marginals[name].whole(schema[name]) for name in asked}
    notes = notes_before(policy, schema, names, roles, table.schema, lambda name: marginals[name].counts)
    notes = (*(() if forms is None else forms.notes), *notes)
    spelled = spelling_of(whole_table, shown_alike(schema, policy.show), forms or Forms())
    unseen = [name for name in whole_table.schema if name.startswith(KEPT)]
    whose = (subject, policy.person, policy.household_column, *in_order_of(policy.models), *weights_in(policy.models))
    unseen += [name for name in dict.fromkeys(whose) if name is not None and name not in ordered]
    for owner in (policy.person, policy.household_column):
        if owner is not None:
            identity_text(pl.Series(owner, dtype=whole_table.schema[owner]))  # refused by its type, before it is read
    if policy.household_column is not None:
        refuse_homeless_in(whole_table, policy.household_column)
    if policy.person is not None:
        refuse_gaps_in(whole_table, policy.person, one_each=policy.missing_person == "one-each")
        whole = with_people(whole, selected(whole_table, [policy.person, *schema.confidential]), schema, policy.models)
    table = selected(whole_table, [*ordered, *(f"{SPELLED}{name}" for name in spelled.copied), *unseen])
    return Survey(table, policy, Attributes(schema, whole), summary, notes, spelled)
