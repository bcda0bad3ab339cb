"""A first look at a table: what each attribute is, how identifying it is, and which few together single people out.

Distinction (distinct values / records) and separation (share of record pairs told apart) are Motwani and Xu's
two measures of a quasi-identifier ("Efficient algorithms for masking and finding quasi-identifiers", 2007).
Missing is a value like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.choices import quoted_item
from shoal.data.free_text import SAMPLE, is_free_text, patterns_in
from shoal.data.kinds import Reading, read_kind
from shoal.data.people import NOT_OF_PEOPLE, Repeating
from shoal.data.prefix_trees import prefix_tree
from shoal.data.reading import AS_IT_SEEMS
from shoal.data.reading import Reading as FileReading
from shoal.data.role_positions import Placed, by_position
from shoal.data.roles import Suggestion, suggest_role
from shoal.data.schema import Kind, Role
from shoal.errors import InputError
from shoal.risk import identifying_sets
from shoal.risk.identifying_sets import Codes, IdentifyingSet
from shoal.show import Bars, Chart, Result, Series, Sheet

VALUES_SEEN = 2_000  # distinct values an attribute's role is judged by


@dataclass(frozen=True)
class AttributeProfile:
    """What one attribute holds and how identifying it is.

    `distinct` counts missing as a value; `unique_share` is that of the records which the attribute alone singles out.
    """

    name: str
    dtype: str
    kind: Kind
    kind_reason: str  # a sentence: whether it holds codes or numbers, and why
    missing: int
    distinct: int
    distinction: float
    separation: float
    unique_share: float
    role: Role | None  # None of free text, which has no role unless the policy releases it
    reason: str
    hipaa: str  # letter of the item in HIPAA's list of identifiers, or empty
    what: str = ""  # the sort of attribute it is, or empty where no sign says
    patterns: Mapping[str, int] = field(default_factory=dict)  # of free text: what has a form, and in how many cells
    doubtful: bool = False  # numbers that may be codes
    choice: Mapping[str, object] = field(default_factory=dict)  # what a policy says of it, if the type alone does not


@dataclass(frozen=True)
class Profile(Result):
    """What `profile` found. `uniques` are the records that all attributes but the identifiers single out."""

    records: int
    attributes: tuple[AttributeProfile, ...]
    uniques: int
    identifying_sets: tuple[IdentifyingSet, ...]
    searched: int  # attributes the sets were sought among: all but identifiers and constants
    reading: FileReading = AS_IT_SEEMS  # how its file is read, for the policy
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
        return (*self.assumed, *(identifier.sentence() for identifier in self._repeating()), *self._doubts())

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
        identifiers = [a for a in self.with_role(Role.IDENTIFIER) if a.what not in NOT_OF_PEOPLE]
        counts = [Repeating(a.name, self.records - a.missing, a.distinct - (a.missing > 0)) for a in identifiers]
        return [count for count in counts if 1 < count.people < count.records]

    def policy_toml(self) -> str:
        """A starting `shoal.toml`: the suggested roles, each with its reason, 5-anonymity by grouping."""
        lists = "\n".join(_toml_list(key, self.with_role(role)) for key, role in _LISTS.items())
        person = "".join(
            f"\nperson = {_toml_string(each.name)}  # {each.records:,} records of {each.people:,} people: k is people\n"
            for each in self._repeating()[:1]
        )
        return f"{_PREAMBLE}\n{lists}\n{person}{self._texts()}{_PROMISE}{self._kinds()}{self._read()}"

    def _kinds(self) -> str:
        """What a policy says of the columns that are masked, where their types alone do not say it."""
        masked = (Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL)
        stated = [a for a in self.attributes if a.role in masked and a.choice]
        return "".join(_toml_attribute(a) for a in stated)

    def _read(self) -> str:
        """How the file is read, where that is not the plainest way."""
        import tomli_w

        stated = self.reading.chosen()
        return "\n" + tomli_w.dumps({"read": stated}) if stated else ""

    def _texts(self) -> str:
        """Free text as a remark: it has no role."""
        texts = [a for a in self.attributes if a.role is None]
        return "".join(f"# {_toml_string(a.name)} is left out. {a.reason}\n" for a in texts)

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
        sets["all but identifiers"] = self.uniques / self.records
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
    encoded = list(map(_encode, table.get_columns()))
    attributes = _placed(table, tuple(map(_profile_attribute, table.get_columns(), kinds, encoded)))
    searched = {
        a.name: codes
        for a, codes in zip(attributes, encoded, strict=True)
        if a.role not in (Role.IDENTIFIER, None) and a.distinct > 1
    }
    uniques, best = identifying_sets.best_sets(searched, table.height, sets)
    return Profile(table.height, attributes, uniques, best, len(searched))


def _as_polars(frame: object) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    from shoal.data.frames import to_polars

    return to_polars(frame)[0]


# One attribute --------------------------------------------------------------------------------------------


def _plain(column: pl.Series) -> pl.Series:
    """Of numbers, NaN is missing, and there is one zero only."""
    if not column.dtype.is_float():
        return column
    return column.fill_nan(None).set(column == 0, 0.0)


def _encode(column: pl.Series) -> Codes:
    physical = _plain(column).to_physical()
    if physical.dtype == pl.Null:
        return Codes(np.zeros(len(column), dtype=np.uint8), 1)
    encoded = physical.alias("").to_arrow().dictionary_encode(null_encoding="encode")
    size = len(encoded.dictionary)
    return Codes(encoded.indices.to_numpy().astype(np.min_scalar_type(size)), size)


def _profile_attribute(column: pl.Series, reading: Reading, codes: Codes) -> AttributeProfile:
    records, missing = len(column), _plain(column).null_count()
    counts = np.bincount(codes.values, minlength=codes.size)
    uniques = int(np.count_nonzero(counts == 1))
    suggestion = suggest_role(
        _distinct_values(column, codes), present=records - missing, distinct=codes.size, uniques=uniques
    )
    shown = AttributeProfile(
        name=column.name,
        dtype=str(column.dtype),
        kind=reading.kind,
        kind_reason=reading.sentence(column),
        missing=missing,
        distinct=codes.size,
        distinction=codes.size / records,
        separation=_separation(counts),
        unique_share=uniques / records,
        role=suggestion.role,
        reason=suggestion.reason,
        hipaa=suggestion.hipaa,
        what=suggestion.what,
        doubtful=reading.doubtful,
        choice=_choice(reading, column, suggestion.role),
    )
    return _as_text(shown, column) if suggestion.hipaa in ("", "R") and is_free_text(column) else shown


def _choice(reading: Reading, column: pl.Series, role: Role) -> dict[str, object]:
    """What a policy says of a column of codes or bands; those that are masked are shown by their beginnings."""
    if reading.order is not None:
        return {"kind": "ordinal", "domain": list(reading.order)}
    if reading.kind is not Kind.NOMINAL or not reading.reason:
        return {}
    tree = prefix_tree(column, column.name) if reading.nests and role is Role.QUASI_IDENTIFIER else None
    return {"kind": "nominal"} | ({} if tree is None else {"hierarchy": {"type": "prefix"}})


def _placed(table: pl.DataFrame, attributes: Sequence[AttributeProfile]) -> tuple[AttributeProfile, ...]:
    """The attributes with the roles that their places suggest."""
    placed = by_position([Placed(table[a.name], a.what, a.role, a.distinct) for a in attributes])
    return tuple(_with(a, placed[a.name]) if a.name in placed else a for a in attributes)


def _with(a: AttributeProfile, suggestion: Suggestion) -> AttributeProfile:
    role, reason, hipaa, what = suggestion.role, suggestion.reason, suggestion.hipaa, suggestion.what
    return replace(a, role=role, reason=reason, hipaa=hipaa, what=what)


def _as_text(shown: AttributeProfile, column: pl.Series) -> AttributeProfile:
    """Of free text no role is suggested, but what has a form in it is said."""
    patterns = patterns_in(column)
    cells = min(SAMPLE, len(column) - shown.missing)
    listed = ", ".join(f"{what} in {count:,}" for what, count in patterns.items()) or "no pattern"
    reason = f"Free text, released by --release-text or --mask-text alone; {listed} of {cells:,} cells looked at."
    kind = "Free text: sentences about people."
    return replace(
        shown,
        kind=Kind.TEXT,
        kind_reason=kind,
        role=None,
        reason=reason,
        hipaa="",
        what="",
        patterns=patterns,
        choice={},
    )


def _separation(counts: npt.NDArray[np.int64]) -> float:
    """The share of all pairs of records that differ in the attribute; a single record makes no pair."""
    records = int(counts.sum())
    alike = int((counts * (counts - 1)).sum())
    return 1.0 - alike / (records * (records - 1)) if records > 1 else 0.0


def _distinct_values(column: pl.Series, codes: Codes) -> pl.Series:
    """Up to VALUES_SEEN distinct values, spread evenly over the order in which they first appear."""
    somewhere = np.zeros(codes.size, dtype=np.int64)
    somewhere[codes.values] = np.arange(len(column))
    seen = somewhere[:: -(-codes.size // VALUES_SEEN)]
    return _plain(column).gather(seen).drop_nulls()


# What people and files are shown --------------------------------------------------------------------------

_LISTS = {
    "identifiers": Role.IDENTIFIER,
    "quasi_identifiers": Role.QUASI_IDENTIFIER,
    "confidential": Role.CONFIDENTIAL,
    "insensitive": Role.INSENSITIVE,
}
_PREAMBLE = "# A starting policy, suggested by the data: check the role of every attribute before you release.\n"
_PROMISE = """
[[models]]
name = "k-anonymity"
k = 5

[method]
name = "hilbert"

# Texts that stand in an order, the lowest first:
# [attributes.education]
# kind = "ordinal"
# domain = ["primary", "secondary", "tertiary"]
"""


def _sheets(profile: Profile) -> list[Sheet]:
    all_together = f"{profile.uniques:,} of {profile.records:,} records"
    return [
        Sheet(
            f"{profile.records:,} records, {len(profile.attributes)} attributes",
            ("Attribute", "Missing", "Distinct", "Unique", "Apart", "Kind", "Role"),
            tuple(map(_measures, profile.attributes)),
            numbers=4,
        ),
        Sheet("Why these roles", ("Role", "Reason", "Attributes"), tuple(_reasons(profile.attributes)), numbers=0),
        Sheet("Codes or numbers", ("Kind", "Reason", "Attributes"), tuple(_kinds(profile.attributes)), numbers=0),
        Sheet(
            f"What singles people out: all attributes together {all_together}. {profile.search}",
            ("Attributes", "Singled out"),
            tuple((", ".join(s.attributes), _of(s.uniques, s.unique_share)) for s in profile.identifying_sets),
        ),
    ]


def _measures(a: AttributeProfile) -> tuple[str, ...]:
    shares = (f"{a.unique_share:.1%}", f"{a.separation:.1%}")
    return (a.name, f"{a.missing:,}", f"{a.distinct:,}", *shares, a.kind, _spoken(a.role))


def _reasons(attributes: Iterable[AttributeProfile]) -> Iterator[tuple[str, str, str]]:
    """Each role and reason once, with the attributes it holds for."""
    alike: dict[tuple[Role | None, str], list[str]] = {}
    for a in attributes:
        alike.setdefault((a.role, a.reason), []).append(a.name)
    for (role, reason), names in alike.items():
        yield _spoken(role), reason, ", ".join(names)


def _kinds(attributes: Iterable[AttributeProfile]) -> Iterator[tuple[str, str, str]]:
    """Each kind and reason once, with the attributes it holds for."""
    alike: dict[tuple[str, str], list[str]] = {}
    for a in attributes:
        alike.setdefault((a.kind, a.kind_reason), []).append(a.name)
    for (kind, reason), names in alike.items():
        yield kind, reason, ", ".join(names)


def _spoken(role: Role | None) -> str:
    return "none" if role is None else role.replace("_", "-")


def _of(uniques: int, share: float) -> str:
    return f"{uniques:,} ({share:.1%})"


def _toml_list(key: str, attributes: Sequence[AttributeProfile]) -> str:
    lines = "".join(f"  {_toml_string(a.name)},  # {a.reason}\n" for a in attributes)
    return f"{key} = [\n{lines}]" if lines else f"{key} = []"


def _toml_attribute(a: AttributeProfile) -> str:
    import tomli_w

    table = tomli_w.dumps({key: value for key, value in a.choice.items() if key != "hierarchy"})
    tree = "" if "hierarchy" not in a.choice else 'hierarchy = {type = "prefix"}\n'
    return f"\n[attributes.{_toml_string(a.name)}]  # {a.kind_reason}\n{table}{tree}"


def _toml_string(text: str) -> str:
    """JSON's strings are TOML's basic strings, but for the control character 7F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
