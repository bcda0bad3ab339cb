"""The torture's own judge: it must see what is wrong, or its silence says nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from torture import judge
from torture.cases import draw_case, run_case
from torture.process import Answer, Shoal
from torture.reading import all_bytes, read_release
from torture.tables import Column, Table

ROOT = Path(__file__).parents[1] / "torture"
AGE = Column("age", pl.Series([20, 21, 30, 31]), ordered=True)
ILL = Column("ill", pl.Series(["a", "a", "a", "b"]), ordered=False)
RID = pl.Series([f"record-00000000000{i}-{i}" for i in range(4)])
TABLE = Table((AGE,), (ILL,), RID, {"identifier": pl.Series(["person-00000000000a"] * 4)})


def released(*ages: str | None) -> list[judge.Row]:
    return [{"age": age, "ill": ILL.values[i], "rid": RID[i]} for i, age in enumerate(ages)]


def test_only_the_worker_imports_shoal() -> None:
    for path in ROOT.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert path.name == "worker.py" or not any(str(name).split(".")[0] == "shoal" for name in modules)


def test_a_class_is_what_shows_the_same_text() -> None:
    classes = judge.classes_of(released("[20;21]", "[20;21]", "30", "30.0"), [AGE])
    assert judge.smallest(classes) == 1


def test_promises_are_counted() -> None:
    classes = judge.classes_of(released("[20;21]", "[20;21]", "[30;31]", "[30;31]"), [AGE])
    assert judge.smallest(classes) == 2
    assert judge.diversity(classes, ILL) == 1
    assert judge.closeness(classes, ILL) == pytest.approx(0.25)


def test_ordered_values_stand_at_equal_steps() -> None:
    charge = Column("charge", pl.Series([1, 2, 3]), ordered=True)
    rows: list[judge.Row] = [{"age": str(i), "charge": str(v)} for i, v in enumerate((1, 2, 3))]
    assert judge.closeness(judge.classes_of(rows, [AGE]), charge) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cell", "value", "admitted"),
    [
        ("[20;21]", 21, True), ("[20;21]", 22, False), ("*", "x", True), ("{a;b\\;c}", "b;c", True),
        ("{a;b}", "c", False), ("\\*", "*", True), (None, None, True), (None, 3, False), ("5.0", 5, True),
    ],
)  # fmt: skip
def test_cells_admit_what_they_say(cell: str | None, value: object, admitted: bool) -> None:
    assert judge.admits(cell, value) is admitted


def test_a_label_that_reads_as_a_mask_is_untrue() -> None:
    tree = {"age": dict.fromkeys(map(str, AGE.values), "{z}")}
    assert judge.untrue(released(*["\\{z\\}"] * 4), TABLE, tree) is None
    assert judge.untrue(released(*["{z}"] * 4), TABLE, tree) is not None


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_values_that_no_row_shows_are_found_in_the_bytes(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    frame = pl.DataFrame({"rid": RID.cast(pl.Enum(RID))}).head(2)
    frame.write_ipc(path) if suffix == ".arrow" else frame.write_parquet(path)
    rows = read_release(path)
    assert "stands in the bytes" in (judge.leaked(all_bytes(path), rows, TABLE) or "")


def test_metadata_is_part_of_the_bytes(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = pa.table({"rid": RID.to_list()}).replace_schema_metadata({"who": "person-00000000000a"})
    pq.write_table(table, tmp_path / "out.parquet", compression="none")
    assert judge.leaked(all_bytes(tmp_path / "out.parquet"), read_release(tmp_path / "out.parquet"), TABLE)


def test_an_unmasked_table_is_found_again() -> None:
    assert judge.found_again(released("20", "21", "30", "31"), TABLE) == 1.0
    assert judge.found_again(released("25", "25", "25", "25"), TABLE) == pytest.approx(0.25)


class Pretender(Shoal):
    """Writes the table as it is, whatever it is asked for."""

    def __init__(self) -> None:
        pass

    def __call__(self, words: list[str]) -> Answer:
        rows = pl.read_csv(words[1], infer_schema=False)
        rows.drop("identifier", "left out").write_csv(words[3])
        return Answer(0, "", "")


def test_a_tool_that_masks_nothing_does_not_pass(tmp_path: Path) -> None:
    seeds = [s for s in range(400) if (c := draw_case(s, ("memory",))).source == ".csv" and c.target == ".csv"][:6]
    assert seeds
    for seed in seeds:
        outcome, wrong = run_case(draw_case(seed, ("memory",)), Pretender(), tmp_path / "case")
        assert outcome == "released"
        assert wrong


def test_a_case_follows_from_its_seed() -> None:
    one, again = (draw_case(7, ("memory", "disk")) for _ in range(2))
    assert one.name == again.name
    assert one.table.frame().equals(again.table.frame())
    assert isinstance(np.random.default_rng(7), np.random.Generator)


def test_a_text_escaped_in_vain_is_seen() -> None:
    assert [cell for cell in (r"\[70-80)", r"a\;b", r"9\\3") if not judge.escaped_in_vain(cell)] == []
    for cell in ("[70-80)", r"\[a\;b\]", r"x\*", r"\\\*", r"{a\;b;c}", r"[a\;b;c]", r"a\;b*", None):
        assert not judge.escaped_in_vain(cell)
