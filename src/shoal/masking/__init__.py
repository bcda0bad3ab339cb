"""Masking: how a release is brought about, one file a method. A new one is its file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.catalogue import Catalogue

if TYPE_CHECKING:
    from shoal.masking.grouping.hilbert import Hilbert as Hilbert
    from shoal.masking.grouping.kd import Kd as Kd
    from shoal.masking.grouping.kd import KdMedian as KdMedian
    from shoal.masking.grouping.mdav import Mdav as Mdav
    from shoal.masking.grouping.mdav import MdavPlus as MdavPlus
    from shoal.masking.grouping.sorted import Sorted as Sorted
    from shoal.masking.grouping.stratified import Stratified as Stratified
    from shoal.masking.method import Method
    from shoal.masking.microaggregation import IndividualRanking as IndividualRanking
    from shoal.masking.perturbing.multiplicative import MultiplicativeNoise as MultiplicativeNoise
    from shoal.masking.perturbing.noise import Noise as Noise
    from shoal.masking.perturbing.pram import Pram as Pram
    from shoal.masking.perturbing.resampling import Resample as Resample
    from shoal.masking.perturbing.shuffling import Shuffle as Shuffle
    from shoal.masking.perturbing.swapping import Swap as Swap
    from shoal.masking.recoding.coarsening import Coarsen as Coarsen
    from shoal.masking.recoding.cut_points import CutPoints as CutPoints
    from shoal.masking.recoding.recode import Recode as Recode
    from shoal.masking.recoding.safe_harbor import SafeHarbor as SafeHarbor

METHODS: Catalogue[type[Method]] = Catalogue(
    "method",
    __file__,
    base="shoal.masking.method:Method",
    former={
        "grouped": "hilbert",
        "microaggregation": "mdav",
        "microaggregate": "mdav",
        "individual": "individual-ranking",
        "mnoise": "multiplicative-noise",
        "rank-swapping": "swap",
        "shuffling": "shuffle",
        "resampling": "resample",
    },
)
__getattr__ = METHODS.attribute
