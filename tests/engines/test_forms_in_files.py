"""Dates, amounts and words for missing in a file's own form, on an engine: read and released as in memory."""

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path

import polars as pl
import pytest

from shoal import check
from shoal.data.forms import Forms
from shoal.data.outputs import CERTIFICATE
from shoal.data.reading import Reading
from shoal.engines.opening import open_table
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check, Layout, LedgerFile, Risk, Split, Utility
from shoal.policy import Policy
from shoal.privacy import KAnonymity, MeasuredRisk
from tests.engines.test_table import collected

READ = {"missing": {"*": ["-"]}}
POLICY = Policy(
    quasi_identifiers=["born", "wage"], confidential=["ill"], insensitive=["seen", "paid"], models=[KAnonymity(4)],
    reading=READ,
)  # fmt: skip
RANGE = {
    "born": r"^$|^\[\d\d\.\d\d\.\d{4};\d\d\.\d\d\.\d{4}\]$|^\d\d\.\d\d\.\d{4}$|^\*$",
    "wage": r"^$|^\[[\d.]+,\d\d €;[\d.]+,\d\d €\]$|^[\d.]+,\d\d €$|^\*$",
}


def amount(cents: int) -> str:
    """1.234,56 €."""
    return f"{cents / 100:,.2f} €".translate(str.maketrans(",.", ".,"))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A small German export: days as dd.mm.yyyy, amounts as 1.234,56 €, and - where nothing is known."""
    days = [dt.date(1943, 1, 1) + dt.timedelta(days=37 * place) for place in range(48)]
    rows = [
        {
            "born": "-" if place % 16 == 0 else day.strftime("%d.%m.%Y"),
            "wage": amount(90_000 + 12_345 * place),
            "seen": "-" if place % 7 == 0 else day.strftime("%d.%m.%Y 14:05"),
            "paid": "-" if place % 5 == 0 else amount(99_950 + 100 * place),
            "ill": str(place % 3),
        }
        for place, day in enumerate(days)
    ]
    random.Random(1).shuffle(rows)
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def shown_in(folder: Path) -> pl.DataFrame:
    """All records of a released folder, as text."""
    return pl.concat([pl.read_csv(part, infer_schema=False) for part in sorted(folder.glob("part-*"))])


def test_a_file_is_read_on_disk_as_it_is_in_memory(export: Path) -> None:
    layout = Layout.of(READ)
    forms, own = layout.in_parts("disk", POLICY), layout.forms(POLICY)
    on_disk, in_memory = collected(open_table(export, "disk", forms=forms)), layout.read(export, POLICY, forms=own)
    assert on_disk.schema == {
        "born": pl.Date, "wage": pl.Float64, "seen": pl.Datetime("us"), "paid": pl.Float64, "ill": pl.Int64,
    }  # fmt: skip
    assert on_disk.equals(in_memory)
    assert on_disk.null_count().row(0) == in_memory.null_count().row(0) == (3, 0, 7, 10, 0)
    assert forms.notes == own.notes
    assert forms.settled(Reading()) == own.settled(Reading())


def test_a_file_leaves_the_disk_in_its_own_form(export: Path, tmp_path: Path) -> None:
    folder, file = tmp_path / "r", tmp_path / "r.csv"
    release = Anonymize(export, POLICY, folder, engine="disk", seed=1).run()
    in_memory = Anonymize(export, POLICY, file, seed=1).run()
    shown, beside = shown_in(folder), pl.read_csv(file, infer_schema=False)
    for name, form in RANGE.items():
        assert shown[name].fill_null("").str.contains(form).all()
        assert beside[name].fill_null("").str.contains(form).all()
        assert shown[name].str.contains(r"^\[").any()
    for name in ("seen", "paid", "ill"):  # copied, words for missing included
        assert sorted(shown[name]) == sorted(beside[name]) == sorted(pl.read_csv(export, infer_schema=False)[name])
    kinds = {a.name: a.kind for a in release.survey.schema}
    assert kinds == {a.name: a.kind for a in in_memory.schema}
    assert any("Column 'born' is read as dates written dd.mm.yyyy" in note for note in release.notes)
    paper = json.loads((folder / CERTIFICATE).read_text())
    assert set(paper["read"]["date_format"]) == {"born", "seen"}
    assert paper["read"]["decimal"] == {"wage": ",", "paid": ","}
    assert Check(folder, certificate=folder / CERTIFICATE).run().holds
    assert Check(folder, POLICY).run().holds
    assert all(verdict.holds for verdict in check(folder, POLICY))
    assert not Check(folder, POLICY.changed(models=[KAnonymity(49)])).run().holds


def test_a_release_on_disk_is_compared_with_its_original(export: Path, tmp_path: Path) -> None:
    kinds = {"born": {"kind": "date"}, "wage": {"kind": "numeric"}}
    policy = POLICY.changed(models=[KAnonymity(4), MeasuredRisk(0.9)], attributes=kinds)
    folder = tmp_path / "r"
    made = Anonymize(export, policy, folder, engine="disk", seed=1, keep_order=True).run()
    judged = Check(folder, policy, original=export, paired=True, engine="disk").run()
    assert judged.holds
    assert judged.verdicts[1].achieved == pytest.approx(made.verdicts[1].achieved)
    assert 0 < judged.verdicts[1].achieved < 0.5  # by the dates that cells show, not by their texts
    kept = Utility(export, folder, policy, paired=True, engine="disk").run()
    assert kept.utility.information_loss == pytest.approx(made.information_loss, abs=0.05)


def test_classes_are_told_apart_by_what_stands_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    texts = ["1.500,00 €", "1.500,00 €", "1.500,00 €", "1.500,000 €"]  # the same amount, and another text
    pl.DataFrame({"wage": texts, "ill": [0, 1, 0, 1]}).write_csv(tmp_path / "r" / "part-0.csv")
    policy = Policy(quasi_identifiers=["wage"], confidential=["ill"], models=[KAnonymity(2)])
    assert not Check(tmp_path / "r", policy).run().holds


def test_a_split_release_on_disk_is_in_its_own_form(export: Path, tmp_path: Path) -> None:
    policy = Policy(
        quasi_identifiers=["born"], confidential=["paid", "ill"], models=[KAnonymity(4)], reading=READ,
    )  # fmt: skip
    Split(export, policy, tmp_path / "r", engine="disk", seed=1).run()
    shown = shown_in(tmp_path / "r.paid")
    assert shown["born"].fill_null("").str.contains(RANGE["born"]).all()
    assert shown["paid"].str.contains("€").any()


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_day_and_month_that_nothing_tells_apart_are_asked_for(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("born,ill\n" + "".join(f"{1 + n % 9:02}/{1 + n % 7:02}/2021,{n % 3}\n" for n in range(40)))
    policy = Policy(quasi_identifiers=["born"], confidential=["ill"], models=[KAnonymity(4)])
    with pytest.raises(InputError) as refused:
        Anonymize(path, policy, tmp_path / "r.csv" if engine == "memory" else tmp_path / "r", engine=engine).run()
    assert "Column 'born' holds dates, and nothing shows whether '01/01/2021' is " in str(refused.value)
    assert "say it, as in --read date-format.born=dd/mm/yyyy, or have the column read as text" in str(refused.value)
    stated = policy.changed(reading={"date-format": "dd/mm/yyyy"})
    if engine == "disk":
        Anonymize(path, stated, tmp_path / "r", engine=engine).run()
        assert shown_in(tmp_path / "r")["born"].str.contains(r"^\[\d\d/\d\d/2021;\d\d/\d\d/2021\]$").all()


def test_what_is_no_date_further_down_is_refused_by_name(tmp_path: Path) -> None:
    words = pl.DataFrame({"born": ["13.04.1943"] * 10_000 + ["31.02.1943"]})
    words.write_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"Column 'born' holds dates .* and '31\.02\.1943' further down"):
        collected(open_table(tmp_path / "t.csv", "disk"))


def test_a_format_of_a_column_that_is_not_there_is_refused_on_disk(export: Path) -> None:
    forms = Forms(Reading.of({"missing": {"bron": ["-"]}}))
    with pytest.raises(InputError, match=r"The table has no column 'bron', of which missing is stated\. Did you mean"):
        open_table(export, "disk", forms=forms)


def test_a_decimal_comma_that_is_stated_is_read_and_released(tmp_path: Path) -> None:
    texts = [f"{n / 8:.3f}".replace(".", ",") for n in range(8_008, 8_048)]  # 1001,000 is a thousand here
    pl.DataFrame({"wage": texts, "paid": texts, "ill": [n % 3 for n in range(40)]}).write_csv(tmp_path / "t.csv")
    policy = Policy(
        quasi_identifiers=["wage"], insensitive=["paid"], confidential=["ill"], models=[KAnonymity(4)],
        reading={"decimal": ","},
    )  # fmt: skip
    table = collected(open_table(tmp_path / "t.csv", "disk", forms=Layout.of({"decimal": ","}).in_parts("disk")))
    assert table["wage"].to_list() == [n / 8 for n in range(8_008, 8_048)]
    Anonymize(tmp_path / "t.csv", policy, tmp_path / "r", engine="disk").run()
    shown = shown_in(tmp_path / "r")
    assert shown["wage"].str.contains(r"^\[100\d,\d{3};100\d,\d{3}\]$").all()
    assert sorted(shown["paid"]) == sorted(texts)
    assert Check(tmp_path / "r", certificate=tmp_path / "r" / CERTIFICATE).run().holds


def test_beside_a_ledger_values_leave_in_plain_form_and_that_is_said(export: Path, tmp_path: Path) -> None:
    numbered = pl.read_csv(export, infer_schema=False).with_row_index("id")
    numbered.write_csv(export)
    book = LedgerFile(tmp_path / "l.db", "id", tmp_path / "l.key")
    release = Anonymize(export, POLICY, tmp_path / "r", engine="disk", ledger=book, seed=1).run()
    assert any("leave in plain form" in note and "beside a ledger" in note for note in release.notes)
    shown = shown_in(tmp_path / "r")
    assert shown["wage"].str.contains(r"^\[\d+\.\d+;\d+\.\d+\]$").all()
    assert not shown["paid"].str.contains("€").any()
    assert "read" not in release.certificate  # 1.234 is no thousand there
    assert Check(tmp_path / "r", certificate=tmp_path / "r" / CERTIFICATE).run().holds
    written = Anonymize(export, POLICY, tmp_path / "q.parquet", engine="disk", seed=1).run()
    assert any("leave in plain form" in note and "no text is written" in note for note in written.notes)


def test_shifted_dates_leave_the_disk_in_their_form(tmp_path: Path) -> None:
    days = [dt.date(1990, 1, 1) + dt.timedelta(days=29 * place) for place in range(40)]
    rows = {"id": [f"p{n}" for n in range(40)], "age": [20 + n % 4 for n in range(40)], "seen": days}
    pl.DataFrame(rows).with_columns(pl.col("seen").dt.strftime("%d.%m.%Y")).write_csv(tmp_path / "t.csv")
    policy = Policy(
        quasi_identifiers=["age"], insensitive=["seen"], identifiers=["id"], models=[KAnonymity(4)],
        pseudonyms={"id": {"domain": "person"}}, shift={"columns": ["seen"], "days": 5},
    )  # fmt: skip
    Anonymize(tmp_path / "t.csv", policy, tmp_path / "r", engine="disk", key=tmp_path / "key.txt").run()
    shown = sorted(shown_in(tmp_path / "r")["seen"].str.to_date("%d.%m.%Y"))
    assert shown != days
    assert all(abs((after - before).days) <= 5 for before, after in zip(days, shown, strict=True))


def test_risks_are_measured_on_disk_as_in_memory(export: Path) -> None:
    on_disk, in_memory = (Risk(export, POLICY, engine=engine).run() for engine in ("disk", "memory"))
    assert on_disk.risk.to_dict().items() >= in_memory.risk.to_dict().items()
