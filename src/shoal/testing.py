"""Random tables of every kind for Hypothesis, and the conformance check that any masking method can run.

    from hypothesis import given
    from shoal.testing import cases, check_method

    def test_my_method_conforms():
        check_method(MyMethod())

    @given(cases(MyMethod()))
    def test_something_else_of_mine(case): ...

Everyday input is what known tools fall over: missing values, constant columns, 64-bit integers, text that looks like a
mask, columns called `len`. All of it turns up here.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded, Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Kind
from shoal.errors import InputError, ShoalError
from shoal.masking.method import Masked, Method
from shoal.measure import Pair
from shoal.policy import Policy
from shoal.privacy import KAnonymity, LDiversity, TCloseness
from shoal.privacy.check import judge, released_classes
from shoal.privacy.model import PrivacyModel, Source
from shoal.risk.found_again import found_again

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

# Names that quoting, queries or patterns may stumble over, and texts that may be taken for masks or numbers.
NAMES = (
    *("age", "sex", "zip code", "Größe", "年齢", 'say "so"', "it's", "a,b", "a;b", "[1;2]", "{x}", "tab\there", "x^2$"),
    *("len", "share", "count", "index", "literal", "value", "low", "high", "text", "cell", "@value", "@row", "@0"),
)
WORDS = (
    *("a", "b", "ab", "abc", "A", "é", "", " ", "a b", "a,b", 'say "so"', "two\nlines", "null", "007", "7", "-"),
    *("a;b", "*", "9*", "937**", "[1;2]", "{a;b}", "\\", "85+"),
)
SEED = 8_230_917_465
_OPEN = 0.9  # share of a table that is left open where a method hardly masks
_PROBED = (  # attributes of every kind, in an order, on a line, or of categories
    ["age", "income", "day", "grade", "town", "job"],
    ["age", "income", "day", "grade"],
    ["age", "income", "day"],
    ["grade", "town", "job"],
    ["town", "job"],
)


@dataclass(frozen=True)
class Case:
    """A table and what is asked for it."""

    table: pl.DataFrame
    policy: Policy


def columns(rows: int, name: str = "x") -> SearchStrategy[pl.Series]:
    """A column of any kind, of many values, few or one, often with some missing."""
    return _strategies().composite(_draw_column)(rows, name)  # type: ignore[no-any-return]


def tables(*, max_rows: int = 40, max_columns: int = 6) -> SearchStrategy[pl.DataFrame]:
    """Tables of such columns, under names that need care."""

    def some(draw: DrawFn) -> pl.DataFrame:
        return _draw_table(draw, max_rows, draw(_one_of(*range(1, max_columns + 1))))

    return _strategies().composite(some)()  # type: ignore[no-any-return]


def cases(method: Method, *, max_rows: int = 40) -> SearchStrategy[Case]:
    """A table with roles given to its columns, models that may or may not be reachable, and this method."""

    def some(draw: DrawFn) -> Case:
        counts = [draw(_one_of(*choice)) for choice in ((1, 2, 3, 4), (0, 1, 1, 2), (0, 1), (0, 1, 2))]
        table = _draw_table(draw, max_rows, sum(counts))
        ends = np.cumsum(counts).tolist()
        quasi, confidential, identifiers, rest = (
            table.columns[end - count : end] for end, count in zip(ends, counts, strict=True)
        )
        trees = {name: tree for name in quasi if (tree := _draw_hierarchy(draw, table[name]))}
        policy = Policy(
            quasi_identifiers=quasi,
            confidential=confidential,
            identifiers=identifiers,
            insensitive=rest[1:],  # the first is left without a role
            models=[KAnonymity(draw(_one_of(2, 3, 5))), *_draw_models(draw, confidential)],
            method=method,
            suppression=draw(_one_of(0.0, 0.1, 0.5)),
            attributes={name: {"hierarchy": tree} for name, tree in trees.items()},
        )
        return Case(table, policy)

    return _strategies().composite(some)()  # type: ignore[no-any-return]


def check_method(
    method: Method,
    *,
    on: SearchStrategy[Case] | None = None,
    examples: int = 100,
    truthful: bool = True,
    promises: bool = True,
) -> None:
    """Raises AssertionError where the method breaks what every masking method keeps.

    It masks the quasi-identifiers, record by record, truthfully (each cell admits the original value) and within the
    suppression allowed; it keeps the models promised, or refuses; it changes nothing it was given; the same seed gives
    the same result and does not show in it; and what it cannot do it says in a sentence, as a ShoalError. `on` are the
    cases to try, for a method that can only work on some tables.

    A method that perturbs is not `truthful`, and one may leave it to the check of a release whether `promises` are
    kept. Either must still mask: of a table in which nobody is like another, every column and nearly every record.
    """
    _strategies()
    if not (truthful and promises):
        check_masks(method)
    from hypothesis import given, settings

    @settings(max_examples=examples, deadline=None, database=None)
    @given(cases(method) if on is None else on)
    def conforms(case: Case) -> None:
        check_case(case, truthful=truthful, promises=promises and truthful)

    conforms()


def check_case(case: Case, *, truthful: bool = True, promises: bool = True) -> None:
    """The same for one table."""
    from shoal.draft import assemble, prepare

    policy, before = case.policy, case.table.clone()
    try:
        original, _ = prepare(case.table, policy)
        models = policy.promises(original.schema)
        masked, again = (
            policy.method.mask(original, models, suppression=policy.suppression, seed=SEED) for _ in range(2)
        )
    except ShoalError as refused:
        sentence = str(refused)
        assert is_sentence(sentence), f"An error must say in a sentence what is wrong. Got {sentence!r}."
        return
    assert case.table.equals(before), "A method must not change the table it is given."
    _check_shape(original, masked, policy.suppression)
    assert _shown(masked).equals(_shown(again)), "The same seed must give the same result."
    seed_is_shown = str(SEED) in _shown(masked).write_csv() and str(SEED) not in before.write_csv()
    assert not seed_is_shown, "A release must not show the seed."
    kept = kept_records(original, masked)
    for name, column in masked.columns.items() if truthful else ():
        wrong = kept[~admitted(original[name], column.values(), kept)]
        assert wrong.size == 0, f"Column {name!r} does not admit the original value of record {wrong[0]}."
    if promises:
        classes = released_classes(assemble(original, masked), original.schema, Source(original, masked.kept))
        for verdict in judge(classes, models):
            kept_promise = f"{verdict.model} of {verdict.asked:g} was promised, {verdict.achieved:.4g} is reached"
            assert verdict.holds, f"A method must keep what is promised, or refuse: {kept_promise}."


def check_masks(method: Method) -> None:
    """Raises AssertionError where the method shows a table as it is, or nearly so.

    It is tried on a table of every kind of attribute, or else on those kinds that it does not refuse.
    """
    from shoal.draft import prepare

    for names in _PROBED:
        table = _probe().select(names)
        policy = Policy(quasi_identifiers=names, models=[], method=method)
        try:
            original, _ = prepare(table, policy)
            masked = method.mask(original, [], seed=SEED)
        except ShoalError:
            continue
        kept = kept_records(original, masked)
        before, after = table[kept].select(pl.all().cast(pl.String)), _shown(masked).select(pl.all().cast(pl.String))
        for name in names:
            as_it_is = before[name].equals(after[name], null_equal=True)
            assert not as_it_is, f"Column {name!r} is shown as it is: a method must mask every quasi-identifier."
        open_ = before.join(after.unique(), on=names, how="semi", nulls_equal=True).height / before.height
        assert open_ < _OPEN, f"Of the records {open_:.0%} are shown as they are, be it in another order."
        share = found_again(Pair.of(original, masked.columns, masked.kept))
        assert share < _OPEN, f"Of the people {share:.0%} are found again: a method must mask."
        again = _shown(method.mask(original, [], seed=SEED + 1)).select(pl.all().cast(pl.String))
        alone = after.n_unique() / after.height if again.equals(after, null_equal=True) else 0.0
        assert alone < _OPEN, f"It draws nothing: who runs it again knows whose {alone:.0%} of the rows are."
        return


def _probe() -> pl.DataFrame:
    """Nobody is like another in any two attributes."""
    rng = np.random.default_rng(SEED)
    n = 120
    return pl.DataFrame(
        {
            "age": rng.permutation(n),
            "income": np.exp(rng.normal(10, 1, n)),
            "day": [dt.date(1990, 1, 1) + dt.timedelta(int(day)) for day in rng.permutation(n)],
            "grade": pl.Series([f"{i % 30:02}" for i in range(n)], dtype=pl.Enum([f"{i:02}" for i in range(30)])),
            "town": [f"town {i // 4}" for i in range(n)],
            "job": [f"job {i % 40}" for i in range(n)],
        }
    )


def admitted(coded: Coded, shown: pl.Series, kept: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether what is shown of each kept record, read back as text, admits the record's original value."""
    cells = read_cells(shown, coded.attribute, coded.values)
    on_a_line = coded.attribute.kind in (Kind.NUMERIC, Kind.DATE)
    places = coded.values.to_physical().to_list() if on_a_line else list(range(len(coded.values)))
    return np.array(
        [
            _admits(cells, cell, None if code < 0 else places[code])
            for cell, code in zip(cells.index, coded.codes[kept], strict=True)
        ],
        np.bool_,
    )


def _admits(cells: MaskedColumn, cell: int, place: float | None) -> bool:
    runs = cells.runs
    assert runs is not None
    stretches = range(runs.starts[cell], runs.starts[cell + 1])
    if place is None:  # a missing value: a missing cell or the wildcard admits it
        return len(stretches) == 0 or bool(runs.whole[cell])
    return any(runs.low[r].item() <= place <= runs.high[r].item() for r in stretches)


def kept_records(original: Microdata, masked: Masked) -> npt.NDArray[np.int64]:
    """The original rows that were released, ascending: all of them where none was left out."""
    return np.arange(len(original)) if masked.kept is None else masked.kept


def is_sentence(text: str) -> bool:
    """One paragraph from a capital, a name or a quote to a full stop, and no traceback."""
    return re.fullmatch(r"[\w'\"/][^\n]*[.?]", text) is not None and "Traceback" not in text


def _check_shape(original: Microdata, masked: Masked, suppression: float) -> None:
    quasi = original.schema.quasi_identifiers
    assert sorted(masked.columns) == sorted(quasi), "A method must mask every quasi-identifier and nothing else."
    kept = kept_records(original, masked)
    assert (np.diff(kept) > 0).all(), "The kept records must be listed once each, ascending."
    assert ((kept >= 0) & (kept < len(original))).all(), "Only records of the table can be kept."
    assert len(original) - len(kept) <= suppression * len(original) + 1e-9, "More records left out than allowed."
    for name, column in masked.columns.items():
        assert len(column.index) == len(kept), f"Column {name!r} must have one cell a kept record."


def _shown(masked: Masked) -> pl.DataFrame:
    return pl.DataFrame([masked.columns[name].values() for name in sorted(masked.columns)])


# ---- what is drawn


def _draw_table(draw: DrawFn, max_rows: int, width: int) -> pl.DataFrame:
    st = _strategies()
    rows = draw(st.one_of(st.just(max_rows), st.integers(1, max_rows)))
    names = draw(st.lists(_one_of(*NAMES), min_size=width, max_size=width, unique=True))
    return pl.DataFrame([_draw_column(draw, rows, name) for name in names])


def _draw_column(draw: DrawFn, rows: int, name: str) -> pl.Series:
    st = _strategies()
    values, dtype, most = draw(_one_of(*_kinds()))
    size = min(most, draw(_one_of(1, 2, 4, 12)))
    pool = draw(st.lists(values, min_size=size, max_size=size, unique=True))
    if isinstance(dtype, pl.Enum):  # categories that do not occur have their place in the order, too
        dtype = pl.Enum(list(dict.fromkeys(["none", *pool, "all"])))
    if draw(st.booleans()):
        pool = [*pool, None]
    picks = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(len(pool), size=rows)
    return pl.Series(name, [pool[pick] for pick in picks], dtype=dtype)


@cache
def _kinds() -> tuple[tuple[SearchStrategy[Any], Any, int], ...]:
    """Kinds of columns: their values, their type, and how many different values there can be."""
    st = _strategies()
    text = st.one_of(_one_of(*WORDS), st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
    number = {"allow_nan": False, "allow_infinity": False}
    return (
        (st.integers(-3, 99), pl.Int64, 12),
        (st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(2**63 - 999, 2**63 - 1)), pl.Int64, 12),
        (st.one_of(st.integers(0, 9), st.integers(2**64 - 999, 2**64 - 1)), pl.UInt64, 12),
        (st.integers(-128, 127), pl.Int8, 12),
        (st.floats(**number), pl.Float64, 12),
        (st.floats(-10, 10, width=32), pl.Float32, 12),
        (text, pl.String, 12),
        (text, pl.Categorical, 12),
        (text, pl.Enum([]), 12),
        (st.booleans(), pl.Boolean, 2),
        (st.dates(dt.date(1990, 1, 1), dt.date(1990, 12, 31)), pl.Date, 12),
        (st.dates(), pl.Date, 12),
        (st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), pl.Datetime("us"), 12),
        (st.none(), pl.Null, 1),
    )


def _draw_models(draw: DrawFn, confidential: list[str]) -> list[PrivacyModel]:
    models: list[PrivacyModel] = []
    for name in confidential:
        for model in draw(_one_of((), ("t",), ("l",), ("t", "l"))):
            if model == "t":
                t = draw(_one_of(0.05, 0.15, 0.3, 0.5, 0.8))
                models.append(TCloseness(t, name, draw(_one_of("auto", "ordered", "equal"))))
            else:
                variant = draw(_one_of("distinct", "entropy", "recursive"))
                models.append(LDiversity(draw(_one_of(1, 1.5, 2, 3)), name, variant, draw(_one_of(0.5, 2.0, 4.0))))
    return models


def _draw_hierarchy(draw: DrawFn, column: pl.Series) -> tuple[tuple[str, ...], ...] | None:
    """For texts and categories, now and then: values in groups by their length, and all in one."""
    labels = column.cast(pl.String).drop_nulls().unique().sort().to_list()
    if column.dtype not in (pl.String, pl.Categorical) or not labels or draw(_strategies().booleans()):
        return None
    lengths = {len(label) for label in labels}
    if 1 < len(lengths) < len(labels):  # each level must be coarser than the one below
        return tuple((label, f"of {len(label)} letters", "any text") for label in labels)
    return tuple((label, "any text") for label in labels)


def _one_of(*choices: Any) -> SearchStrategy[Any]:
    return _strategies().sampled_from(choices)  # type: ignore[no-any-return]


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError:
        raise InputError("shoal.testing needs the package hypothesis: pip install hypothesis.") from None
    return strategies
