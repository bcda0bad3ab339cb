"""The best global recoding by cut points, paper 3's own search (Bayardo and Agrawal, 2005).

Every attribute's values stand in their order, missing last. A recoding is a set of cuts, each beginning a new interval
at one value, the same for all records; no cut at all shows every record alike. Records in classes below k are
suppressed. The cost is discernibility: a record costs as much as its class is large, a suppressed one the whole table.
The search goes through all sets of cuts by adding cuts to a head, and leaves out what provably cannot win:

- Bound. Whatever further cuts a head gets, what it suppresses stays suppressed, and every other record costs at least
  k and at least its class under all the cuts that may still come.
- Useless cuts. Where every class that a cut splits falls into parts below k, any recoding that has the cut suppresses
  all of those classes. Without it nothing more is suppressed, and what is kept of them costs less: it is not needed.
- The limit on suppression. The paper's search has none but the cost. A further cut only splits classes, and the parts
  of a class below k are below k, so suppression never falls as cuts are added: where a head suppresses more than
  allowed, so does all that contains it, and the whole branch is left out. The bound holds for the recodings that keep
  the limit as it does for all; and a useless cut taken out of a recoding within the limit leaves one within the limit.
  No cut at all suppresses nothing, so a recoding within the limit always exists.

Large searches end by time, with the best found, and a bound below which no recoding can cost: a node that is left open
can give nothing below its own bound. Before the proof starts, a greedy recoding (the cut that lowers the cost most,
again and again) is improved by taking out one cut and refining anew, as long as that helps. In the end, cuts that split
no class are made as well: they cost nothing, and more is shown.

Defined in docs/spec.md#discernibility, #best-recoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal import events
from shoal.catalogue import Chunks, parameter
from shoal.data.cells import WILDCARD, MaskedColumn
from shoal.data.microdata import MISSING, Coded, Microdata
from shoal.data.short_sets import LONGEST, shortened_note
from shoal.errors import InputError, require
from shoal.masking.chunks import WholeTable
from shoal.masking.method import Masked, Method, class_size
from shoal.masking.partition import Partition
from shoal.masking.publishing.range import publish_range
from shoal.masking.recoding import frequencies
from shoal.masking.recoding.frequencies import how_many, ordered_rows, refuse_unlisted
from shoal.masking.recoding.suppressing import classes_of, enlarged, enlarged_in_chunks, refuse_suppressing
from shoal.privacy.model import PrivacyModel

if TYPE_CHECKING:
    from shoal.kernels.cut_rows import Problem

MOST_CUTS = 64  # of one attribute; one with more values is cut at quantiles only
_STRETCH = 200_000  # rows looked at, at least, between two looks at the clock
_PASSES = 20  # or as many times all rows, if that is more
_TRIES = 4  # at a cheaper recoding after each stretch: about as much work again in a large table


@dataclass(frozen=True)
class CutPointSearch:
    """What the search found; `proven` where no recoding by the candidate cuts costs less."""

    cuts: Mapping[str, tuple[int, ...]]  # attribute -> codes at which a new interval begins; missing is the last code
    cost: int  # discernibility, suppressed records included
    bound: int  # no recoding costs less
    suppressed: int
    nodes: int
    candidates: int  # cuts to choose from

    @property
    def proven(self) -> bool:
        """Whether no recoding by the candidate cuts costs less."""
        return self.bound >= self.cost

    @property
    def gap(self) -> float:
        """By what share of the cost the best recoding could be cheaper."""
        return 1.0 - self.bound / self.cost


class CutPoints(Method):
    """Each ordered attribute cut into intervals, the same for all records: the cheapest cuts by discernibility.

    `seconds`: how long to search for the optimum and its proof; None: as long as it takes.
    """

    seconds: float | None = parameter("how long to search for the optimum and its proof", default=30.0, least=0)
    longest: int = parameter("characters of a set; one that is longer is shown shorter", default=LONGEST, least=3)

    choose = "analysts need one recoding for all records, and attributes have an order but no hierarchy"
    needs = ("an order",)
    seedless = True
    can_promise = ("k-anonymity", "persons")
    in_chunks = Chunks("same result; of too many distinct rows by a sample, verified on all")
    did = (
        "Every quasi-identifier was cut into intervals, the same for all records: the cheapest set of cuts "
        "found that keeps the promise (El Emam & Dankar 2008)."
    )

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Each quasi-identifier in the intervals that cost least."""

        def recoded(k: int) -> Masked:
            result = search(microdata, k, suppression=suppression, seconds=self.seconds)
            return _shown(microdata.quasi, result, self.longest).mask(microdata, models)

        return enlarged(microdata, recoded, class_size(microdata, models), models, suppression)

    def refuse_in_chunks(self, models: Sequence[PrivacyModel], suppression: float, engine: str) -> None:
        """Refuses to suppress for how few people of a population fit a class: an engine counts records alone."""
        refuse_suppressing(self.name, models, suppression, engine)

    def prepared(self, whole: WholeTable) -> Method:
        """The cuts of the whole table, searched over its distinct rows as the engine counts them."""
        quasi = whole.sample.quasi
        for coded in quasi:
            refuse_unlisted(whole, coded.name, "too many to be cut at quantiles: round it, or use a grouped method.")
        candidates = _Candidates({coded.name: _candidates(coded) for coded in quasi})
        few = how_many(whole, candidates, prod(len(at) + 1 for at in candidates.codes.values())) <= frequencies.LIMIT
        rows = ordered_rows(whole, candidates) if few else None

        def recoded(k: int) -> Method:
            if rows is None:
                return _shown(quasi, _by_sample(replace(whole, k=k), candidates, self.seconds), self.longest)
            return _shown(quasi, _search(quasi, candidates, rows, k, whole.suppression, self.seconds), self.longest)

        return enlarged_in_chunks(whole, recoded)


def search(microdata: Microdata, k: int, *, suppression: float = 0.0, seconds: float | None = 30.0) -> CutPointSearch:
    """The recoding into classes of at least k that costs least, within the time and the suppression allowed."""
    candidates = _Candidates({coded.name: _candidates(coded) for coded in microdata.quasi})
    rows = _distinct_rows([*candidates(microdata).values()], len(microdata))
    return _search(microdata.quasi, candidates, rows, k, suppression, seconds)


def _search(
    quasi: Sequence[Coded], candidates: _Candidates, rows: Rows, k: int, suppression: float, seconds: float | None
) -> CutPointSearch:
    """Over the distinct rows of the table when all candidates are cut."""
    from shoal.kernels.cut_rows import hashes, problem_of
    from shoal.kernels.greedy_cuts import add_free

    require("cut-points", "suppression", suppression, "a share from 0 to 1", holds=0 <= suppression <= 1)
    n = int(rows[1].sum())
    if not 1 <= k <= n:
        raise InputError(
            f"k = {k} cannot be had of a table of {n} records: ask for a k from 1 to the number of records."
        )
    _compile()
    deadline = np.inf if seconds is None else monotonic() + seconds
    at = [candidates.codes[coded.name] for coded in quasi]
    problem = problem_of([len(codes) + 1 for codes in at], k, n, int(suppression * n))
    best, bound, nodes = _prove(problem, rows, _good_start(problem, rows, deadline), deadline)
    chosen = best.chosen.copy()
    add_free(problem, *rows, hashes(len(rows[1])), chosen)
    cuts = {
        coded.name: tuple(codes[chosen[first : first + len(codes)]].tolist())
        for coded, codes, first in zip(quasi, at, problem.first[:-1], strict=True)
    }
    return CutPointSearch(cuts, best.cost, bound, best.suppressed, nodes, len(chosen))


# ---- what is cut


def _places(coded: Coded) -> npt.NDArray[np.int64]:
    """record -> code, missing after the last."""
    return np.where(coded.codes < 0, len(coded.values), coded.codes).astype(np.int64)


def _candidates(coded: Coded) -> npt.NDArray[np.int64]:
    """The codes at which an interval may begin: each that occurs but the first, missing apart."""
    begins = np.flatnonzero(coded.counts)[1:]
    if len(begins) > MOST_CUTS:
        begins = _quantiles(begins, np.cumsum(coded.counts))
    apart = [len(coded.values)] if coded.missing and coded.counts.any() else []
    return np.append(begins, apart).astype(np.int64)


def _quantiles(begins: npt.NDArray[np.int64], records: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """As many of them as there may be, at even shares of the records; `records`: up to each code."""
    i = np.arange(MOST_CUTS)
    at = np.searchsorted(records[begins - 1], (i + 1) * (int(records[-1]) / (MOST_CUTS + 1)))
    # A value of several shares takes one cut, and those that were meant for it move on.
    at = np.maximum.accumulate(at - i) + i
    return begins[np.minimum(at, len(begins) - MOST_CUTS + i)]


@dataclass(frozen=True)
class _Candidates:
    """The codes at which each attribute may be cut; called, the interval of each record if all of them are."""

    codes: Mapping[str, npt.NDArray[np.int64]]

    def __call__(self, microdata: Microdata) -> dict[str, npt.NDArray[np.int32]]:
        return {
            name: np.searchsorted(at, _places(microdata[name]), side="right").astype(np.int32)
            for name, at in self.codes.items()
        }


Rows = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]  # codes of the distinct rows, and how many records have each


def _distinct_rows(columns: Sequence[npt.NDArray[np.int32]], n: int) -> Rows:
    if not columns:
        return np.zeros((1, 0), np.uint8), np.array([n])
    partition = classes_of([(column, int(column.max()) + 1) for column in columns])
    first = partition.order[partition.starts[:-1]]
    return np.stack([column[first] for column in columns], axis=1).astype(np.uint8), partition.sizes


# ---- the search


@dataclass(frozen=True)
class _Recoding:
    cost: int
    suppressed: int
    chosen: npt.NDArray[np.bool_]  # cut -> whether it is made


def _good_start(problem: Problem, rows: Rows, deadline: float) -> _Recoding:
    """A greedy recoding improved by exchanges, at first without suppression, which leads to poor ones if used early."""
    strict = problem._replace(limit=0)
    start = _exchanged(strict, rows, _refined(strict, rows, np.zeros(len(problem.code), np.bool_)), deadline)
    start = _refined(problem, rows, start.chosen)
    return _exchanged(problem, rows, start, deadline) if problem.limit else start


def _exchanged(problem: Problem, rows: Rows, best: _Recoding, deadline: float) -> _Recoding:
    """Each cut in turn is taken out and the rest refined anew, as long as that helps."""
    before = None
    while best is not before:
        before = best
        for u in np.flatnonzero(best.chosen):
            if monotonic() >= deadline:
                return best
            best = min(best, _without(problem, rows, best, [u]), key=attrgetter("cost"))
    return best


def _prove(problem: Problem, rows: Rows, best: _Recoding, deadline: float) -> tuple[_Recoding, int, int]:
    """Goes through the tree of cuts; returns the best recoding, the bound and the nodes visited.

    Where the tree is large, each stretch of it is followed by a few tries at a cheaper recoding, with some cuts taken
    out at random: what is found this way prunes the tree. The dice are fixed: only the time given changes the result.
    """
    from shoal.kernels.cut_points import DONE, ENTER, FULL, PAUSED, Progress, advance, grown, open_bound, root

    stack, levels, hashes = root(problem, *rows)
    progress = Progress(np.array([0, ENTER, 0]), np.array([best.cost]), best.chosen.copy())
    stretch = max(_STRETCH, _PASSES * len(rows[1]))
    dice = np.random.default_rng(0)
    status = PAUSED
    while status != DONE and monotonic() < deadline:
        events.tick(int(progress.at[2]))
        status = advance(problem, stack, levels, hashes, progress, stretch)
        if status == FULL:
            stack = grown(stack, len(stack.counts))
        if progress.best[0] < best.cost:
            best = _refined(problem, rows, progress.chosen)
        for _ in range(_TRIES if status == PAUSED and best.chosen.any() else 0):
            events.check()
            some = dice.permutation(np.flatnonzero(best.chosen))[: dice.geometric(0.25)]
            best = min(best, _without(problem, rows, best, some), key=attrgetter("cost"))
        progress.best[0] = best.cost
    return best, int(open_bound(problem, stack, levels, hashes, progress)), int(progress.at[2])


def _refined(problem: Problem, rows: Rows, chosen: npt.NDArray[np.bool_], barred: int = -1) -> _Recoding:
    """With further cuts, each the one that lowers the cost most."""
    from shoal.kernels.cut_rows import hashes
    from shoal.kernels.greedy_cuts import refine

    chosen = chosen.copy()
    most = max(1, events.ROUND // (rows[0].size + 1))  # cuts a call
    done = False
    while not done:
        events.check()
        cost, suppressed, done = refine(problem, *rows, hashes(len(rows[1])), chosen, barred, most)
    return _Recoding(int(cost), int(suppressed), chosen)


def _without(problem: Problem, rows: Rows, recoding: _Recoding, out: npt.ArrayLike) -> _Recoding:
    """These cuts taken out and the rest refined anew, the first of them barred until nothing else helps."""
    cuts = np.atleast_1d(out)
    chosen = recoding.chosen.copy()
    chosen[cuts] = False
    return _refined(problem, rows, _refined(problem, rows, chosen, barred=cuts[0]).chosen)


def _compile() -> None:
    """Runs every kernel once, so that the clock measures the search and not the compiler."""
    from shoal.kernels.cut_rows import problem_of

    problem, rows = problem_of([1], 1, 1, 0), (np.zeros((1, 1), np.uint8), np.ones(1, np.int64))
    _prove(problem, rows, _good_start(problem, rows, np.inf), np.inf)


# ---- in chunks


def _by_sample(whole: WholeTable, candidates: _Candidates, seconds: float | None) -> CutPointSearch:
    """Cuts searched on a sample and verified on all records; on a sample classes must be larger until they hold.

    Nothing is proven of them: no recoding costs less than classes of k.
    """
    sample, k = whole.sample, whole.k
    rows = _distinct_rows([*candidates(sample).values()], len(sample))
    limit, nodes = int(whole.suppression * whole.records), 0
    least = max(min(2, k), ceil(k * len(sample) / whole.records))
    cuts: Mapping[str, tuple[int, ...]] = dict.fromkeys(candidates.codes, ())
    sizes = np.array([whole.records])
    while least <= len(sample):
        result = _search(sample.quasi, candidates, rows, least, whole.suppression, seconds)
        nodes += result.nodes
        made = _Candidates({name: np.array(at, np.int64) for name, at in result.cuts.items()})
        counts = ordered_rows(whole, made)[1]
        if counts[counts < k].sum() <= limit:
            cuts, sizes = result.cuts, counts
            break
        least *= 2
    out = int(sizes[sizes < k].sum())
    cost = int((sizes[sizes >= k] ** 2).sum()) + whole.records * out
    return CutPointSearch(cuts, cost, whole.records * k, out, nodes, sum(map(len, candidates.codes.values())))


# ---- what is shown


class Intervals(Method):
    """Cuts that were chosen, for every chunk alike."""

    cells: Mapping[str, MaskedColumn]  # of each attribute's values, missing last
    notes: tuple[str, ...]

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Each value as the interval it is in."""
        columns = {name: replace(cell, index=cell.index[microdata[name].codes]) for name, cell in self.cells.items()}
        return Masked(columns, notes=self.notes)


def _shown(quasi: Sequence[Coded], result: CutPointSearch, longest: int) -> Intervals:
    cells = {coded.name: _recode(coded, result.cuts[coded.name], longest) for coded in quasi}
    shorter = (note for column in cells.values() for note in shortened_note(column, longest))
    return Intervals(cells, (_in_words(result), *map(_cuts_in_words, cells.values()), *_reservations(quasi), *shorter))


def _recode(coded: Coded, cuts: tuple[int, ...], longest: int) -> MaskedColumn:
    """The interval of each value that occurs in the table, missing last."""
    occurring = np.flatnonzero(np.append(coded.counts, coded.missing))
    cell = np.searchsorted(cuts, occurring, side="right").astype(np.int32)
    starts = np.append(0, np.cumsum(np.bincount(cell, minlength=len(cuts) + 1)))
    codes = np.where(occurring == len(coded.values), MISSING, occurring).astype(np.int32)
    column = publish_range(replace(coded, codes=codes), Partition(np.arange(len(cell)), starts), cell, longest)
    index = np.zeros(len(coded.values) + 1, np.int32)
    index[occurring] = column.index
    return replace(column, index=index)


def _in_words(result: CutPointSearch) -> str:
    done = f"{result.nodes:,} nodes visited over {result.candidates:,} candidate cuts"
    if result.proven:
        return f"Discernibility {result.cost:,}, proven optimal: {done}."
    gap = f"no recoding costs less than {result.bound:,} (gap {result.gap:.1%})"
    return f"Discernibility {result.cost:,}, not proven optimal in the time given: {gap}, {done}."


def _cuts_in_words(column: MaskedColumn) -> str:
    known = column.text.drop_nulls()  # what is missing or may be anything comes last
    last = {WILDCARD: "all other values and missing", None: "missing"}
    rest = [words for text, words in last.items() if text in column.text]
    shown = [*known.filter(known != WILDCARD).str.replace(r"(?s)^\[(.*);(.*)\]$", "$1 to $2"), *rest]
    return f"{column.attribute.name}: {', '.join(shown)}."


def _reservations(quasi: Sequence[Coded]) -> list[str]:
    notes = []
    for coded in quasi:
        occurring = int((coded.counts > 0).sum())
        if coded.is_nominal and occurring > 2:
            notes.append(f"Column {coded.name!r} is nominal: its categories are cut in the order of their codes.")
        if occurring > MOST_CUTS + 1:
            notes.append(
                f"Column {coded.name!r} has {occurring:,} values: it may be cut at {MOST_CUTS} quantiles only, "
                "and the optimum is over these."
            )
    return notes
