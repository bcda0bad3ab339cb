"""`shoal sample` and `shoal regenerate`: tables made, and made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.data.files import read_table
from tests.cli.conftest import QUASI, Shoal
from tests.oracles.released import rows_of


def test_discharges_have_paper_1s_columns(shoal: Shoal, tmp_path: Path) -> None:
    run = shoal("sample", "discharges", "--rows", "250", "--seed", "7", "-o", tmp_path / "d.csv")
    assert (run.code, run.out) == (0, "")
    assert "250 discharges" in run.err
    rows = rows_of(tmp_path / "d.csv")
    assert len(rows) == 250
    assert set(rows[0]) == {*QUASI, "charge", "diag_p"}


def test_a_seed_makes_the_same_table_in_any_format(shoal: Shoal, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.parquet"):
        shoal("sample", "discharges", "--rows", "50", "--seed", "3", "-o", tmp_path / name)
    shoal("sample", "discharges", "--rows", "50", "-o", tmp_path / "other.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "other.csv").read_bytes()
    assert read_table(tmp_path / "c.parquet").rows() == read_table(tmp_path / "a.csv").rows()


@pytest.mark.parametrize(("rows", "word"), [("-1", "-1"), ("many", "--rows")])
def test_a_wrong_number_of_rows_is_told(shoal: Shoal, tmp_path: Path, rows: str, word: str) -> None:
    run = shoal("sample", "discharges", "--rows", rows, "-o", tmp_path / "d.csv")
    assert (run.code, word in run.sentence) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_masked_values_are_regenerated_and_the_input_is_kept(shoal: Shoal, tmp_path: Path) -> None:
    masked, counts, plain = (tmp_path / name for name in ("masked.csv", "counts.csv", "plain.csv"))
    masked.write_text("sex,age\n*,1\nM,2\n*,3\n")
    counts.write_text("attribute,value,count\nsex,M,1\nsex,F,1\n")
    run = shoal("regenerate", masked, "-o", plain, "--counts", counts, "--seed", "1")
    assert run.code == 0, run.err
    assert sorted(row["sex"] for row in rows_of(plain)) == ["F", "M", "M"]
    for target in (masked, counts):
        before = target.read_bytes()
        assert "choose another name" in shoal("regenerate", masked, "-o", target, "--counts", counts).sentence
        assert target.read_bytes() == before
