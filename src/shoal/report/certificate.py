"""The public certificate: what was promised, what holds, and of which file. Nothing that the release does not show.

Every number in it can be counted again from the released file, and `Certificate.verify` does so. What its labels stand
for (`shoal.report.labels`) is the custodian's word: of that the file shows only how many values there are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isclose
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

import shoal
from shoal.choices import EVERY
from shoal.data.dialects import PLAIN, Dialect
from shoal.data.digests import digest
from shoal.data.files import same_file
from shoal.data.microdata import declared_order
from shoal.data.outputs import CERTIFICATE
from shoal.data.paths import is_sql, refuse_pipe
from shoal.data.people import BY_CUSTODIAN, BY_FILE, what_counts
from shoal.data.person import shown_person
from shoal.data.schema import Attribute, Kind, Person, Role, Schema
from shoal.engines.memory import MemoryTable
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.policy import Policy
from shoal.policy_files import refuse_own_code
from shoal.privacy.check import judgement, released_classes
from shoal.privacy.households import Households
from shoal.privacy.model import PrivacyModel, Verdict
from shoal.pseudonymize import puts_together
from shoal.report.certificate_content import PSEUDONYMOUS, Content
from shoal.report.labels import Labels
from shoal.report.shown import Shown
from shoal.show import Result, Sheet

_LARGEST = 1 << 26  # bytes of a certificate
_JUDGED = ("asked", "achieved", "holds")


@dataclass(frozen=True)
class Checked(Result):
    """A table that somebody released, each promise judged, and what it shows."""

    verdicts: tuple[Verdict, ...]
    shown: Shown

    @property
    def holds(self) -> bool:
        """Whether every promise holds."""
        return all(verdict.holds for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """How many records it has, and each verdict."""
        models = [verdict.to_dict() for verdict in self.verdicts]
        return {"records": self.shown.records, "holds": self.holds, "models": models}

    def sheets(self) -> list[Sheet]:
        """Promise by promise: what was asked, what was reached."""
        return [judgement(self.verdicts)]

    def remarks(self) -> list[str]:
        """Where a verdict means less than it seems to."""
        return [verdict.note for verdict in self.verdicts if verdict.note]


def certify(
    shown: Shown, schema: Schema, promises: Sequence[PrivacyModel], verdicts: Sequence[Verdict], policy: Policy,
    dialect: Dialect = PLAIN, labels: Labels | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What can be said of a released table in public; of a text file that is not laid out plainly, its `dialect`.

    `labels` are those that name only some of their values.
    """
    person = None if schema.person is None else shown_person(shown.columns, schema.person)
    counts = what_counts(shown.columns, schema.person, policy.household_column)
    return {
        "made_by": f"shoal {shoal.__version__}",
        "records": shown.records,
        "counts": counts,
        **_people(person, schema.person),
        "columns": list(shown.columns),
        "quasi_identifiers": schema.quasi_identifiers,
        "confidential": schema.confidential,
        "insensitive": schema.with_role(Role.INSENSITIVE),
        **_pseudonymous(policy),
        **_put_together(shown, policy),
        "attributes": {name: _described(shown.columns[name], schema[name]) for name in schema.confidential},
        **({"labels": labels} if labels else {}),
        **policy.text.stated(shown.columns),
        **({"read": stated} if (stated := _read_as(policy.reading.of_values(shown.columns), dialect)) else {}),
        "classes": shown.classes,
        "smallest_class": shown.smallest_class,
        "models": [
            _stated(
                promise, verdict, by_original=counts == BY_CUSTODIAN or verdict.attribute in schema.quasi_identifiers
            )
            for promise, verdict in zip(promises, verdicts, strict=True)
        ],
    }


def _people(shown: str | None, person: Person | None) -> dict[str, Any]:
    """The column that tells people apart and, where it may be empty, that such records are of a person each."""
    if shown is None or person is None:
        return {}
    gaps = {"missing_person": "one-each"} if person.one_each and shown == person.column else {}
    return {"person": shown, **gaps}


def _read_as(values: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """How the file is read, where it does not show it: its values, and its layout."""
    layout = dialect.stated()
    if "decimal" in layout and "decimal" in values:
        layout["decimal"] = {EVERY: layout["decimal"], **values["decimal"]}
    return {**values, **layout}


def _pseudonymous(policy: Policy) -> dict[str, Any]:
    """Which columns show pseudonyms, which dates were shifted, and what that does not promise; never a key."""
    pseudonyms = {name: choice.stated() for name, choice in policy.pseudonyms.items()}
    shifted = {} if policy.shift is None else {"shifted_dates": list(policy.shift.columns)}
    return ({"pseudonyms": pseudonyms, "pseudonymous": PSEUDONYMOUS} if pseudonyms else {}) | shifted


def _put_together(shown: Shown, policy: Policy) -> dict[str, Any]:
    """By which columns anybody can put rows together, and how many show the history that fewest do, asked or not."""
    names = puts_together(policy, shown.columns)
    return {"linked": {name: shown.histories[name] for name in names}} if names else {}


def _described(column: pl.Series, attribute: Attribute) -> dict[str, Any]:
    """What distances depend on: the kind and, of a declared order, the part that the release shows."""
    order = declared_order(column, attribute) if attribute.kind in (Kind.ORDINAL, Kind.NOMINAL) else None
    if order is None:
        return {"kind": attribute.kind.value}
    shown = set(column.cast(pl.String))
    return {"kind": attribute.kind.value, "domain": [value for value in order.cast(pl.String) if value in shown]}


def _stated(promise: PrivacyModel, verdict: Verdict, *, by_original: bool) -> dict[str, Any]:
    """A model as a policy names it, what it means in words, and how it was judged.

    A figure found beside the original is nobody else's.
    """
    model: Any = promise
    names = [field.name for field in fields(model)] if is_dataclass(model) else []
    # A population is the custodian's, and so is how a promise was brought about: the release does not show it.
    kept_back = ("population", *promise.kept_back)
    named = {name: getattr(model, name) for name in names if name not in kept_back}
    parameters = {name: value for name, value in named.items() if value is not None}
    judged = {name: getattr(verdict, name) for name in _JUDGED}
    if promise.name == "measured-risk" or promise.weights or by_original:  # the release does not show the original
        del judged["achieved"]
    return {"name": promise.name} | parameters | judged | {"means": promise.in_words}


@dataclass(frozen=True)
class Certificate:
    """A certificate read from its file: what it states, and the policy that it promises."""

    path: Path
    content: dict[str, Any]
    policy: Policy  # what was promised

    def verify(self, table: pl.DataFrame, verdicts: Sequence[Verdict], written: pl.DataFrame | None = None) -> None:
        """Refuses what the table, or what is `written` of its quasi-identifiers, does not show or was not judged."""
        classes = released_classes(table, self.policy.schema(table, released=True), written=written)
        self.verify_shown(Shown.of_classes(table, classes, puts_together(self.policy, table.columns)), verdicts)
        self.verify_labels(MemoryTable(table))

    def verify_labels(self, table: Table) -> None:
        """Refuses a label for which values are listed and that the table does not show."""
        for name, labels in self.content.get("labels", {}).items():
            shown = set(table.counts([name])[name].cast(pl.String))
            if absent := [label for label in labels if label not in shown]:
                raise self._false(f"a label of {name!r}", repr(absent[0]), "no such cell")

    def verify_shown(self, released: Shown, verdicts: Sequence[Verdict]) -> None:
        """Refuses where the certificate states something else than the file shows or was judged to be."""
        schema = self.policy.schema(released.columns, released=True)
        shown = certify(released, schema, self.policy.promises(schema), verdicts, self.policy)
        for name in ("records", "columns", "classes", "smallest_class", "attributes"):
            if self.content[name] != shown[name]:
                raise self._false(name, self.content[name], shown[name])
        self._verify_histories(self.content.get("linked", {}), shown.get("linked", {}))
        if len(self.content["models"]) != len(verdicts):  # each is stated for each column that it is about
            raise _no_certificate(self.path)
        for stated, verdict, judged in zip(self.content["models"], verdicts, shown["models"], strict=True):
            if stated.get("means", judged["means"]) != judged["means"]:
                raise self._false(f"the meaning of {verdict.model}", stated["means"], judged["means"])
            for name in ("asked", "holds"):
                if stated.get(name) != getattr(verdict, name):
                    raise self._false(f"the {verdict.model} {name}", stated.get(name), getattr(verdict, name))
            if "achieved" in stated and not isclose(stated["achieved"], verdict.achieved, rel_tol=1e-9, abs_tol=1e-12):
                raise self._false(f"the {verdict.model} achieved", stated["achieved"], verdict.achieved)

    def _verify_histories(self, stated: Mapping[str, int], shown: Mapping[str, int]) -> None:
        for name in {*stated, *shown}:
            if stated.get(name) != shown.get(name):
                raise self._false(f"linked by {name!r}", stated.get(name), shown.get(name))

    def _false(self, name: str, stated: object, shown: object) -> PromiseError:
        return PromiseError(
            f"The certificate {str(self.path)!r} states {name} as {stated}, but the file shows {shown}: "
            "do not publish the one with the other, make both anew."
        )


def read_certificate(
    path: str | Path, source: str | Path, population: str | Path | None = None, person: str | None = None
) -> Certificate:
    """The certificate of that very file; of any other file nothing in it is looked at but the digest.

    A k-map that was counted in a population is counted in the reader's own; people whom the file does not tell apart,
    by the column `person` of the original.
    """
    content = stated_of(path, source)
    who = _who(content, path, person)
    if population is not None and not any(_needs_population(model) for model in content["models"]):
        raise InputError(f"The certificate {str(path)!r} promises no k-map in a population: leave out --population.")
    try:
        refuse_own_code(content, f"The certificate {str(path)!r}")
        policy = Policy(
            quasi_identifiers=content["quasi_identifiers"],
            confidential=content["confidential"],
            insensitive=[name for name in content["insensitive"] if name not in (who, *_homes(content))],
            person=who,
            missing_person=content.get("missing_person", "refuse"),
            pseudonyms=content.get("pseudonyms", {}),
            attributes=content["attributes"],
            reading=content.get("read", {}),
            models=[_promised(model, population) for model in content["models"]],
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        raise _no_certificate(path) from None
    _refuse_unprotected(policy, content["columns"], path)
    return Certificate(Path(path), content, policy)


def stated_of(path: str | Path, source: str | Path) -> dict[str, Any]:
    """What a certificate states, if it is of that very file or folder and states what certificates do, as they do."""
    content = _content(path)
    try:
        sha256 = digest(source)
    except OSError as error:
        raise InputError(f"{str(source)!r} cannot be read ({error.strerror}): a certificate is of a file.") from None
    if sha256 != content["sha256"]:
        raise PromiseError(f"{str(source)!r} is not the file that {str(path)!r} certifies: its digest differs.")
    try:
        stated = Content.model_validate(content)
    except (ValidationError, RecursionError):
        raise _no_certificate(path) from None
    if (stated.counts == BY_FILE) != (stated.person is not None):
        raise _no_certificate(path)
    if set(stated.attributes) != set(stated.confidential) or not set(stated.labels) <= set(stated.quasi_identifiers):
        raise _no_certificate(path)
    return content


def refuse_uncertified(
    release: str | Path,
    certificates: Sequence[str | Path | None],
    *,
    overwrite: bool,
    asked_by: Callable[[Path], Path | None] = lambda path: path,
) -> None:
    """Refuses to replace a release whose certificate lies beside it and is not replaced together with it.

    `asked_by` tells which name to give for a certificate to be written there; None: there is no such name.
    """
    if not overwrite or is_sql(release) or not os.path.exists(release):
        return
    if os.path.isdir(release) and CERTIFICATE not in os.listdir(release):  # it will be refused for what it is
        return
    named = [path for path in certificates if path is not None]
    others = [path for path in Path(os.path.realpath(release)).parent.glob("*.json") if _may_certify(path)]
    others = [path for path in others if not any(same_file(path, output) for output in named)]
    try:
        sha256 = digest(release) if others else ""
    except OSError as error:
        raise InputError(f"{str(release)!r} cannot be read ({error.strerror}), so it is not replaced.") from None
    for path in sorted(others):
        if sha256 in path.read_text(encoding="utf-8", errors="replace") and _content(path)["sha256"] == sha256:
            asked = asked_by(path)
            both = f"have both replaced (--certificate {asked}), or " if asked is not None else ""
            raise InputError(
                f"{str(path)!r} is the certificate of {str(release)!r} as it is now: {both}move it away first."
            )


def _may_certify(path: Path) -> bool:
    return path.is_file() and os.access(path, os.R_OK) and path.stat().st_size <= _LARGEST


def _refuse_unprotected(policy: Policy, columns: Sequence[str], path: str | Path) -> None:
    """What promises nothing cannot hold, and a column in no role is one that nobody protects."""
    if not policy.models:
        raise InputError(f"The certificate {str(path)!r} names no model: nothing is promised, so nothing is judged.")
    shown = (policy.person, policy.household_column)
    named = (*policy.quasi_identifiers, *policy.confidential, *policy.insensitive, *policy.pseudonyms, *shown)
    if unnamed := ", ".join(repr(name) for name in columns if name not in named):
        raise PromiseError(
            f"The certificate {str(path)!r} names no role for {unnamed}, which the file shows: nobody protects this."
        )


def _content(path: str | Path) -> dict[str, Any]:
    """What stands in the file, none of it interpreted; it states a digest."""
    refuse_pipe(path)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The certificate {str(path)!r} cannot be read: {error.strerror}. Check its name.") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("sha256"), str):
        raise _no_certificate(path)
    return content


def _no_certificate(path: str | Path) -> InputError:
    return InputError(f"{str(path)!r} is not a certificate that Shoal wrote: give what --certificate made.")


def _who(content: Mapping[str, Any], path: str | Path, person: str | None) -> str | None:
    """The column that tells people apart: of the file, or of the original by the reader's word."""
    if content["counts"] != BY_CUSTODIAN and person is not None:
        raise InputError(f"Give --person or --certificate: {str(path)!r} says itself whether people were counted.")
    if content["counts"] == BY_CUSTODIAN and content.get("record_order") == "shuffled":
        raise InputError(
            f"{str(path)!r} says that people were counted by the custodian as the release was made, which was then "
            "shuffled: nobody can tell any more whose each record is. To have people counted again, release with "
            "--write person-in-class (by anybody) or --write keep-order (beside the original)."
        )
    if content["counts"] == BY_CUSTODIAN and person is None:
        raise InputError(
            f"{str(path)!r} says that people were counted by the custodian, beside the original: give that as well "
            "(--original FILE --paired --person COLUMN). The file alone does not show whose each record is."
        )
    return person if content["counts"] == BY_CUSTODIAN else content.get("person")


def _homes(content: Mapping[str, Any]) -> list[str]:
    """The columns that say who lives together, where households are promised."""
    return [model["column"] for model in content["models"] if model["name"] == Households.name]


def _needs_population(model: Mapping[str, Any]) -> bool:
    return model["name"] == "k-map" and "fraction" not in model


def _promised(model: dict[str, Any], population: str | Path | None) -> dict[str, Any]:
    """The model as a policy names it, counted in the reader's own population where one is needed."""
    promised = {name: value for name, value in model.items() if name not in (*_JUDGED, "means")}
    if _needs_population(model) and population is not None:
        promised["population"] = str(population)
    return promised
