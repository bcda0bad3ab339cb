"""What no method masks leaves as it came: texts are escaped only where they would be misread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.method import GROUPINGS
from shoal.data.masked import read_cells
from shoal.data.microdata import Microdata
from shoal.masking.regenerate import regenerate
from shoal.release import draft
from shoal.releases.ledger import Ledger

TEXTS = {  # what came -> what leaves where it stands alone
    "[70-80)": "[70-80)",
    "{x": "{x",
    "a;b": "a;b",
    r"9\3": r"9\3",
    "a*b": "a*b",
    "85+": "85+",
    "[a;b]": r"\[a\;b\]",
    "{a;b}": r"\{a\;b\}",
    "x*": r"x\*",
    "*": r"\*",
    r"\*": r"\\\*",
}
TABLE = pl.DataFrame(
    {"band": [text for text in TEXTS for _ in range(12)], "note": list(TEXTS) * 12, "ill": ["a", "b"] * 66}
)
TREE = tuple((text, "all") for text in TEXTS)


def policy(method: Any = None, **more: Any) -> shoal.Policy:
    chosen = {} if method is None else {"method": method}
    given = {
        "quasi_identifiers": ["band"],
        "confidential": ["ill"],
        "insensitive": ["note"],
        "models": [shoal.KAnonymity(5)],
    }
    return shoal.Policy(**{**given, **chosen, **more})


CLASSES = {
    **{word: {"method": shoal.Grouped(word)} for word in GROUPINGS},
    **{f"mdav-{by}": {"method": shoal.Grouped("mdav", publish=by)} for by in ("mean", "median")},
    "recode": {"method": shoal.GlobalRecoding(), "attributes": {"band": {"hierarchy": TREE}}},
    "coarsen": {"method": shoal.Coarsened(11)},
    "cut-points": {"method": shoal.CutPoints()},
}  # fmt: skip


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("choices", CLASSES.values(), ids=CLASSES)
def test_every_method_shows_a_text_alone_in_the_same_way(choices: dict[str, Any], engine: Any) -> None:
    try:
        released = shoal.anonymize(
            TABLE if engine == "memory" else TABLE.lazy(), policy(**choices), seed=1, engine=engine
        )
    except shoal.InputError:
        assert engine == "disk"  # which refuses some methods
        return
    shown = released.frame.lazy().collect()
    alone = set(shown["band"].filter(~shown["band"].str.contains(r"^\{.*\}$")))
    assert alone <= set(TEXTS.values())
    assert set(shown["note"]) == set(TEXTS)


@pytest.mark.parametrize("method", [shoal.Pram(p=0.3), shoal.Microaggregated(k=5)], ids=repr)
def test_methods_that_perturb_show_a_text_as_the_others_do(method: Any) -> None:
    table = Microdata(TABLE, policy(method).schema(TABLE))
    shown = method.mask(table, [], seed=1).columns["band"].values().cast(pl.String)
    assert set(shown) <= set(TEXTS.values())


def test_a_released_text_reads_back_as_the_value_it_was(tmp_path: Path) -> None:
    """By each that reads a release: the check, the measures of risk and utility, the ledger, the next release."""
    frame = TABLE.with_row_index("id")
    chosen = policy(identifiers=["id"])
    ledger = Ledger(tmp_path / "l.db", b"k" * 32, "id")
    for night in range(2):
        made = draft(frame, chosen, after=ledger).write(tmp_path / f"{night}.csv", ledger=ledger)
        read = read_cells(made.table["band"], chosen.schema(frame)["band"], pl.Series(sorted(TEXTS)))
        assert set(made.table["band"]) == set(TEXTS.values())
        assert sorted(read.low[read.index]) == sorted(list(range(11)) * 12)
        assert made.information_loss == 0
    written = shoal.check(pl.read_csv(tmp_path / "1.csv"), chosen)
    assert all(verdict.holds for verdict in written)
    measured = shoal.utility(frame, made.table, chosen).to_dict()
    assert measured["information_loss"] == 0


def test_what_was_escaped_is_no_mask_to_fill_up() -> None:
    shown = pl.DataFrame({"band": [*(text for text in TEXTS.values() if text != "85+"), "{a;b}", "*"]})
    made = regenerate(shown, {"band": {"a": 1, "b": 1}}, seed=1)["band"].to_list()
    assert made[:-2] == [text for text in TEXTS if text != "85+"]  # an open end, unless the counts list it
    assert sorted(made[-2:]) == ["a", "b"]


# ---- integers


def averaged(ages: list[int | None], by: Any = "mean") -> pl.DataFrame:
    frame = pl.DataFrame({"age": ages, "balance": range(len(ages))}, schema={"age": pl.Int64, "balance": pl.Int64})
    chosen = shoal.Policy(
        quasi_identifiers=["age"], confidential=["balance"], models=[shoal.KAnonymity(2)],
        method=shoal.Grouped("hilbert", publish=by),
    )  # fmt: skip
    return shoal.anonymize(frame, chosen, seed=1).table


@pytest.mark.parametrize("by", ["mean", "median"])
def test_integers_stay_integers_where_every_mean_is_whole(by: Any) -> None:
    assert averaged([1, 3, 10, 12], by)["age"].to_list() == [2, 2, 11, 11]
    assert averaged([1, 3, 10, 12], by).schema == {"age": pl.Int64, "balance": pl.Int64}
    assert averaged([1, 3, 10, 12, 90, None], by)["age"].to_list() == ["2", "2", "11", "11", "*", "*"]


def test_a_mean_that_is_not_whole_makes_floats_of_its_own_column_alone() -> None:
    made = averaged([1, 2, 10, 12])
    assert made.schema == {"age": pl.Float64, "balance": pl.Int64}
    assert made["age"].to_list() == [1.5, 1.5, 11, 11]


def test_on_engines_too_only_averaged_columns_are_floats() -> None:
    frame = pl.DataFrame({"age": [1, 3, 10, 12] * 5, "balance": range(20), "rest": range(20)})
    chosen = shoal.Policy(
        quasi_identifiers=["age"], confidential=["balance"], insensitive=["rest"], models=[shoal.KAnonymity(2)],
        method=shoal.Grouped("mdav", publish="mean"),
    )  # fmt: skip
    made = shoal.anonymize(frame.lazy(), chosen, seed=1, engine="disk").frame.collect()
    assert made.schema == {"age": pl.Float64, "balance": pl.Int64, "rest": pl.Int64}
