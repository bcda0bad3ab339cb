"""Sampling weights among the columns of a profile: they say how many people a record stands for, and nothing of them.

They are known by their names (`shoal.data.signs`). A column `weight` may be the body's as well: it is taken for the
sampling's where nothing else in the table is about bodies or care, and no body weighs so little, so much or so exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from shoal.data.schema import Role
from shoal.data.signs import spelled
from shoal.profile.attribute import AttributeProfile

WEIGHTS = "sampling weights"
_OF_BODIES = "looks of the body"
_CARE = (_OF_BODIES, "diagnoses or diseases", "treatments or drugs", "place of care or service")
_EITHER = re.compile(r"(?:.+ )?(?:weights?|wts?|gewicht|poids|peso|gewichten|waga|vikt|vaegt|paino|vaha)")
_OF_A_PERSON = re.compile(r"\b(?:person|per|p|ind|individual|rb 050)\b|\bp ?we?i?ght|^perwt|^pwgt")
_LIGHTEST, _HEAVIEST = 2, 700  # of bodies in kilograms or pounds
_EXACT = 100  # bodies are weighed to a hundredth at most


def with_weights(table: pl.DataFrame, attributes: Sequence[AttributeProfile]) -> tuple[AttributeProfile, ...]:
    """The attributes, sampling weights among them without a role; of several, persons' come before the first."""
    weights = [a for a in attributes if _weigh(table[a.name], a, attributes)]
    chosen = next((a for a in weights if _OF_A_PERSON.search(spelled(a.name))), weights[0] if weights else None)
    return tuple(_as_weights(a, a is chosen) if a in weights else a for a in attributes)


def weights_among(attributes: Iterable[AttributeProfile]) -> AttributeProfile | None:
    """The attribute that a policy names as its weights."""
    return next((a for a in attributes if a.role is None and a.what == WEIGHTS), None)


def _weigh(column: pl.Series, a: AttributeProfile, attributes: Iterable[AttributeProfile]) -> bool:
    """Whether a column is called like weights and holds a number above 0 for each record."""
    if a.role is not Role.QUASI_IDENTIFIER or not column.dtype.is_numeric() or column.null_count():
        return False
    if not bool(((column > 0) & column.is_finite()).all()):
        return False
    return a.what == WEIGHTS or (a.what in ("", _OF_BODIES) and _of_no_body(column, a, attributes))


def _of_no_body(column: pl.Series, a: AttributeProfile, attributes: Iterable[AttributeProfile]) -> bool:
    if not _EITHER.fullmatch(spelled(a.name)) or any(each.what in _CARE for each in attributes if each is not a):
        return False
    numbers = column.cast(pl.Float64)
    exact = ((numbers * _EXACT).round() - numbers * _EXACT).abs() > 1e-6
    return bool((numbers < _LIGHTEST).any() or (numbers > _HEAVIEST).any() or 2 * exact.sum() > len(column))


def _as_weights(a: AttributeProfile, chosen: bool) -> AttributeProfile:
    """Without a role, since weights are used and not released; `chosen` is what the policy names."""
    what, reason = WEIGHTS, "Sampling weights, by name: used to estimate risks, and not released."
    if not chosen:
        what, reason = f"further {WEIGHTS}", "Sampling weights beside those that are used: left out."
    return replace(a, role=None, reason=reason, what=what, doubtful=False)
