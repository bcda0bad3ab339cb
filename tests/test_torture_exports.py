"""The torture's judge of files as systems export them: what it reads by itself, and what it sees."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from torture.exports import AMOUNTS, DATES, Export, Written, amount, dates, draw_export, read_text, wrong_in
from torture.exports import write_export as write
from torture.judge import Row


def written(name: str, values: list[object], texts: list[str], form: str = "") -> Written:
    def day(text: str) -> date:
        number = [int(part) for part in text.split(".")]
        return date(number[2], number[1], number[0])

    return Written(name, values, texts, day if form == "day" else str)


BORN = written("born", [date(1943, 4, 29), date(1944, 5, 1)], ["29.04.1943", "01.05.1944"], "day")
TOWN = written("town", ["a", "b"], ["a", "b"])
CHARGE = written("charge", ["$1.00", "$2.00"], ["$1.00", "$2.00"])
EXPORT = Export(
    [BORN, TOWN], CHARGE, ["p-1", "p-2"], ["Gulmer", "Zorfin"], ["0171 12", "0171 34"], ["", ""], ["0", "1"]
)


def rows(**changed: str) -> list[Row]:
    shown: Row = {"born": "[29.04.1943;01.05.1944]", "town": "{a;b}", "Note": "<NAME>", **changed}
    return [{**shown, "charge": CHARGE.texts[i], "rid": str(i)} for i in range(2)]


def test_a_true_release_passes() -> None:
    assert wrong_in(EXPORT, rows(), 2, people=True, text=True) is None
    assert wrong_in(EXPORT, rows(town="all but {c}", born="*"), 2, people=False, text=True) is None


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"born": "[30.04.1943;01.05.1944]"}, "'born' shows"), ({"born": "[1943-04-29;1944-05-01]"}, "'born' shows"),
        ({"town": "all but {a}"}, "'town' shows"), ({"town": "a"}, "'town' shows"), ({"Note": "ask gulmer"}, "Gulmer"),
        ({"Note": "0171 12"}, "0171 12"),
    ],
)  # fmt: skip
def test_what_is_not_true_or_names_somebody_is_noticed(changed: dict[str, str], sentence: str) -> None:
    assert sentence in (wrong_in(EXPORT, rows(**changed), 2, people=True, text=True) or "")


def test_a_class_of_one_person_and_a_changed_amount_are_noticed() -> None:
    same = replace(EXPORT, who=["p-1", "p-1"])
    assert "a class of 1" in (wrong_in(same, rows(), 2, people=True, text=True) or "")
    moved = rows()
    moved[0]["charge"] = "$1"
    assert "nobody masks" in (wrong_in(EXPORT, moved, 2, people=True, text=True) or "")


def test_every_form_reads_back_what_it_wrote() -> None:
    rng = np.random.default_rng(3)
    for draw in (dates, amount):
        for column in (draw(rng, 12, "x") for _ in range(4 * (len(DATES) + len(AMOUNTS)))):
            known = [i for i, value in enumerate(column.values) if value is not None]
            assert [column.read(column.texts[i]) for i in known] == [column.values[i] for i in known]


def test_a_file_is_read_as_it_was_laid_out(tmp_path: Path) -> None:
    export = draw_export(np.random.default_rng(5))
    write(export, tmp_path / "d.csv", ";", "utf-16")
    assert read_text(tmp_path / "d.csv", ";", "utf-16") == export.records()
