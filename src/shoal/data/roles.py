"""What role a column should play in a release.

The role is a suggestion, made from signs: a table of what people's identifiers and attributes are called and look like.
Its rows carry the letter of the identifier in HIPAA's Safe Harbor list (45 CFR 164.514(b)(2)(i), items A to R) where
they belong to one. To recognise something new, add a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.data.schema import Role
from shoal.data.signs import SIGNS, Sign, spelled

FEW_RECORDS = 20  # below this, values differ by chance and say nothing about keys
ALMOST_ALL = 0.95  # of the records have a value of their own: the rest are slips


@dataclass(frozen=True)
class Suggestion:
    """The role a column should have, and why, in plain words.

    `hipaa` is the item's letter, `what` the sort of attribute that a sign gave away, `evidence` by what; all three are
    empty where none spoke.
    """

    role: Role
    reason: str
    hipaa: str = ""
    what: str = ""
    evidence: str = ""


# A column named for a property of an identifier, such as `phone type` or `email verified`, is not it.
_ABOUT = re.compile(
    r"\b(types?|kind|class|category|status|flag|counts?|balance|provided|known|verified|valid|consent|opt|preferred"
    r"|available|has|is|days|age|score|length|issued|changed|level)\b"
)
# What follows a preposition is not what the column holds: a wage per hour is a wage.
_PREPOSITION = re.compile(
    r"(?<=\w) (of|per|from|in|at|by|for|since|after|before|de|du|des|del|della|di|do|da|von|vom|pro|je|van|uit|av|fra"
    r"|na|od)\b"
)
_YES_NO = {"y", "n", "yes", "no", "true", "false", "t", "f", "0", "1", "j", "ja", "nein", "oui", "non", "si"}
_NAME_AND_VALUES, _VALUES, _NAME, _HINT, _SILENT = 4, 3, 2, 1, 0
_EVIDENCE = {
    _NAME_AND_VALUES: "by name and values",
    _VALUES: "by values",
    _NAME: "by name",
    _HINT: "by values",
}


@dataclass(frozen=True)
class _Column:
    words: str  # of its name
    texts: pl.Series  # its sampled values as text
    is_text: bool
    yes_no: bool


def suggest_role(values: pl.Series, *, present: int, distinct: int, uniques: int) -> Suggestion:
    """The role that a column's name and (a sample of) its distinct values suggest.

    Where no sign speaks, what its counts suggest: records with a value `present`, `distinct` values with missing as one
    of them, and `uniques`, the records alone with their value.
    """
    suggestion = by_signs(values) or _by_counts(values, present, uniques)
    if distinct <= 1 and suggestion.role is Role.QUASI_IDENTIFIER:
        return Suggestion(Role.INSENSITIVE, "One value only: it tells nobody apart.")
    return suggestion


def may_be(values: pl.Series, role: Role, items: Collection[str]) -> bool:
    """Whether any sign of this role and of these HIPAA items speaks: a quick look before all signs are weighed."""
    column = _column(values)
    signs = (sign for sign in SIGNS if sign.role is role and sign.hipaa in items)
    return any(_evidence(sign, column)[0] != _SILENT for sign in signs)


def _column(values: pl.Series) -> _Column:
    if values.dtype.is_float() and values.round().equals(values):
        values = values.cast(pl.Int64, strict=False)  # whole numbers that stand beside missing ones
    texts = values.cast(pl.String).str.strip_chars().str.slice(0, 300).drop_nulls()
    texts = texts.filter(texts != "")
    yes_no = set(texts.head(len(_YES_NO) + 1).str.to_lowercase()) <= _YES_NO
    is_text = isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum))
    return _Column(spelled(values.name), texts, is_text, yes_no)


def by_signs(values: pl.Series) -> Suggestion | None:
    """What the sign with the most evidence says of a column with these distinct values; None where no sign speaks.

    Among equals the one that explains the name's head, which stands before a preposition (a wage per hour is a wage) or
    else at the end (a hospital charge is a charge), then most of the name, then the first in the table.
    """
    column = _column(values)
    weighed = [_evidence(sign, column) for sign in SIGNS]
    strongest = max(weighed)
    if strongest[0] == _SILENT:
        return None
    sign = SIGNS[weighed.index(strongest)]
    item = f" (HIPAA item {sign.hipaa})" if sign.hipaa else ""
    evidence = _EVIDENCE[strongest[0]]
    reason = f"{sign.what[0].upper()}{sign.what[1:]}, {evidence}{item}."
    return Suggestion(sign.role, reason, sign.hipaa, sign.what.partition(",")[0], evidence)


def _evidence(sign: Sign, column: _Column) -> tuple[int, int, int, int]:
    """How strongly a sign speaks, whether of the name's head, where in the name its words end, and their length."""
    named = _named(sign, column)
    shaped = _most(column.texts, sign.shape, sign.share, sign.check, sign.least)
    if sign.hint:
        return (_HINT if shaped and column.is_text else _SILENT, 0, 0, 0)
    if shaped:
        return (_NAME_AND_VALUES, *named) if named else (_VALUES, 0, 0, 0)
    if named and (not sign.fits or _most(column.texts, sign.fits, sign.share)):
        return (_NAME, *named)
    return (_SILENT, 0, 0, 0)


def _named(sign: Sign, column: _Column) -> tuple[int, int, int] | None:
    words = sign.words
    if words is None or (sign.role is Role.IDENTIFIER and (column.yes_no or _ABOUT.search(column.words))):
        return None
    preposition = _PREPOSITION.search(column.words)
    head = preposition.start() if preposition else len(column.words)
    matches = words.finditer(column.words)
    return max(((int(m.start() < head), m.end(), m.end() - m.start()) for m in matches), default=None)


def _most(
    texts: pl.Series, pattern: str, share: float, check: Callable[[str], bool] | None = None, fewest: int = 1
) -> bool:
    """Whether at least the share of the values, and no fewer than `fewest`, match the pattern and pass the check."""
    if not pattern or texts.is_empty():
        return False
    least = max(fewest, share * len(texts))
    matching = texts.filter(texts.str.contains(f"^(?:{pattern})$"))
    if check is None or len(matching) < least:
        return len(matching) >= least
    return sum(map(check, matching)) >= least


def _by_counts(values: pl.Series, present: int, uniques: int) -> Suggestion:
    if present >= FEW_RECORDS and uniques >= ALMOST_ALL * present and _numbered(values, present):
        reason = "Each record has a value of its own, like a record number (HIPAA item R)."
        return Suggestion(Role.IDENTIFIER, reason, "R")
    if uniques:
        some = "Most" if 2 * uniques > present else "Some"
        return Suggestion(Role.QUASI_IDENTIFIER, f"{some} records have a value of their own: it singles them out.")
    return Suggestion(Role.QUASI_IDENTIFIER, "No sign of what it is: held to be known to others, to be safe.")


def _numbered(values: pl.Series, present: int) -> bool:
    """Texts, and whole numbers given out like keys: all of one length, or close to a run of numbers."""
    if not values.dtype.is_integer():
        return isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum))
    lengths = values.cast(pl.String).str.len_chars()
    width = int(values.max()) - int(values.min())  # type: ignore[arg-type]
    return lengths.n_unique() == 1 or width < 2 * present


def left_out(columns: Sequence[str], named: Container[str], weights: str | None = None) -> tuple[str, ...]:
    """What the custodian should know of columns that have no role; of weights more is said elsewhere."""
    unnamed = [name for name in columns if name not in named and name != weights]
    if not unnamed:
        return ()
    return (
        f"No role names {_listed(unnamed)}: left out of the release "
        "(--insensitive releases columns as they are, --rest insensitive all that are left).",
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
