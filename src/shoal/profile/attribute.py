"""One attribute of a profile: its kind, the role that is suggested for it, and how identifying it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.free_text import SAMPLE, is_free_text, patterns_in
from shoal.data.kinds import Reading
from shoal.data.prefix_trees import prefix_tree
from shoal.data.role_positions import Placed, by_position
from shoal.data.roles import Suggestion, suggest_role
from shoal.data.schema import Kind, Role
from shoal.risk.identifying_sets import Codes

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


def _plain(column: pl.Series) -> pl.Series:
    """Of numbers, NaN is missing, and there is one zero only."""
    if not column.dtype.is_float():
        return column
    return column.fill_nan(None).set(column == 0, 0.0)


def encode(column: pl.Series) -> Codes:
    """The column as numbers, missing a value like any other."""
    physical = _plain(column).to_physical()
    if physical.dtype == pl.Null:
        return Codes(np.zeros(len(column), dtype=np.uint8), 1)
    coded = physical.alias("").to_arrow().dictionary_encode(null_encoding="encode")
    size = len(coded.dictionary)
    return Codes(coded.indices.to_numpy().astype(np.min_scalar_type(size)), size)


def whose(column: pl.Series) -> Codes:
    """An identifier of people as numbers; who it is missing of is nobody else."""
    codes = encode(column)
    each = np.where(column.is_null().to_numpy(), codes.size + np.arange(len(column)), codes.values)
    return Codes(each.astype(np.uint64), codes.size + len(column))


def profile_attribute(column: pl.Series, reading: Reading, codes: Codes) -> AttributeProfile:
    """What a column holds, by its kind and its values as numbers."""
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
    """What a policy says of codes, bands and ordered categories; masked codes are shown by their beginnings."""
    if reading.order is not None:
        return {"kind": "ordinal", "domain": list(reading.order)}
    if reading.kind is Kind.ORDINAL and isinstance(column.dtype, pl.Enum):  # a release is text, and has no such type
        return {"kind": "ordinal", "domain": column.dtype.categories.to_list()}
    if reading.kind is not Kind.NOMINAL or not reading.reason:
        return {}
    tree = prefix_tree(column, column.name) if reading.nests and role is Role.QUASI_IDENTIFIER else None
    return {"kind": "nominal"} | ({} if tree is None else {"hierarchy": {"type": "prefix"}})


def placed(table: pl.DataFrame, attributes: Sequence[AttributeProfile]) -> tuple[AttributeProfile, ...]:
    """The attributes with the roles that their places suggest."""
    by_place = by_position([Placed(table[a.name], a.what, a.role, a.distinct) for a in attributes])
    return tuple(_as_code(_with(a, by_place[a.name]) if a.name in by_place else a) for a in attributes)


def _as_code(a: AttributeProfile) -> AttributeProfile:
    """Of an identifier, which is a code whatever it is stored as."""
    if a.role is not Role.IDENTIFIER or a.kind is not Kind.NUMERIC:
        return a
    return replace(a, kind=Kind.NOMINAL, kind_reason="Code: it identifies.", doubtful=False)


def _with(a: AttributeProfile, suggestion: Suggestion) -> AttributeProfile:
    role, reason, hipaa, what = suggestion.role, suggestion.reason, suggestion.hipaa, suggestion.what
    return replace(a, role=role, reason=reason, hipaa=hipaa, what=what)


def _as_text(shown: AttributeProfile, column: pl.Series) -> AttributeProfile:
    """Of free text no role is suggested, but what has a form in it is said."""
    patterns = patterns_in(column)
    cells = min(SAMPLE, len(column) - shown.missing)
    listed = ", ".join(f"{what} in {count:,}" for what, count in patterns.items()) or "no pattern"
    reason = f"Free text, released by --release-text or --mask-text alone; {listed} of {cells:,} cells looked at."
    kind = "Free text: runs of words, hardly any two alike."
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
