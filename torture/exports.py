"""Files as systems export them: dates and amounts as a country writes them, words for missing, encodings, remarks.

What comes out is read by a reader of this module's own, which knows how each column was written, and compared with the
values that were written.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torture.cases import listed
from torture.process import Answer, Shoal
from torture.reading import Row, all_bytes, read_release, records_of
from torture.tables import token

METHODS = ("hilbert", "sorted", "kd", "kd-median", "stratified", "cut-points")
DATES = {
    "dd.mm.yyyy": "%d.%m.%Y", "mm/dd/yyyy": "%m/%d/%Y", "dd/mm/yyyy": "%d/%m/%Y", "dd-mmm-yyyy": "%d-%b-%Y",
    "dd.mm.yy": "%d.%m.%y", "dd. mmmm yyyy": "%d. %B %Y", "dd.mm.yyyy hh:mm": "%d.%m.%Y %H:%M",
    "mm/dd/yyyy hh:mm am": "%m/%d/%Y %I:%M %p", "yyyymmdd": "%Y%m%d", "yyyy/mm/dd": "%Y/%m/%d",
    "yyyy-mm-dd": "%Y-%m-%d",
}  # fmt: skip
# What stands before an amount, what parts thousands, the decimal mark, and what stands behind.
AMOUNTS = (
    *(("$", ",", ".", ""), ("", ".", ",", " €"), ("", "\u00a0", ",", " €"), ("CHF ", "'", ".", ""), ("", ",", ".", "")),
    *(("£", ",", ".", ""), ("", "", ",", ""), ("", "", ".", "")),
)
MONTHS = {
    "January": "Januar", "February": "Februar", "March": "März", "May": "Mai", "June": "Juni", "July": "Juli",
    "October": "Oktober", "December": "Dezember",
}  # fmt: skip
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16")
SYLLABLES = ("ba", "dor", "fin", "gul", "käm", "lö", "mer", "nau", "pel", "quen", "rich", "sto", "tüm", "wis", "zor")


@dataclass(frozen=True)
class Written:
    """A column: its values, their texts in the file, and how such a text is read back."""

    name: str
    values: list[Any]
    texts: list[str]
    read: Callable[[str], Any]
    words: tuple[str, ...] = ()  # what says how it is written


@dataclass(frozen=True)
class Export:
    quasi: list[Written]
    amount: Written  # confidential, masked by nobody
    who: list[str]  # record -> a person's number
    names: list[str]
    phones: list[str]
    notes: list[str]
    rid: list[str]

    def records(self) -> list[dict[str, str]]:
        columns = {"Patient": self.who, "Name": self.names, "Phone": self.phones}
        columns |= {column.name: column.texts for column in (*self.quasi, self.amount)}
        columns |= {"Note": self.notes, "rid": self.rid}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# ---- drawn


def run_export(seed: int, shoal: Shoal, folder: Path) -> tuple[str, str | None]:
    """Whether it was "released" or "refused", and what is wrong about that."""
    rng = np.random.default_rng(seed)
    export = draw_export(rng)
    disk = bool(rng.random() < 0.25)
    delimiter = "," if disk else str(rng.choice([",", ";", "\t", "|"]))
    encoding = "utf-8" if disk else str(rng.choice(ENCODINGS))
    source = folder / ("in/part.csv" if disk else "in.csv")
    source.parent.mkdir(exist_ok=True)
    write_export(export, source, delimiter, encoding)
    suffix = "" if disk else str(rng.choice([".csv", ".csv", ".csv", ".parquet", ".xlsx"]))
    output, k, people = folder / f"out{suffix}", int(rng.choice([2, 3, 5])), bool(rng.random() < 0.5)
    words = ["anonymize", str(source.parent if disk else source), "-o", str(output), "--k", str(k)]
    words += ["--quasi", listed(column.name for column in export.quasi), "--confidential", export.amount.name]
    words += ["--identifiers", "Patient,Name,Phone", "--insensitive", "rid", "--method", str(rng.choice(METHODS))]
    words += ["--mask-text", "Note", "--seed", str(seed)]
    words += ["--person", "Patient"] if people else []
    stated = [word for column in (*export.quasi, export.amount) for word in column.words]
    stated += [f"encoding={encoding}"] if encoding == "cp1252" and rng.random() < 0.5 else []
    words += ["--read", listed(stated)] if stated else []
    words += ["--engine", "disk"] if disk else ["--certificate", str(folder / "certificate.json")]
    answer = shoal(words)
    if "went wrong inside" in answer.err or answer.code not in (0, 1, 2):
        return "refused", f"exit code {answer.code}: {answer.err.strip()[-300:]}"
    if answer.code:
        wrong = "refused, and a file stands there" if output.exists() else _wrongly_refused(answer)
        return "refused", wrong
    rows = read_text(output, delimiter, encoding) if suffix == ".csv" else read_release(output)
    wrong = wrong_in(export, rows, k, people=people, text=suffix in ("", ".csv")) or _named(export, output, rows)
    return "released", wrong or _check_disagrees(shoal, output, folder, people=people, disk=disk)


def draw_export(rng: np.random.Generator) -> Export:
    rows = int(rng.choice([12, 40, 120, 250]))
    owner = rng.integers(0, max(6, rows // 2), rows)
    names = _names(rng, int(owner.max()) + 1)
    numbers = [token(rng, "patient") for _ in names]
    phones = [f"0171 {rng.integers(1_000_000, 9_999_999)}" for _ in names]
    notes = [f"Herr/Frau {names[one]} ({numbers[one]}) ruft an: {phones[one]}, {token(rng, 'x')}@klinik.de"
             for one in owner]  # fmt: skip
    quasi = [dates(rng, rows, "Geburt"), _codes(rng, rows, "PLZ"), amount(rng, rows, "Einkommen"), _towns(rng, rows)]
    chosen = sorted(rng.choice(len(quasi), rng.integers(1, 4), replace=False))
    return Export(
        [quasi[j] for j in chosen], amount(rng, rows, "Betrag"), [numbers[one] for one in owner],
        [names[one] for one in owner], [phones[one] for one in owner], notes,
        [f"{token(rng, 'record')}-{i}" for i in range(rows)],
    )  # fmt: skip


def _names(rng: np.random.Generator, count: int) -> list[str]:
    """Surnames of which none is part of another word here."""
    drawn: set[str] = set()
    while len(drawn) < count:
        drawn.add("".join(rng.choice(SYLLABLES, 4)).capitalize())
    return sorted(drawn)


def dates(rng: np.random.Generator, rows: int, name: str) -> Written:
    form = str(rng.choice(list(DATES)))
    first, timed = dt.datetime(1940, 1, 1), "h" in form
    moments = [first + dt.timedelta(minutes=int(minute)) for minute in rng.integers(0, 25_000 * 1440, rows)]
    days = [moment if timed else moment.date() for moment in moments]
    texts = [day.strftime(DATES[form]) for day in days]
    texts = [_spelled(text, to=MONTHS) for text in texts] if "mmmm" in form else texts
    words = (f"date-format.{name}={form}",) if "/" in form and not form.startswith("y") and rng.random() < 0.7 else ()
    return _with_gaps(rng, Written(name, list(days), texts, lambda text: _day(text, DATES[form]), words))


def _day(text: str, form: str) -> dt.date:
    """Two digits of a year lie in the hundred years from 1930; months may have German names."""
    named = _spelled(text, to={name: month for month, name in MONTHS.items()}) if "%B" in form else text
    moment = dt.datetime.strptime(named, form)
    if "%y" in form:
        moment = moment.replace(year=1930 + (moment.year - 1930) % 100)
    return moment if "%H" in form or "%I" in form else moment.date()


def _spelled(text: str, *, to: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, to)), lambda match: to[match[0]], text)


def amount(rng: np.random.Generator, rows: int, name: str) -> Written:
    before, thousands, decimal, behind = AMOUNTS[rng.integers(len(AMOUNTS))]
    values = np.round(
        rng.lognormal(8, 1.5, rows) * rng.choice([1, -1] if rng.random() < 0.2 else [1], rows), 2
    ).tolist()
    plain = [f"{abs(value):,.2f}".split(".") for value in values]
    texts = [f"{before}{whole.replace(',', thousands)}{decimal}{cents}{behind}" for whole, cents in plain]
    texts = [f"{'-' * (value < 0)}{text}" for value, text in zip(values, texts, strict=True)]

    def read(text: str) -> float:
        if text.startswith("-"):
            return -read(text[1:])
        assert text.startswith(before), text
        assert text.endswith(behind), text
        body = text[len(before) : len(text) - len(behind)]
        assert "." not in body.replace(thousands or "x", "").replace(decimal, ""), text
        return float(body.replace(thousands, "").replace(decimal, ".") if thousands else body.replace(decimal, "."))

    return _with_gaps(rng, Written(name, values, texts, read))


def _codes(rng: np.random.Generator, rows: int, name: str) -> Written:
    codes = [f"{code:05}" for code in rng.choice(rng.integers(900, 99_999, 40), rows)]
    return Written(name, list(codes), codes, str)


def _towns(rng: np.random.Generator, rows: int) -> Written:
    towns = [f"{syllable.capitalize()}stadt" for syllable in SYLLABLES]
    drawn = [str(town) for town in rng.choice(towns[: int(rng.integers(2, len(towns)))], rows)]
    return _with_gaps(rng, Written("Ort", list(drawn), drawn, str))


def _with_gaps(rng: np.random.Generator, column: Written) -> Written:
    """Now and then nothing is known, and the file has a word for that, which is stated."""
    if rng.random() < 0.6:
        return column
    word = str(rng.choice(["-", "n/a", "?", "unbekannt"]))
    gaps = rng.random(len(column.values)) < 0.1
    return Written(
        column.name, [None if gap else value for gap, value in zip(gaps, column.values, strict=True)],
        [word if gap else text for gap, text in zip(gaps, column.texts, strict=True)],
        column.read, (*column.words, f"missing.{column.name}={word}"),
    )  # fmt: skip


def write_export(export: Export, path: Path, delimiter: str, encoding: str) -> None:
    records, written = export.records(), io.StringIO()
    writer = csv.DictWriter(written, list(records[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    path.write_bytes(written.getvalue().encode(encoding))


# ---- judged


def read_text(path: Path, delimiter: str, encoding: str) -> list[Row]:
    """The release as the file was laid out."""
    names, *rest = records_of(path.read_bytes().decode(encoding), delimiter)
    return [dict(zip((name or "" for name in names), record, strict=True)) for record in rest]


def wrong_in(export: Export, rows: list[Row], k: int, *, people: bool, text: bool) -> str | None:
    """Classes that are too small, cells that are not true, changed texts; `text`: written as texts are."""
    names = [column.name for column in export.quasi]
    if not rows or set(rows[0]) != {*names, export.amount.name, "Note", "rid"}:
        return f"the columns {sorted(rows[0]) if rows else []}"
    place = {rid: i for i, rid in enumerate(export.rid)}
    counted: dict[object, set[object]] = {}
    for row in rows:
        who = export.who[place[row["rid"] or ""]] if people else row["rid"]
        counted.setdefault(tuple(row[name] for name in names), set()).add(who)
    if (least := min(map(len, counted.values()))) < k:
        return f"a class of {least}, {k} were promised"
    for row in rows:
        i = place[row["rid"] or ""]
        for column in export.quasi:
            if not _admits(row[column.name], column, i, text=text):
                return f"{column.name!r} shows {row[column.name]!r} for {column.texts[i]!r}"
        shown = row[export.amount.name]
        if text and shown != export.amount.texts[i]:
            return f"{export.amount.name!r} shows {shown!r} for {export.amount.texts[i]!r}, which nobody masks"
        if not text and not _is(shown, export.amount, export.amount.values[i], text=False):
            return f"{export.amount.name!r} shows {shown!r} for {export.amount.texts[i]!r}, which nobody masks"
        note = (row["Note"] or "").casefold()
        for secret in (export.who[i], export.names[i], export.phones[i], "@klinik.de"):
            if secret.casefold() in note:
                return f"a masked remark says {secret!r}: {row['Note']!r}"
    return None


def _admits(cell: str | None, column: Written, i: int, *, text: bool) -> bool:
    value = column.values[i]
    if cell == "*" or cell is None or value is None:
        return cell == "*" or (cell is None and value is None)
    if match := re.fullmatch(r"\[((?:\\.|[^\\;])*);((?:\\.|[^\\;])*)\]", cell):
        try:
            low, high = (_read(end, column, text=text) for end in match.groups())
        except (ValueError, AssertionError):
            return False
        return bool(low <= value <= high)
    if match := re.fullmatch(r"(all but )?\{(.*)\}", cell):
        listed_there = any(_is(part, column, value, text=text) for part in re.findall(r"(?:\\.|[^\\;])+", match[2]))
        return listed_there != bool(match[1])
    if isinstance(value, str) and cell.endswith("*"):
        return len(cell) == len(value) and value.startswith(cell.rstrip("*"))
    return _is(cell, column, value, text=text)


def _is(cell: str | None, column: Written, value: object, *, text: bool) -> bool:
    if cell is None or value is None:
        return cell is None and value is None
    try:
        return bool(_read(cell, column, text=text) == value)
    except (ValueError, AssertionError):
        return False


def _read(cell: str, column: Written, *, text: bool) -> Any:
    """A value by the column's own form, or where no text file was written by ISO 8601 and points."""
    plain = re.sub(r"\\([\\;{}\[\]*])", r"\1", cell)
    if text or isinstance(next((value for value in column.values if value is not None), ""), str):
        return column.read(plain)
    known = next(value for value in column.values if value is not None)
    if isinstance(known, dt.datetime):
        return dt.datetime.fromisoformat(plain)
    return dt.date.fromisoformat(plain[:10]) if isinstance(known, dt.date) else float(plain)


def _named(export: Export, output: Path, rows: list[Row]) -> str | None:
    """An identifier in the bytes of what was released."""
    public = all_bytes(output)
    known = next((one for one in {*export.who, *export.names, *export.phones} if one.encode() in public), None)
    return None if known is None else f"the identifier {known!r} stands in the bytes"


def _wrongly_refused(answer: Answer) -> str | None:
    """All that is in doubt was stated, so that no column is refused for how it is written."""
    doubted = re.search(r"mixes|cannot be told|may mean|day or (the )?month|is in doubt", answer.err)
    return f"refused for how it is written: {answer.err.strip()[-300:]}" if doubted else None


def _check_disagrees(shoal: Shoal, output: Path, folder: Path, *, people: bool, disk: bool) -> str | None:
    if people:  # the file does not show whose a record is
        return None
    certificate = output / "_certificate.json" if disk else folder / "certificate.json"
    answer = shoal(["check", str(output), "--certificate", str(certificate)])
    return None if answer.code == 0 else f"check says {answer.code}: {answer.err.strip()[-300:]}"
