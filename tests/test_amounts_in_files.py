"""Amounts in a file's own form: read as numbers, and released, judged and read back in that form."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from shoal.data.files import read_table
from shoal.data.reading import Reading
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check, Profile
from shoal.policy import Policy
from shoal.privacy import KAnonymity

WAGES = [900.25 + 137.5 * place for place in range(40)]
WRITTEN = {"${:,.2f}": ".", "{:,.2f} EUR": ".", "{:,.2f}": ".", "€ {:.2f}": ".", "de {:,.2f} €": ","}
POLICY = Policy(quasi_identifiers=["wage"], confidential=["ill"], insensitive=["paid"], models=[KAnonymity(4)])


def written(way: str, wage: float) -> str:
    if not way.startswith("de "):
        return way.format(wage)
    return way.removeprefix("de ").format(wage).translate(str.maketrans(",.", ".,"))


def table(folder: Path, way: str) -> Path:
    """A file with a wage written this way twice: once to be masked, once as it is."""
    texts = [written(way, wage) for wage in WAGES]
    frame = pl.DataFrame({"wage": texts, "paid": texts, "ill": [place % 3 for place in range(40)]})
    frame.write_csv(folder / "wages.csv")
    return folder / "wages.csv"


@pytest.mark.parametrize("way", WRITTEN)
def test_amounts_leave_in_the_form_in_which_they_came_and_are_read_back(way: str, tmp_path: Path) -> None:
    source, target, paper = table(tmp_path, way), tmp_path / "r.csv", tmp_path / "c.json"
    assert read_table(source)["wage"].to_list() == WAGES
    release = Anonymize(source, POLICY, target, certificate=paper).run()
    assert any("Column 'wage' is read as numbers written like " in note for note in release.notes)
    assert release.schema["wage"].kind == "numeric"
    shown = pl.read_csv(target, infer_schema=False)
    texts = [written(way, wage) for wage in WAGES]
    ends = shown["wage"].str.extract_groups(r"^\[(.+);(.+)\]$").struct.unnest()
    assert set(ends.to_series(0)) | set(ends.to_series(1)) <= set(texts)
    assert sorted(shown["paid"]) == sorted(texts)
    assert json.loads(paper.read_text())["read"]["decimal"] == {"wage": WRITTEN[way], "paid": WRITTEN[way]}
    assert Check(target, certificate=paper).run().holds
    assert Check(target, POLICY).run().holds
    assert not Check(target, POLICY.changed(models=[KAnonymity(41)])).run().holds


def test_means_have_the_decimals_that_they_need(tmp_path: Path) -> None:
    policy = POLICY.changed(method={"name": "mdav", "publish": "mean"})
    Anonymize(table(tmp_path, "${:,.2f}"), policy, tmp_path / "r.csv").run()
    shown = pl.read_csv(tmp_path / "r.csv", infer_schema=False)["wage"]
    assert shown.str.contains(r"^\$(\d|\d,\d{3}|\d{3})[\d,]*\.\d{2,}$").all()
    assert Check(tmp_path / "r.csv", POLICY).run().holds


def test_a_thousand_or_a_fraction_is_asked_for_and_said_for_a_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('wage,rate\n"1,234",0.5\n"5,678",1.5\n')
    with pytest.raises(InputError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path}: Column 'wage' holds amounts, and nothing shows whether '1,234' is a thousand or a fraction: say it, "
        "as in --read decimal.wage=., or have the column read as text (--read text=wage)."
    )
    assert read_table(path, decimal={"wage": "."})["wage"].to_list() == [1234, 5678]
    fractions = read_table(path, decimal={"wage": ","})
    assert (fractions["wage"].to_list(), fractions["rate"].to_list()) == ([1.234, 5.678], [0.5, 1.5])
    assert any("looked at as text here" in note for note in Profile(path).run().notes)


def test_some_amounts_among_plain_numbers_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('wage\n950.00\n"1,234.50"\n12.00\n15.00\n')
    assert read_table(path)["wage"].to_list() == [950, 1234.5, 12, 15]


def test_a_cell_that_is_no_amount_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('wage\n"$1,234.50"\n$12.00\nlots\n$15.00\n')
    with pytest.raises(InputError, match=r"Column 'wage' mixes numbers and text: line 4 holds 'lots'\. "):
        read_table(path)


@pytest.mark.parametrize("way", ["{}-", "({})"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_what_is_below_nothing_leaves_as_it_came(way: str, engine: str, tmp_path: Path) -> None:
    paid = ["12.50", way.format("83.12"), "1,234.00", way.format("1,000.50")]
    source, paper = tmp_path / "d.csv", tmp_path / "c.json"
    lines = ["wage,ill", *(f'"{paid[i % 4]}",{i % 2}' for i in range(40))]
    source.write_text("\n".join(lines))
    policy = Policy(quasi_identifiers=["wage"], insensitive=["ill"], models=[KAnonymity(20)])
    target = tmp_path / ("r" if engine == "disk" else "r.csv")
    release = Anonymize(source, policy, target, engine=engine, certificate=paper).run()
    assert f", those below nothing like {way.format('1,234,567.50')}." in " ".join(release.notes)
    shown = pl.read_csv(target / "*.csv" if engine == "disk" else target, infer_schema=False)
    assert set(shown["wage"]) == {f"[{way.format('1,000.50')};{way.format('83.12')}]", "[12.50;1,234.00]"}
    assert Check(target, certificate=paper).run().holds
    source.write_text("\n".join([*lines, "-7.00,1"]))
    with pytest.raises(InputError, match=r"'-7\.00'"):
        Anonymize(source, policy, tmp_path / f"odd{target.suffix}", engine=engine).run()


def test_whole_numbers_with_a_minus_behind_are_asked_about_and_said_for_a_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("grade\n1\n2-\n2\n3-\n3\n")
    with pytest.raises(
        InputError, match=r"nothing shows whether '2-' is below nothing: say it, as in --read decimal\.grade=\."
    ):
        read_table(path)
    assert read_table(path, Reading(decimal={"grade": "."}))["grade"].to_list() == [1, -2, 2, -3, 3]
