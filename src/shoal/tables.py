"""Several tables of the same people, released together: the key stays intact, and whole histories are alike.

The first table lists people, the others have rows of theirs, by a key. Everybody's rows in all tables are one wide
record (`shoal.masking.histories`); what leaves shows fresh numbers, the same in every table. All files are written and
judged, each by itself and all of them put together by the numbers they show, before the first gets its name.

Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal import events
from shoal.data.commit import Output, commit
from shoal.data.identity import identity_text
from shoal.data.microdata import Microdata
from shoal.data.person import numbered
from shoal.draft import Draft, draft, prepare, renumbered
from shoal.errors import InputError, PromiseError
from shoal.masking.histories import Rows
from shoal.masking.method import Masked, Method
from shoal.masking.whole_histories import mask_together, refuse_other_methods, rows_of, whole_of
from shoal.policy import Policy
from shoal.privacy.check import judgement, refuse_broken, released_classes
from shoal.privacy.consistency import refuse_inconsistent
from shoal.privacy.linked import Linked
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Verdict
from shoal.release import Judgement, Release, as_file, judged
from shoal.report.certificate import Checked
from shoal.show import Result, Sheet
from shoal.split_tables import Target, beside, paper_of, refuse_uncertified_tables

if TYPE_CHECKING:
    from shoal.data.dialects import Dialect
    from shoal.data.notation import Spelling

PEOPLE = ""  # stands for the table that lists people


def policies_of(policy: Policy) -> dict[str, Policy]:
    """The policy of each table by itself, the one of people first; refused where they cannot go together."""
    linked = whole_of(policy.models)
    if policy.person is None or linked is None or linked.together != "person":
        raise InputError(
            f"Tables of the same people ({', '.join(policy.tables)}) keep their key, by which all rows of a person can "
            "be put together: name it (person = COLUMN) and promise linked (--promise linked:k=5)."
        )
    for choice, stated in (
        ("show", policy.show),
        ("groups", policy.groups),
        ("pseudonyms", policy.pseudonyms),
        ("shift", policy.shift),
    ):
        if stated:
            raise InputError(f"{choice!r} is about one table, and the policy names several: leave it out.")
    alone = policy.changed(tables={}, consistent={})
    each = {PEOPLE: _models_for(alone)}
    for name, table in policy.tables.items():
        own = alone.changed(
            identifiers=table.identifiers, quasi_identifiers=table.quasi_identifiers,
            confidential=table.confidential, insensitive=table.insensitive, rest=table.rest,
            attributes=table.attributes, person=table.key or policy.person, weights=None,
            models=[linked.in_time(table.time) if model is linked else model for model in policy.models],
        )  # fmt: skip
        each[name] = _models_for(own)
    return each


def _models_for(policy: Policy) -> Policy:
    """Without models about confidential columns that the table does not have."""

    def fits(model: PrivacyModel) -> bool:
        if "confidential" not in model.needs:
            return True
        return bool(policy.confidential) if model.attribute is None else model.attribute in policy.confidential

    return policy.changed(models=[model for model in policy.models if fits(model)])


class Given(Method):
    """What was masked already, together with other tables."""

    masked: Masked = field(repr=False)

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """That."""
        return self.masked


@dataclass(frozen=True)
class TablesDraft:
    """Masked tables of the same people that nobody has judged yet."""

    tables: Mapping[str, Draft] = field(repr=False)
    policy: Policy

    def in_dialects(self, dialects: Mapping[str, tuple[Dialect | None, tuple[str, ...]]]) -> TablesDraft:
        """The tables to be written in text files that are laid out so, each with what is to be said of that."""
        tables = {
            name: replace(made, dialect=dialects[name][0], notes=(*made.notes, *dialects[name][1]))
            for name, made in self.tables.items()
        }
        return replace(self, tables=tables)

    def judged(self) -> TablesRelease:
        """The release, if every promise holds of every table and of all together."""
        releases = {name: judged(made) for name, made in self.tables.items()}
        classes = {name: released_classes(made.table, made.schema) for name, made in self.tables.items()}
        return TablesRelease(releases, judge_together(classes, self.policy, policies_of(self.policy)))

    def write(
        self,
        path: str | Path,
        *,
        keep_order: bool = False,
        certificate: str | Path | None = None,
        report: str | Path | None = None,
        seed: int | None = None,
        disarm: bool = False,
        overwrite: bool = False,
    ) -> TablesRelease:
        """Writes `release.csv` and, of a table `visits`, `release.visits.csv`: all of them, or none."""
        files = files_of(path, self.policy).items()
        targets = {name: Target(file, paper_of(certificate, name)) for name, file in files}
        refuse_uncertified_tables(targets, overwrite=overwrite)
        outputs: list[Output[Path, Judgement]] = []
        verdicts: list[Verdict] = []
        classes: dict[str, EquivalenceClasses] = {}
        policies = policies_of(self.policy)

        def judge(written: Path, name: str, output: Output[Path, Judgement]) -> Judgement:
            judgement = output.judge(written)
            classes[name] = judgement.classes
            if len(classes) == len(self.tables):
                verdicts.append(judge_together(classes, self.policy, policies))
            return judgement

        for number, (name, made) in enumerate(self.tables.items()):
            output = as_file(
                made, targets[name].path, keep_order=keep_order, certificate=targets[name].certificate,
                report=report if not number else None,
                seed=None if seed is None else seed + number, ledger=None, disarm=disarm, overwrite=overwrite,
            )  # fmt: skip
            outputs.append(replace(output, judge=partial(judge, name=name, output=output)))
        releases = [judgement.release for judgement in commit(outputs, overwrite=overwrite)]
        return TablesRelease(dict(zip(self.tables, releases, strict=True)), verdicts[0])


@dataclass(frozen=True)
class TablesRelease(Result):
    """Judged tables of the same people, and how many of these show the same in all of them."""

    tables: Mapping[str, Release] = field(repr=False)  # the one of people first, named ""
    verdict: Verdict

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Of all tables together, then of each."""
        return (self.verdict, *_of_each({name: release.verdicts for name, release in self.tables.items()}))

    def to_dict(self) -> dict[str, Any]:
        """For the custodian."""
        each = {name or "people": release.to_dict() for name, release in self.tables.items()}
        return {"tables": each, "together": self.verdict.to_dict(), "notes": list(self.remarks())}

    def remarks(self) -> tuple[str, ...]:
        """The notes of all tables."""
        return tuple(dict.fromkeys(note for release in self.tables.values() for note in release.notes))

    def sheets(self, title: str = "Released") -> list[Sheet]:
        """As tables: what was released of each, and how it was judged."""
        rows = [
            (name or "people", f"{r.records:,}", f"{r.suppressed:,}", f"{len(r.sizes):,}", f"{r.information_loss:.4f}")
            for name, r in self.tables.items()
        ]
        header = ("table", "records", "withheld", "classes", "information loss")
        return [Sheet(title, header, rows, numbers=4), judgement(self.verdicts)]


def _of_each(verdicts: Mapping[str, Sequence[Verdict]]) -> list[Verdict]:
    """The verdicts of single tables, each saying of which; what holds of all together is not said again."""
    return [
        replace(each, attribute=each.attribute or (name or "people"))
        for name, several in verdicts.items()
        for each in several
        if each.model != Linked.name
    ]


def anonymize_tables(frames: Mapping[str, pl.DataFrame], policy: Policy, *, seed: int | None = None) -> TablesRelease:
    """Masks tables of the same people together, the one of people named "", if every promise holds of all of them."""
    return tables_draft(frames, policy, seed=seed).judged()


@events.apart
def tables_draft(
    frames: Mapping[str, pl.DataFrame],
    policy: Policy,
    *,
    seed: int | None = None,
    spellings: Mapping[str, Spelling | None] | None = None,
) -> TablesDraft:
    """Masks the tables. Nothing has been judged yet."""
    policies = policies_of(policy)
    if missing := [name for name in policies if name not in frames]:
        raise InputError(f"The policy names the table {missing[0]!r}, which is not given: give it as well.")
    tables = {name: prepare(frames[name], policies[name])[0] for name in policies}
    owners = _owners({name: tables[name].frame[_key(policies[name])] for name in policies})
    if policy.consistent:
        owned = {name: policies[name].owned(frames[name]) for name in policies}
        refuse_inconsistent(policy.rules, owned, released=False)
    models: list[PrivacyModel] = []
    rows: list[Rows] = []
    for name, microdata in tables.items():
        promised = policies[name].promises(microdata.schema)
        linked = whole_of(promised)
        assert linked is not None
        models += [model for model in promised if model not in models and model.together == ""]
        rows.append(replace(rows_of(microdata, linked), owner=owners[name], table=name))
    together = whole_of(policies[PEOPLE].promises(tables[PEOPLE].schema))
    assert together is not None
    refuse_other_methods(policy.method, together)
    events.stage("masking")
    masked = mask_together(
        rows, policy.method, [together, *models], suppression=policy.suppression, seed=seed
    )  # fmt: skip
    drafts = [
        draft(frames[name], policies[name], seed=seed, spelling=(spellings or {}).get(name), method=Given(each))
        for name, each in zip(policies, masked, strict=True)
    ]
    fresh = renumbered(drafts, [_key(own) for own in policies.values()], seed)
    return TablesDraft(dict(zip(policies, fresh, strict=True)), policy)


def _key(policy: Policy) -> str:
    assert policy.person is not None
    return policy.person


def _owners(keys: Mapping[str, pl.Series]) -> dict[str, Any]:
    """Row -> whose it is, by the same numbers in all tables; a row of nobody who is listed is refused with its line."""
    texts = {name: identity_text(key).alias("") for name, key in keys.items()}
    listed = texts[PEOPLE].unique()
    for name, text in texts.items():
        if not (known := text.is_in(listed.implode())).all():
            record = int((~known).arg_max() or 0)
            raise InputError(
                f"The table {name!r} has a row of {text[record]!r} in {keys[name].name!r} (record {record + 1:,}, line "
                f"{record + 2:,} of a text file), whom the table of people does not list, as {int((~known).sum()):,} "
                "of its rows: add the person, or leave these rows out."
            )
    numbers = numbered(pl.concat(list(texts.values())))
    places = np.cumsum([len(text) for text in texts.values()])[:-1]
    return dict(zip(texts, np.split(numbers, places), strict=True))


# ---- judging all of them together


def files_of(path: str | Path, policy: Policy) -> dict[str, Path]:
    """Where each table is written, or stands: `r.csv`, and `r.visits.csv` of a table `visits`."""
    targets = {PEOPLE: Path(path), **{name: beside(path, name) for name in policy.tables}}
    if len(set(targets.values())) < len(targets):
        raise InputError("Two tables would be written to one file: rename one of them in the policy.")
    return targets


def judge_together(
    classes: Mapping[str, EquivalenceClasses], policy: Policy, policies: Mapping[str, Policy]
) -> Verdict:
    """How many people show the same in all tables, by the numbers that these show; refused where too few do."""
    linked = whole_of(policy.models)
    assert linked is not None
    shown = {name: each.frame.lazy().collect() for name, each in classes.items()}
    for name, frame in shown.items():
        if _key(policies[name]) not in frame.columns:
            raise InputError(f"The table {name or 'of people'!r} does not show {_key(policies[name])!r}, its key.")
    try:
        owners = _owners({name: frame[_key(policies[name])] for name, frame in shown.items()})
    except InputError as error:
        raise PromiseError(f"A key has lost its person. {error}") from None
    verdict = linked.judged([(each.key.to_numpy(), owners[name]) for name, each in classes.items()])
    refuse_broken((verdict,))
    if policy.consistent:
        owned = {name: policies[name].owned(frame) for name, frame in shown.items()}
        refuse_inconsistent(policy.rules, owned, released=True)
    return verdict


def check_tables(tables: Mapping[str, tuple[pl.DataFrame, pl.DataFrame | None]], policy: Policy) -> Checked:
    """Judges released tables, each with what stands in its file, by themselves and all together."""
    from shoal.check import check_table

    policies = policies_of(policy)
    checked = {name: check_table(*tables[name], policies[name]) for name in policies}
    classes = {
        name: released_classes(table, policies[name].schema(table, released=True), written=written)
        for name, (table, written) in tables.items()
    }
    try:
        verdict = judge_together(classes, policy.changed(consistent={}), policies)
    except PromiseError as error:
        linked = whole_of(policy.models)
        assert linked is not None
        verdict = Verdict(linked.name, linked.asked, 0, holds=False, note=str(error))
    return Checked((verdict, *_of_each({name: each.verdicts for name, each in checked.items()})), checked[PEOPLE].shown)
