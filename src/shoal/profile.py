"""A first look at a table: what each attribute is, how identifying it is, and which few attributes together
single people out.

Distinction (distinct values / records) and separation (share of record pairs told apart) are Motwani and Xu's
two measures of a quasi-identifier ("Efficient algorithms for masking and finding quasi-identifiers", 2007).
A set of attributes singles a record out if no other record agrees with it on all of them. Adding an attribute
never lowers the number singled out, which bounds the search. Missing is a value like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.people import Repeating
from shoal.data.roles import infer_kind, suggest_role
from shoal.data.schema import Kind, Role
from shoal.errors import InputError
from shoal.show import Bars, Chart, Result, Series, Sheet

VALUES_SEEN = 2_000  # distinct values an attribute's role is judged by
SEARCH_ROWS = 100_000  # records the search for identifying sets looks at; the winners are counted on all
EXHAUSTIVE_UP_TO = 15  # attributes; beyond, only the leading sets of one size are extended to the next
LEADERS = 3
ENOUGH = 0.9  # of the records that all attributes together single out: larger sets are not looked for


@dataclass(frozen=True)
class AttributeProfile:
    """One attribute. `distinct` counts missing as a value; `unique_share` is that of the records which the
    attribute alone singles out.
    """

    name: str
    dtype: str
    kind: Kind
    missing: int
    distinct: int
    distinction: float
    separation: float
    unique_share: float
    role: Role
    reason: str
    hipaa: str  # letter of the item in HIPAA's list of identifiers, or empty


@dataclass(frozen=True)
class IdentifyingSet:
    """Attributes that together single out `uniques` records; no set of this size was found to do better."""

    attributes: tuple[str, ...]
    uniques: int
    unique_share: float


@dataclass(frozen=True)
class Profile(Result):
    """What `profile` found. `uniques` are the records that all attributes but the identifiers single out."""

    records: int
    attributes: tuple[AttributeProfile, ...]
    uniques: int
    identifying_sets: tuple[IdentifyingSet, ...]
    searched: int  # attributes the sets were sought among: all but identifiers and constants

    @property
    def exact(self) -> bool:
        """Whether each identifying set is surely the best of its size, not just the best that was found."""
        return self.searched <= EXHAUSTIVE_UP_TO and self.records <= SEARCH_ROWS

    @property
    def search(self) -> str:
        """How the identifying sets were looked for."""
        every = self.searched <= EXHAUSTIVE_UP_TO
        how = "Every set was tried" if every else "Sets were grown from the best few"
        where = f" on {SEARCH_ROWS:,} records drawn at random" if self.records > SEARCH_ROWS else ""
        return f"{how}{where}; the counts are of all records."

    def with_role(self, role: Role) -> tuple[AttributeProfile, ...]:
        return tuple(a for a in self.attributes if a.role is role)

    def to_dict(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        return {**asdict(self), "exact": self.exact, "search": self.search, "notes": list(self.notes)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Identifiers that repeat: records are not people."""
        found = self.with_role(Role.IDENTIFIER)
        counts = [Repeating(a.name, self.records - a.missing, a.distinct - (a.missing > 0)) for a in found]
        return tuple(one.sentence() for one in counts if 1 < one.people < one.records)

    def policy_toml(self) -> str:
        """A starting `shoal.toml`: the suggested roles, each with its reason, 5-anonymity by grouping."""
        lists = "\n".join(_toml_list(key, self.with_role(role)) for key, role in _LISTS.items())
        return f"{_PREAMBLE}\n{lists}\n{_PROMISE}"

    def remarks(self) -> tuple[str, ...]:
        return self.notes

    def sheets(self) -> list[Sheet]:
        return _sheets(self)

    def charts(self) -> list[Chart]:
        """How identifying each attribute is, and the best set of each size."""
        first = sorted(self.attributes, key=lambda a: (-a.unique_share, -a.separation))
        out, apart = Series("singled out", [a.unique_share for a in first]), [a.separation for a in first]
        sets = {", ".join(s.attributes): s.unique_share for s in self.identifying_sets}
        sets["all but identifiers"] = self.uniques / self.records
        together = Series("singled out", [*sets.values()])
        return [
            Bars("One attribute alone", [a.name for a in first], (out, Series("pairs told apart", apart))),
            Bars("Records singled out by a few together", [*sets], (together,)),
        ]


def profile(frame: object, *, sets: int = 5) -> Profile:
    """Kind, suggested role and identifying power of each attribute of any frame, and the sets of at most
    `sets` attributes that single out most records.
    """
    table = _as_polars(frame)
    if sets < 0:
        raise InputError(f"The number of identifying sets must be 0 or more. Got {sets} instead.")
    if table.width == 0 or table.height == 0:
        raise InputError("The table has no records, so there is nothing to profile: give a table with data.")
    kinds = list(map(infer_kind, table.get_columns()))
    encoded = list(map(_encode, table.get_columns()))
    attributes = tuple(map(_profile_attribute, table.get_columns(), kinds, encoded))
    searched = {
        a.name: codes
        for a, codes in zip(attributes, encoded, strict=True)
        if a.role is not Role.IDENTIFIER and a.distinct > 1
    }
    uniques, found = _identifying_sets(searched, table.height, sets)
    return Profile(table.height, attributes, uniques, found, len(searched))


def _as_polars(frame: object) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    from shoal.data.frames import to_polars

    return to_polars(frame)[0]


# One attribute --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Codes:
    """An attribute as numbers: equal values have equal codes, from 0 to `size` - 1, all in use."""

    values: npt.NDArray[np.unsignedinteger]
    size: int

    def take(self, rows: npt.NDArray[np.int64]) -> _Codes:
        present, values = np.unique(self.values[rows], return_inverse=True)
        return _Codes(values.astype(self.values.dtype), len(present))


def _plain(column: pl.Series) -> pl.Series:
    """Of numbers, NaN is missing, and there is one zero only."""
    if not column.dtype.is_float():
        return column
    return column.fill_nan(None).set(column == 0, 0.0)


def _encode(column: pl.Series) -> _Codes:
    physical = _plain(column).to_physical()
    if physical.dtype == pl.Null:
        return _Codes(np.zeros(len(column), dtype=np.uint8), 1)
    encoded = physical.alias("").to_arrow().dictionary_encode(null_encoding="encode")
    size = len(encoded.dictionary)
    return _Codes(encoded.indices.to_numpy().astype(np.min_scalar_type(size)), size)


def _profile_attribute(column: pl.Series, kind: Kind, codes: _Codes) -> AttributeProfile:
    records, missing = len(column), _plain(column).null_count()
    counts = np.bincount(codes.values, minlength=codes.size)
    uniques = int(np.count_nonzero(counts == 1))
    suggestion = suggest_role(
        _distinct_values(column, codes), present=records - missing, distinct=codes.size, uniques=uniques
    )
    return AttributeProfile(
        name=column.name,
        dtype=str(column.dtype),
        kind=kind,
        missing=missing,
        distinct=codes.size,
        distinction=codes.size / records,
        separation=_separation(counts),
        unique_share=uniques / records,
        role=suggestion.role,
        reason=suggestion.reason,
        hipaa=suggestion.hipaa,
    )


def _separation(counts: npt.NDArray[np.int64]) -> float:
    """The share of all pairs of records that differ in the attribute; a single record makes no pair."""
    records = int(counts.sum())
    alike = int((counts * (counts - 1)).sum())
    return 1.0 - alike / (records * (records - 1)) if records > 1 else 0.0


def _distinct_values(column: pl.Series, codes: _Codes) -> pl.Series:
    """Up to VALUES_SEEN distinct values, spread evenly over the order in which they first appear."""
    somewhere = np.zeros(codes.size, dtype=np.int64)
    somewhere[codes.values] = np.arange(len(column))
    seen = somewhere[:: -(-codes.size // VALUES_SEEN)]
    return _plain(column).gather(seen).drop_nulls()


# Sets of attributes ---------------------------------------------------------------------------------------

_Set = tuple[int, ...]  # positions of attributes, ascending


@dataclass(frozen=True)
class _Classes:
    """The classes of records that agree on some attributes: `counts` of them have `sizes` records."""

    sizes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @property
    def uniques(self) -> int:
        return int(self.counts[self.sizes == 1].sum())

    def uniques_at_most(self, values: int) -> int:
        """How many records one more attribute of so many values can single out: all of a class with no more
        records than values; otherwise two records share a value, and at most the others have one each.
        """
        return int((self.counts * np.where(self.sizes <= values, self.sizes, values - 1)).sum())


def _classes(attributes: Iterable[_Codes], records: int) -> _Classes:
    """Joins the codes to one number a record. Before it outgrows 64 bits it is numbered anew, and the records
    already alone are set aside: they stay alone.
    """
    key, space = np.zeros(records, dtype=np.uint64), 1
    rows, alone = np.arange(records), 0
    for codes in sorted(attributes, key=lambda codes: -codes.size):
        if space * codes.size >= 2**64:
            _, classes, sizes = np.unique(key, return_inverse=True, return_counts=True)
            shared = sizes[classes] > 1
            alone += int(np.count_nonzero(~shared))
            rows, key, space = rows[shared], classes[shared].astype(np.uint64), len(sizes)
        added = codes.values if len(rows) == records else codes.values[rows]
        key = key * np.uint64(codes.size) + added
        space *= codes.size
    histogram = np.bincount(_class_sizes(key, space), minlength=2)
    histogram[1] += alone
    sizes = np.flatnonzero(histogram)
    return _Classes(sizes, histogram[sizes])


def _class_sizes(key: npt.NDArray[np.uint64], space: int) -> npt.NDArray[np.int64]:
    if space <= 4 * len(key):
        sizes = np.bincount(key.astype(np.int64))
        return sizes[sizes > 0]
    ordered = pl.Series(key).sort().to_numpy()
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] + np.uint64(1)))
    return np.diff(starts, append=len(key))


def _identifying_sets(attributes: dict[str, _Codes], records: int, most: int) -> tuple[int, tuple[IdentifyingSet, ...]]:
    """The records that all attributes single out, and the best set of each size up to `most` that singles out
    more than the smaller ones, until one does nearly what all do together.
    """
    names, codes = list(attributes), list(attributes.values())
    uniques = _classes(codes, records).uniques
    found: list[IdentifyingSet] = []
    for best in _best_sets(_sample(codes, records), min(most, len(codes))):
        singled_out = _classes((codes[i] for i in best), records).uniques
        if singled_out > (found[-1].uniques if found else 0):
            found.append(IdentifyingSet(tuple(names[i] for i in best), singled_out, singled_out / records))
        if singled_out >= ENOUGH * uniques:
            break
    return uniques, tuple(found)


def _sample(attributes: Sequence[_Codes], records: int) -> list[_Codes]:
    """The records searched: a random sample that is the same in every run, of a large table."""
    if records <= SEARCH_ROWS:
        return list(attributes)
    rows = np.sort(np.random.default_rng(0).choice(records, SEARCH_ROWS, replace=False))
    return [codes.take(rows) for codes in attributes]


def _best_sets(attributes: Sequence[_Codes], most: int) -> Iterator[_Set]:
    """For each size the set that singles out most records: of all sets if the attributes are few, otherwise
    of those that add one attribute to a leading set.
    """
    if not attributes:
        return
    records = len(attributes[0].values)
    known: dict[_Set, _Classes] = {(): _Classes(np.array([records]), np.array([1]))}
    positions = range(len(attributes))
    leaders: list[_Set] = [()]
    for size in range(1, most + 1):
        if len(attributes) <= EXHAUSTIVE_UP_TO:
            candidates = set(combinations(positions, size))
        else:
            candidates = {tuple(sorted((*s, i))) for s in leaders for i in positions if i not in s}
        leaders = _leaders(attributes, candidates, known)
        yield leaders[0]


def _leaders(attributes: Sequence[_Codes], candidates: Iterable[_Set], known: dict[_Set, _Classes]) -> list[_Set]:
    """The candidates that single out most records, best first. Those that cannot do better than the best so
    far are not counted, so the most promising come first: sets with many possible combinations.
    """
    records, most, counted = len(attributes[0].values), -1, []
    for candidate in sorted(candidates, key=lambda s: (-prod(attributes[i].size for i in s), s)):
        if _uniques_at_most(candidate, attributes, known) > most:
            known[candidate] = _classes((attributes[i] for i in candidate), records)
            counted.append(candidate)
            most = max(most, known[candidate].uniques)
    return sorted(counted, key=lambda s: -known[s].uniques)[:LEADERS]


def _uniques_at_most(candidate: _Set, attributes: Sequence[_Codes], known: dict[_Set, _Classes]) -> int:
    """The least bound that the sets counted so far give for a larger one."""
    bound = known[()].uniques_at_most(prod(attributes[i].size for i in candidate))
    for i in candidate:
        smaller = known.get(tuple(j for j in candidate if j != i))
        if smaller is not None:
            bound = min(bound, smaller.uniques_at_most(attributes[i].size))
    return bound


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


def _sheets(found: Profile) -> list[Sheet]:
    all_together = f"{found.uniques:,} of {found.records:,} records"
    return [
        Sheet(
            f"{found.records:,} records, {len(found.attributes)} attributes",
            ("Attribute", "Missing", "Distinct", "Unique", "Apart", "Kind", "Role"),
            tuple(map(_measures, found.attributes)),
            numbers=4,
        ),
        Sheet("Why these roles", ("Role", "Reason", "Attributes"), tuple(_reasons(found.attributes)), numbers=0),
        Sheet(
            f"What singles people out: all attributes together {all_together}. {found.search}",
            ("Attributes", "Singled out"),
            tuple((", ".join(s.attributes), _of(s.uniques, s.unique_share)) for s in found.identifying_sets),
        ),
    ]


def _measures(a: AttributeProfile) -> tuple[str, ...]:
    shares = (f"{a.unique_share:.1%}", f"{a.separation:.1%}")
    return (a.name, f"{a.missing:,}", f"{a.distinct:,}", *shares, a.kind, _spoken(a.role))


def _reasons(attributes: Iterable[AttributeProfile]) -> Iterator[tuple[str, str, str]]:
    """Each role and reason once, with the attributes it holds for."""
    alike: dict[tuple[Role, str], list[str]] = {}
    for a in attributes:
        alike.setdefault((a.role, a.reason), []).append(a.name)
    for (role, reason), names in alike.items():
        yield _spoken(role), reason, ", ".join(names)


def _spoken(role: Role) -> str:
    return role.replace("_", "-")


def _of(uniques: int, share: float) -> str:
    return f"{uniques:,} ({share:.1%})"


def _toml_list(key: str, attributes: Sequence[AttributeProfile]) -> str:
    lines = "".join(f"  {_toml_string(a.name)},  # {a.reason}\n" for a in attributes)
    return f"{key} = [\n{lines}]" if lines else f"{key} = []"


def _toml_string(text: str) -> str:
    """JSON's strings are TOML's basic strings, but for the control character 7F."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
