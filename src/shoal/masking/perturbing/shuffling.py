"""Data shuffling (Muralidhar & Sarathy 2006): values dealt out anew by the ranks of records drawn from a model.

Ranks are turned into normal scores (a Gaussian copula). The scores X of the quasi-identifiers are parted into what the
attributes released unchanged, S, tell of them, and a residual: X = B S + r. A share p of the residual's variance is
drawn anew from its own distribution,

    Y = B S + √(1 - p) r + √p r',

so that Y has the correlations of X, among themselves and with S; the record whose Y has rank i gets the i-th value of
the original. Every attribute keeps its distribution exactly. With p = 1, the method as published, the masked values
tell of a record nothing that S does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Role
from shoal.masking.method import Masked, Strength
from shoal.masking.perturbing.columns import (
    IN_ORDER,
    Numbers,
    in_order,
    own_column,
    positions,
    shown_from,
    side_by_side,
    streams,
    treated,
    with_gaps_moved,
)
from shoal.masking.perturbing.method import Perturbing
from shoal.masking.perturbing.moments import factor
from shoal.privacy.model import PrivacyModel


class Shuffle(Perturbing):
    """Values are dealt out anew by the ranks of records drawn from a model of how attributes go together.

    `p` is the share of what the other columns do not explain that is drawn anew; 1 is the method as published.
    """

    p: float = parameter("share of the residual's variance that is drawn anew", default=0.5, above=0, most=1)

    choose = "every record must stay apart, and values and their relations are to be kept; promise a measured risk"
    needs = ("an order",)
    strength = Strength("p", 0.001, 1.0)
    can_promise = ("measured-risk",)
    did = "Values were shuffled among records by ranks that a model of their dependence drew."

    @property
    def looks_at_confidential(self) -> bool:
        """It does: the model by which values are dealt out holds the confidential columns, too."""
        return True

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """The attribute's own values, dealt out in the order of values that the model drew; gaps are moved."""
        names = treated(self.name, microdata, IN_ORDER)
        stream = streams(seed)
        rng = {name: stream(name) for name in names}
        modelled = self._modelled(microdata, rng)
        columns = side_by_side(names, lambda name: _dealt(microdata, name, modelled[name], rng[name]))
        return Masked(with_gaps_moved(columns, stream))

    def _modelled(self, microdata: Microdata, rng: Mapping[str, np.random.Generator]) -> dict[str, Numbers]:
        """attribute -> the scores Y, NaN where it is missing."""
        X, S = _scores(microdata, list(rng)), _scores(microdata, _unchanged(microdata))
        missing, X, S = np.isnan(X), np.nan_to_num(X), np.nan_to_num(S)  # a missing score is 0, the mean
        predicted = X @ S.T @ np.linalg.pinv(S @ S.T, hermitian=True) @ S
        residual = np.where(missing, 0.0, X - predicted)
        root = np.sqrt(np.count_nonzero(~missing, axis=1))
        drawn = np.stack([own.standard_normal(len(microdata)) for own in rng.values()])
        anew = factor(residual @ residual.T / np.outer(root, root)) @ drawn
        Y = predicted + np.sqrt(1 - self.p) * residual + np.sqrt(self.p) * anew
        return dict(zip(rng, np.where(missing, np.nan, Y), strict=True))


def _dealt(microdata: Microdata, name: str, modelled: Numbers, rng: np.random.Generator) -> MaskedColumn:
    """The i-th value goes to the record whose modelled score is the i-th."""
    values_at = in_order(microdata, name, rng)
    source = np.arange(len(microdata))
    source[np.argsort(modelled)[: len(values_at)]] = values_at  # NaN comes last
    return shown_from(microdata, name, source)


def _unchanged(microdata: Microdata) -> list[str]:
    """The attributes whose ranks are released as they are."""
    shown = frozenset({Role.CONFIDENTIAL, Role.INSENSITIVE})
    ranked = [a.name for a in microdata.schema if a.roles <= shown and a.kind in IN_ORDER]
    return [name for name in ranked if own_column(microdata, name).count()]


def _scores(microdata: Microdata, names: Sequence[str]) -> Numbers:
    """A row of normal scores an attribute: equal values have the score of their middle rank."""
    from scipy.special import ndtri

    scores = np.empty((len(names), len(microdata)))
    for name, row in zip(names, scores, strict=True):
        rank = pl.Series(positions(microdata, name)).fill_nan(None).rank("average")
        score = ndtri(((rank - 0.5) / rank.count()).to_numpy())
        row[:] = score - np.nanmean(score)
    return scores
