"""A first look at a table: what each attribute is, how identifying it is, and which few together single people out.

Distinction (distinct values / records) and separation (share of record pairs told apart) are Motwani and Xu's
two measures of a quasi-identifier ("Efficient algorithms for masking and finding quasi-identifiers", 2007).
Missing is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import polars as pl

from shoal import events
from shoal.choices import quoted_item
from shoal.data.built_attributes import distinct_note, nearly_distinct
from shoal.data.kinds import read_kind
from shoal.data.people import HOUSEHOLDS, NOT_OF_PEOPLE, NUMBERS, Repeating
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.data.schema import Kind, Role
from shoal.errors import InputError
from shoal.profile.attribute import AttributeProfile as AttributeProfile
from shoal.profile.attribute import encode, placed, profile_attribute, whose
from shoal.profile.starting_policy import starting_policy
from shoal.profile.weighing import WEIGHTS, with_weights
from shoal.risk import identifying_sets
from shoal.risk.identifying_sets import IdentifyingSet
from shoal.show import Bars, Chart, Result, Series, Sheet


@dataclass(frozen=True)
class Profile(Result):
    """What `profile` found. `uniques` are the records that all quasi-identifiers together single out."""

    records: int
    attributes: tuple[AttributeProfile, ...]
    uniques: int
    identifying_sets: tuple[IdentifyingSet, ...]  # the best of each size
    searched: int  # attributes the sets were sought among: the quasi-identifiers
    leading_sets: tuple[IdentifyingSet, ...] = ()  # the best few of each small size
    people: int | None = None  # of whom all quasi-identifiers together single some record out
    reading: Reading = AS_IT_SEEMS  # how its file is read, for the policy
    assumed: tuple[str, ...] = ()  # of the file, in sentences

    @property
    def exact(self) -> bool:
        """Whether each identifying set is surely the best of its size, not just the best that was found."""
        return self.searched <= identifying_sets.EXHAUSTIVE_UP_TO and self.records <= identifying_sets.SEARCH_ROWS

    @property
    def search(self) -> str:
        """How the identifying sets were looked for."""
        every = self.searched <= identifying_sets.EXHAUSTIVE_UP_TO
        how = "Every set was tried" if every else "Sets were grown from the best few"
        where = (
            f" on {identifying_sets.SEARCH_ROWS:,} records drawn at random"
            if self.records > identifying_sets.SEARCH_ROWS
            else ""
        )
        return f"{how}{where}; the counts are of all records."

    def with_role(self, role: Role) -> tuple[AttributeProfile, ...]:
        """The attributes for which this role is suggested."""
        return tuple(a for a in self.attributes if a.role is role)

    def to_dict(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        shown = {**asdict(self), "reading": self.reading.chosen()}
        del shown["assumed"]  # the notes say it
        return {**shown, "exact": self.exact, "search": self.search, "notes": list(self.notes)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed of the file; identifiers that repeat; numbers that may be codes."""
        repeating = self._repeating()
        together = [_TOGETHER] if any(not identifier.households for identifier in repeating) else []
        people = (*(identifier.sentence() for identifier in repeating), *together)
        return (*self.assumed, *people, *self._doubts(), *distinct_note(self._distinct()))

    def _distinct(self) -> list[str]:
        """Quasi-identifiers without an order in which nearly every record has a value of its own."""
        sets = [
            a for a in self.with_role(Role.QUASI_IDENTIFIER) if a.kind is Kind.NOMINAL and "hierarchy" not in a.choice
        ]
        return [a.name for a in sets if nearly_distinct(a.distinct - (a.missing > 0), self.records - a.missing)]

    def _doubts(self) -> tuple[str, ...]:
        masked = (Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL)
        doubtful = [a.name for a in self.attributes if a.doubtful and a.role in masked]
        if not doubtful:
            return ()
        return (
            f"Numbers that may be codes, for there are few different ones: {', '.join(doubtful)}. If they are, say "
            f"--kind {quoted_item(doubtful[0])}=nominal.",
        )

    def _repeating(self) -> list[Repeating]:
        return _repeating(self.attributes, self.records)

    def policy_toml(self) -> str:
        """A starting `shoal.toml`: the suggested roles, each with its reason, 5-anonymity by grouping.

        Where people have several records people are counted; where it is known who lives together, households.
        """
        return starting_policy(self.attributes, self._repeating(), self.reading)

    def remarks(self) -> tuple[str, ...]:
        """The notes."""
        return self.notes

    def sheets(self) -> list[Sheet]:
        """As tables: the attributes, why each has its role, and what singles people out."""
        return _sheets(self)

    def charts(self) -> list[Chart]:
        """How identifying each attribute is, and the best set of each size."""
        first = sorted(
            (a for a in self.attributes if a.role is not None), key=lambda a: (-a.unique_share, -a.separation)
        )
        out, apart = Series("singled out", [a.unique_share for a in first]), [a.separation for a in first]
        sets = {", ".join(s.attributes): s.unique_share for s in self.identifying_sets}
        sets["all quasi-identifiers"] = self.uniques / self.records
        together = Series("singled out", [*sets.values()])
        return [
            Bars("One attribute alone", [a.name for a in first], (out, Series("pairs told apart", apart))),
            Bars("Records singled out by a few together", [*sets], (together,)),
        ]


def profile(
    frame: object,
    *,
    sets: int = 5,
    listen: events.Listener | None = None,
    stop: events.Stop | None = None,
) -> Profile:
    """Looks at a table: kind, suggested role and identifying power of each attribute, and what singles people out.

    `frame` is of any kind; `sets` is how many attributes a set that singles out most records may have at most. `listen`
    and `stop` are as in `shoal.anonymize`.
    """
    with events.heard(listen, stop):
        return _profiled(frame, sets)


@events.apart
def _profiled(frame: object, sets: int) -> Profile:
    table = _as_polars(frame)
    if sets < 0:
        raise InputError(f"The number of identifying sets must be 0 or more. Got {sets} instead.")
    if table.width == 0 or table.height == 0:
        raise InputError("The table has no records, so there is nothing to profile: give a table with data.")
    kinds = list(map(read_kind, table.get_columns()))
    encoded = list(map(encode, table.get_columns()))
    attributes = placed(table, tuple(map(profile_attribute, table.get_columns(), kinds, encoded)))
    attributes = with_weights(table, attributes)
    searched = {
        a.name: codes
        for a, codes in zip(attributes, encoded, strict=True)
        if a.role is Role.QUASI_IDENTIFIER and a.distinct > 1
    }
    repeating = _repeating(attributes, table.height)
    of_people = [each.name for each in repeating if not each.households]
    person = whose(table[of_people[0]]) if of_people else None
    out = identifying_sets.singling_out(searched, table.height, sets, person)
    return Profile(table.height, attributes, out.uniques, out.best, len(searched), out.ranked, out.people)


def _repeating(attributes: Iterable[AttributeProfile], records: int) -> list[Repeating]:
    """The numbers of people, then those of households, that repeat: several records may be of one."""
    numbers = [a for a in attributes if a.role is Role.IDENTIFIER and a.hipaa in NUMBERS]
    owners = [a for a in numbers if a.what == HOUSEHOLDS or a.what not in NOT_OF_PEOPLE]
    counts = [
        Repeating(a.name, records - a.missing, a.distinct - (a.missing > 0), a.what == HOUSEHOLDS) for a in owners
    ]
    return sorted((each for each in counts if 1 < each.people < each.records), key=lambda each: each.households)


def _as_polars(frame: object) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    from shoal.data.frames import to_polars

    return to_polars(frame)[0]


# What people and files are shown --------------------------------------------------------------------------


_TOGETHER = (
    "Where a release is to keep whose records belong together, or several tables join, promise that all records of a "
    "person are alike (--promise linked:k=5)."
)


def _sheets(profile: Profile) -> list[Sheet]:
    gaps = any(a.missing for a in profile.attributes)
    numbers = ("Missing",) * gaps + ("Distinct", "Unique", "Apart")
    return [
        Sheet(
            f"{profile.records:,} records, {len(profile.attributes)} attributes",
            ("Attribute", *numbers, "Kind", "Role"),
            tuple(_measures(a, gaps) for a in profile.attributes),
            numbers=len(numbers),
        ),
        Sheet("Why these roles", ("Role", "Reason", "Attributes"), tuple(_reasons(profile.attributes)), numbers=0),
        Sheet("Codes or numbers", ("Kind", "Reason", "Attributes"), tuple(_kinds(profile.attributes)), numbers=0),
        _singled_out(profile),
    ]


def _measures(a: AttributeProfile, gaps: bool) -> tuple[str, ...]:
    shares = (f"{a.unique_share:.1%}", f"{a.separation:.1%}")
    return (a.name, *[f"{a.missing:,}"] * gaps, f"{a.distinct:,}", *shares, a.kind, _spoken(a))


def _singled_out(profile: Profile) -> Sheet:
    """The leading sets of each size, then all quasi-identifiers; with people, where they have several records."""
    larger = [each for each in profile.identifying_sets if len(each.attributes) > identifying_sets.RANKED]
    every = IdentifyingSet(
        (f"all {profile.searched} quasi-identifiers",),
        profile.uniques,
        profile.uniques / profile.records,
        profile.people,
    )
    sets = [*profile.leading_sets, *larger, *([every] if profile.searched > 1 else [])]
    by_people = profile.people is not None
    rows = [
        (", ".join(s.attributes), f"{s.uniques:,}", f"{s.unique_share:.1%}", *[f"{s.people or 0:,}"] * by_people)
        for s in sets
    ]
    return Sheet(
        "What singles people out",
        ("Who knows", "singles out", "of records", *["and people"] * by_people),
        rows if profile.leading_sets else (),
        numbers=2 + by_people,
        legend=(profile.search,),
    )


def _reasons(attributes: Iterable[AttributeProfile]) -> Iterator[tuple[str, str, str]]:
    """Each role and reason once, with the attributes it holds for."""
    alike: dict[tuple[str, str], list[str]] = {}
    for a in attributes:
        alike.setdefault((_spoken(a), a.reason), []).append(a.name)
    for (role, reason), names in alike.items():
        yield role, reason, ", ".join(names)


def _kinds(attributes: Iterable[AttributeProfile]) -> Iterator[tuple[str, str, str]]:
    """Each kind and reason once, with the attributes it holds for."""
    alike: dict[tuple[str, str], list[str]] = {}
    for a in attributes:
        alike.setdefault((a.kind, a.kind_reason), []).append(a.name)
    for (kind, reason), names in alike.items():
        yield kind, reason, ", ".join(names)


def _spoken(a: AttributeProfile) -> str:
    if a.role is None:
        return "weights" if a.what == WEIGHTS else "none"
    return a.role.replace("_", "-")
