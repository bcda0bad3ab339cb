"""The public conformance check: our own methods pass, and each way of breaking the rules is found."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.cells import plain_cells
from shoal.data.microdata import Microdata
from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.masking.method import Masked, Method
from shoal.masking.recoding.coarsening import Coarsen, unmasked
from shoal.privacy.model import PrivacyModel
from shoal.testing import NAMES, Case, check_case, check_masks, check_method, is_sentence, tables


class Faulty(Method):
    """Coarsens as it should, but for one fault."""

    fault: str

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        masked = Coarsen(1).mask(microdata, [])
        name, column = next(iter(masked.columns.items()))
        n = len(microdata)
        if self.fault == "untruthful":
            column = replace(column, index=np.roll(column.index, 1))
        elif self.fault == "random":
            column = replace(column, text=pl.Series([str(np.random.default_rng().random())] * len(column.text)))
        elif self.fault == "shows the seed":
            column = replace(column, text=pl.Series([str(seed)] * len(column.text), dtype=pl.String))
        elif self.fault == "too few cells":
            column = replace(column, index=column.index[1:])
        elif self.fault == "leaves out a column":
            return replace(masked, columns={})
        elif self.fault == "suppresses too much":
            cut = {name: replace(c, index=c.index[:0]) for name, c in masked.columns.items()}
            return Masked(cut, np.arange(0))
        elif self.fault == "keeps records twice":
            return replace(masked, kept=np.zeros(n, np.int64))
        elif self.fault == "leaks":
            raise ValueError("k")
        elif self.fault == "mumbles":
            raise shoal.InputError("bad input")
        return replace(masked, columns={**masked.columns, name: column})


def case_for(method: Method) -> Case:
    frame = pl.DataFrame({"x": [1, None, 3, 4], "y": ["a", "b", "b", None]})
    return Case(frame, shoal.Policy(quasi_identifiers=["x", "y"], models=[shoal.KAnonymity(2)], method=method))


def test_methods_that_keep_the_rules_pass() -> None:
    check_method(shoal.Hilbert(), examples=40)


@pytest.mark.parametrize("method", [Coarsen(2), Faulty("none")], ids=lambda method: method.name)
def test_methods_that_leave_promises_to_the_check_pass_if_they_are_said_to(method: Coarsen | Faulty) -> None:
    check_method(method, examples=20, promises=False)


@pytest.mark.parametrize(
    "method",
    [shoal.Noise(1.0), shoal.Swap(0.5), shoal.Shuffle(1.0), shoal.Pram(0.9), shoal.MultiplicativeNoise(0.9)],
    ids=lambda method: method.name,
)
def test_methods_that_perturb_pass_if_they_are_said_to(method: Method) -> None:
    check_method(method, examples=10, truthful=False)


class Lazy(Method):
    """Masks some columns, or none at all."""

    masks: str

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        as_it_is = {coded.name: unmasked(coded) for coded in microdata.quasi}
        hidden = Coarsen(1).mask(microdata, []).columns
        if self.masks == "only the first column":
            name = next(iter(as_it_is))
            return Masked(as_it_is | {name: hidden[name]})
        if self.masks == "only what has an order":
            ordered = {c.name: hidden[c.name] for c in microdata.quasi if not c.is_nominal}
            return Masked(as_it_is | ordered)
        if self.masks == "the order of the records":
            anew = np.random.default_rng(0).permutation(len(microdata))
            return Masked({name: replace(column, index=column.index[anew]) for name, column in as_it_is.items()})
        return Masked(as_it_is)


@pytest.fixture
def unshrunk() -> Iterator[None]:
    """The first table that breaks a promise will do: looking for the smallest takes half a minute."""
    before = settings.get_current_profile_name()
    settings.register_profile("unshrunk", settings.get_profile(before), phases=[Phase.generate])
    settings.load_profile("unshrunk")
    yield
    settings.load_profile(before)


LAZY = ["nothing", "only the first column", "only what has an order"]


@pytest.mark.parametrize("masks", LAZY)
def test_a_method_that_masks_too_little_breaks_its_promises(unshrunk: None, masks: str) -> None:
    with pytest.raises(
        AssertionError, match=r"keep what is promised, or refuse: k-anonymity of \d was promised, \d is"
    ):
        check_method(Lazy(masks))
    with pytest.raises(AssertionError, match="keep what is promised"):
        check_case(case_for(Lazy(masks)))


@pytest.mark.parametrize("choice", ["truthful", "promises"])
@pytest.mark.parametrize("masks", LAZY)
def test_a_method_that_promises_nothing_must_mask_every_column(masks: str, choice: str) -> None:
    with pytest.raises(AssertionError, match="is shown as it is: a method must mask every quasi-identifier"):
        check_method(Lazy(masks), **{choice: False})


def test_records_in_another_order_are_not_masked() -> None:
    with pytest.raises(AssertionError, match="100% are shown as they are, be it in another order"):
        check_masks(Lazy("the order of the records"))
    with pytest.raises(AssertionError, match="does not admit the original value"):
        check_case(case_for(Lazy("the order of the records")))


def test_a_method_that_hardly_masks_is_found_out() -> None:
    with pytest.raises(AssertionError, match="Of the people 100% are found again"):
        check_masks(shoal.Noise(1e-3))
    with pytest.raises(AssertionError, match=r"shown as (it is|they are)"):
        check_masks(shoal.Pram(0.01))


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("untruthful", "does not admit the original value"),
        ("random", "same seed must give the same result"),
        ("shows the seed", "must not show the seed"),
        ("too few cells", "one cell a kept record"),
        ("leaves out a column", "every quasi-identifier and nothing else"),
        ("suppresses too much", "More records left out than allowed"),
        ("keeps records twice", "listed once each"),
        ("mumbles", "say in a sentence"),
    ],
)
def test_each_fault_is_found(fault: str, found: str) -> None:
    with pytest.raises(AssertionError, match=found):
        check_case(case_for(Faulty(fault)))


def test_an_error_of_another_kind_is_not_forgiven() -> None:
    with pytest.raises(ValueError, match="k"):
        check_case(case_for(Faulty("leaks")))


def test_faults_are_found_in_random_tables() -> None:
    with pytest.raises(AssertionError, match="every quasi-identifier and nothing else"):
        check_method(Faulty("leaves out a column"))
    with pytest.raises(AssertionError, match="does not admit the original value"):
        check_method(Faulty("none"), promises=False, on=st.just(case_for(Faulty("untruthful"))))


def test_tables_are_of_every_kind() -> None:
    seen: list[pl.Series] = []

    @settings(max_examples=300, deadline=None, database=None, phases=[Phase.generate])
    @given(tables(max_rows=12))
    def collect(table: pl.DataFrame) -> None:
        seen.extend(table)

    collect()
    types = {column.dtype.base_type() for column in seen if column.null_count()}
    assert types >= {pl.Int64, pl.UInt64, pl.Int8, pl.Float64, pl.Float32, pl.String, pl.Categorical, pl.Enum}
    assert types >= {pl.Boolean, pl.Date, pl.Datetime, pl.Null}
    assert any(column.n_unique() == 1 < len(column) for column in seen)
    assert any(column.dtype == pl.UInt64 and (column.max() or 0) >= 2**63 for column in seen)
    assert {column.name for column in seen} == set(NAMES)


@given(tables(max_rows=12, max_columns=3))
def test_tables_are_as_large_as_asked(table: pl.DataFrame) -> None:
    assert 1 <= len(table) <= 12
    assert 1 <= table.width <= 3


def test_what_a_sentence_is() -> None:
    assert is_sentence("Column 'a' holds 'x': correct it.")
    assert not is_sentence("bad input")
    assert not is_sentence("Two\nlines.")
    assert not is_sentence("")


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(shoal.InputError, match="pip install hypothesis"):
        check_method(shoal.Hilbert())
    with pytest.raises(shoal.InputError, match="pip install hypothesis"):
        tables()


class Rotating(Method):
    """Gives every value way to the one half of all ranks further on: a code that anybody reads who has the method."""

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        columns = {}
        for coded in microdata.quasi:
            if coded.attribute.kind not in (Kind.NUMERIC, Kind.DATE):
                raise InputError("This method is for numbers and dates: give it such.")
            turned = np.roll(np.arange(len(coded.values)), len(coded.values) // 2)[coded.codes]
            columns[coded.name] = plain_cells(coded.values.gather(turned), coded.attribute, coded.positions[turned])
        return Masked(columns)


def test_a_method_that_anybody_can_run_backwards_fails() -> None:
    with pytest.raises(AssertionError, match="It draws nothing: who runs it again"):
        check_masks(Rotating())
