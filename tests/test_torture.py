"""The torture's own judge: it must see what is wrong, or its silence says nothing."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import shutil
import time
from argparse import Namespace
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import polars as pl
import pyarrow as pa
import pytest
from torture import judge
from torture.__main__ import Plan
from torture.attacks import all_tables
from torture.cases import Case, draw_case, seed_of, words_of
from torture.collisions import confused
from torture.figures import BEGIN, END, into_document
from torture.fuzz import run_words
from torture.kills import leftovers
from torture.process import Answer, Shoal
from torture.purchases import run_purchases
from torture.reading import all_bytes, read_release
from torture.splits import run_split
from torture.state import State
from torture.tables import Column, Table, write
from torture.verdicts import digests, judged, run_case
from torture.work import PIECES

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
        ("{a;b}", "c", False), ("all but {a;b}", "c", True), ("all but {a;b}", "b", False), ("all but c", "c", False),
        ("2001-Q2", date(2001, 4, 1), True), ("2001-Q2", date(2001, 7, 1), False), ("1990s", date(1999, 1, 1), True),
        ("2001-03", date(2001, 4, 1), False), ("\\*", "*", True), (None, None, True), (None, 3, False),
        ("5.0", 5, True),
        ("65+", 70, True), ("65+", 60, False), ("902**", "90210", True), ("902**", "00937", False),
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


def test_a_column_that_is_missing_everywhere_tells_nobody_apart() -> None:
    empty = replace(TABLE, quasi=(Column("age", pl.Series([None] * 4, dtype=pl.Int64), ordered=True),))
    assert judge.found_again(released(None, None, None, None), empty) == pytest.approx(0.25)


class Pretender(Shoal):
    """Writes the table as it is, whatever it is asked for."""

    def __init__(self) -> None:
        pass

    def __call__(self, words: list[str]) -> Answer:
        rows = pl.read_csv(words[1], infer_schema=False)
        rows.drop("identifier", "left_out").write_csv(words[3])
        return Answer(0, "", "")

    apart = __call__

    def leftovers(self) -> list[str]:
        return []


def test_a_tool_that_masks_nothing_does_not_pass(tmp_path: Path) -> None:
    seeds = [s for s in range(400) if (c := draw_case(s, ("memory",))).source == ".csv" and c.target == ".csv"][:6]
    assert seeds
    for seed in seeds:
        outcome = run_case(draw_case(seed, ("memory",)), Pretender(), tmp_path / "case")
        assert outcome.what == "released"
        assert outcome.wrong


def test_a_case_follows_from_its_seed() -> None:
    one, again = (draw_case(7, ("memory", "disk")) for _ in range(2))
    assert one.name == again.name
    assert one.table.frame().equals(again.table.frame())


def test_a_text_escaped_in_vain_is_seen() -> None:
    assert [cell for cell in (r"\[70-80)", r"a\;b", r"9\\3") if not judge.escaped_in_vain(cell)] == []
    for cell in ("[70-80)", r"\[a\;b\]", r"x\*", r"\\\*", r"{a\;b;c}", r"[a\;b;c]", r"a\;b*", None):
        assert not judge.escaped_in_vain(cell)


# ---- every kind of broken promise is noticed


WHO = Table(
    (Column("age", pl.Series("age", [20, 21, 22, 23, 40, 41, 42, 43, 60, 61, 62, 63]), ordered=True),),
    (Column("ill", pl.Series("ill", ["a", "a", "b", "c"] * 3), ordered=False),),
    pl.Series([f"record-{i:012x}-{i}" for i in range(12)]),
    {"identifier": pl.Series([f"person-{i:012x}" for i in range(12)])},
)
RANGES = [f"[{low};{low + 3}]" for low in (20, 40, 60) for _ in range(4)]


def test_a_group_whose_label_names_a_rare_value_is_noticed() -> None:
    towns = pl.Series("town", ["town-00000000000a"] * 3 + ["town-00000000000b"])
    table = replace(TABLE, quasi=(Column("town", towns, ordered=False),))
    for label, wrong in (("town-00000000000a and 1 more", False), ("town-00000000000b and 1 more", True)):
        rows: list[judge.Row] = [{"town": label, "ill": ILL.values[i], "rid": RID[i]} for i in range(4)]
        assert (judge.untrue(rows, table, {}, 3) is not None) is wrong
        assert judge.untrue(rows, table, {}) is not None


def case(method: str = "hilbert", variant: str = "", known: str = "", **promises: float) -> Case:
    asked = {name.replace("_", "-"): level for name, level in promises.items()}
    return Case(3, WHO, method, asked, variant, known, (), 0.0, ".csv", ".csv", "memory", 1)


class Quiet(Shoal):
    """Says what it is told to say."""

    left: ClassVar[list[str]] = []

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or Answer(0, "", "")

    def __call__(self, words: list[str]) -> Answer:
        return self.answer

    def leftovers(self) -> list[str]:
        return self.left


def rows_of(ages: list[str]) -> list[dict[str, str | None]]:
    return [{"age": age, "ill": WHO.confidential[0].values[i], "rid": WHO.rid[i]} for i, age in enumerate(ages)]


def release(asked: Case, folder: Path, rows: list[dict[str, str | None]]) -> dict[str, str]:
    """Writes it with a certificate that is right about it; the digests of what was there before."""
    words_of(asked, folder)
    before = digests(folder)
    pl.DataFrame(rows).write_csv(folder / "out.csv")
    classes = judge.classes_of(rows, WHO.quasi)
    names = {"k": "k-anonymity", "l": "l-diversity", "t": "t-closeness"}
    said = {
        "records": len(rows), "quasi_identifiers": ["age"], "confidential": ["ill"], "classes": len(classes),
        "smallest_class": judge.smallest(classes),
        "models": [{"name": names.get(n, n), "asked": v, "holds": True} for n, v in asked.promises.items()],
        "sha256": hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest(),
    }  # fmt: skip
    (folder / "certificate.json").write_text(json.dumps(said))
    return before


def said_of(asked: Case, folder: Path, rows: list[dict[str, str | None]]) -> tuple[str, str | None]:
    before = release(asked, folder, rows)
    found = judged(asked, Quiet(), folder, [], before, Answer(0, "", ""))
    return found.sort, found.wrong


PROMISES = [
    case(k=4),
    case(k=4, l=3, variant="distinct"),
    case(k=4, l=2.5, variant="entropy"),
    case(k=4, l=2, variant="recursive"),
    case(k=4, t=0.1),
    case(k_map=5, known="population"),
    case("recode", k_map=5, known="fraction"),
    case("noise", measured_risk=0.2),
]


@pytest.mark.parametrize("asked", PROMISES, ids=lambda one: " ".join(one.models()))
def test_a_release_that_keeps_its_promise_passes(asked: Case, tmp_path: Path) -> None:
    ages = ["41.5"] * 12 if asked.method == "noise" else RANGES
    assert said_of(asked, tmp_path, rows_of(ages)) == ("", None)


@pytest.mark.parametrize("asked", PROMISES, ids=lambda one: " ".join(one.models()))
def test_each_promise_that_is_broken_is_noticed(asked: Case, tmp_path: Path) -> None:
    rows = rows_of(["41.5"] * 12 if asked.method == "noise" else RANGES)
    if asked.method == "noise":
        for row, age in zip(rows, WHO.quasi[0].values, strict=True):
            row["age"] = str(age)
    elif "l" in asked.promises or "t" in asked.promises:
        for row in rows[:4]:
            row["ill"] = "a"
    elif asked.known == "population":  # each person is there three times, or more where the others are like somebody
        rows = rows_of(["20", *RANGES[1:]])
    else:
        rows[0]["age"] = "20"
    sort, wrong = said_of(asked, tmp_path, rows)
    assert (sort, wrong is not None) == ("broken promise", True)


def test_a_cell_that_is_not_true_is_noticed(tmp_path: Path) -> None:
    rows = rows_of(["[24;27]"] * 4 + RANGES[4:])
    assert said_of(case(k=4), tmp_path, rows)[0] == "broken promise"


@pytest.mark.parametrize("what", ["identifier", "twice", "foreign", "fewer"])
def test_records_and_columns_that_are_not_meant_are_noticed(what: str, tmp_path: Path) -> None:
    rows = rows_of(RANGES)
    if what == "identifier":
        rows = [{**row, "identifier": who} for row, who in zip(rows, WHO.secrets["identifier"], strict=True)]
    if what == "twice":
        rows.append(rows[0])
    if what == "foreign":
        rows[0]["rid"] = "record-ffffffffffff-99"
    if what == "fewer":
        del rows[0]
    assert said_of(case(k=3), tmp_path, rows)[0] == "leak"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sha256", "0" * 64), ("records", 13), ("classes", 4), ("smallest_class", 5), ("quasi_identifiers", []),
        ("confidential", ["age"]), ("models", []),
    ],
)  # fmt: skip
def test_a_certificate_that_is_not_true_is_noticed(name: str, value: object, tmp_path: Path) -> None:
    before = release(case(k=4), tmp_path, rows_of(RANGES))
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    found = judged(case(k=4), Quiet(), tmp_path, [], before, Answer(0, "", ""))
    assert found.sort == "broken promise"
    assert "certificate" in (found.wrong or "")


@pytest.mark.parametrize("secret", ["person-000000000003", str(seed_of(case(k=4)))])
def test_a_secret_in_a_certificate_is_noticed(secret: str, tmp_path: Path) -> None:
    before = release(case(k=4), tmp_path, rows_of(RANGES))
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"note": secret}))
    assert judged(case(k=4), Quiet(), tmp_path, [], before, Answer(0, "", "")).sort == "leak"


def test_an_input_that_was_changed_is_noticed(tmp_path: Path) -> None:
    before = release(case(k=4), tmp_path, rows_of(RANGES))
    (tmp_path / "in.csv").write_text("")
    found = judged(case(k=4), Quiet(), tmp_path, [], before, Answer(0, "", ""))
    assert "input was changed" in (found.wrong or "")


def test_what_is_left_behind_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = release(case(k=4), tmp_path, rows_of(RANGES))
    (tmp_path / ".shoal-abcdefgh.partial").mkdir()
    assert judged(case(k=4), Quiet(), tmp_path, [], before, Answer(0, "", "")).sort == "leak"
    (tmp_path / ".shoal-abcdefgh.partial").rmdir()
    monkeypatch.setattr(Quiet, "left", ["shoal-abcdefgh.scratch"])
    assert judged(case(k=4), Quiet(), tmp_path, [], before, Answer(0, "", "")).sort == "leak"


@pytest.mark.parametrize(
    ("answer", "sort"),
    [
        (Answer(2, "", "shoal: Something went wrong inside Shoal (KeyError: 1)."), "catch-all"),
        (Answer(3, "", "shoal: no"), "catch-all"),
        (Answer(-9, "", ""), "catch-all"),
        (Answer(1, "", "shoal: The result does not keep k-anonymity."), "leak"),  # and a file stands there
    ],
)
def test_answers_that_are_none_are_noticed(answer: Answer, sort: str, tmp_path: Path) -> None:
    before = release(case(k=4), tmp_path, rows_of(RANGES))
    assert judged(case(k=4), Quiet(), tmp_path, [], before, answer).sort == sort


def test_a_refusal_needs_a_sentence(tmp_path: Path) -> None:
    words_of(case(k=4), tmp_path)
    before = digests(tmp_path)
    assert judged(case(k=4), Quiet(), tmp_path, [], before, Answer(1, "", "")).sort == "other"
    assert judged(case(k=4), Quiet(), tmp_path, [], before, Answer(1, "", "shoal: no")).wrong is None


@pytest.mark.parametrize("answer", [Answer(0, "", ""), Answer(1, "", "")])
def test_a_check_that_always_says_the_same_is_noticed(answer: Answer, tmp_path: Path) -> None:
    noticed = 0
    for seed in range(0, 100, 5):
        asked = replace(case(k=4), seed=seed * 20 + 5)  # checked, but not made again
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        before = release(asked, tmp_path, rows_of(RANGES))
        noticed += judged(asked, Quiet(answer), tmp_path, [], before, Answer(0, "", "")).wrong is not None
    assert noticed


def test_values_that_collide_are_noticed_when_they_pass(tmp_path: Path) -> None:
    assert "pass for one value" in (confused(0, Quiet(Answer(0, "", "")), tmp_path) or "")


class Copier(Quiet):
    """Hands out purchases as they are, with or without names."""

    def __init__(self, *, names: bool) -> None:
        super().__init__()
        self.names = names

    def __call__(self, words: list[str]) -> Answer:
        table = pl.read_csv(words[2], infer_schema=False)
        if not self.names:
            table = table.with_columns(pl.col("who").rank("dense").cast(pl.String))
        write(table, Path(words[4]))
        return self.answer


def test_purchases_that_nobody_masked_are_noticed(tmp_path: Path) -> None:
    said = [run_purchases(seed, Copier(names=seed % 2 == 0), tmp_path)[1] or "" for seed in range(20)]
    assert all(said)
    for what in ("is named", "customers are alike", "baskets"):
        assert any(what in one for one in said)


def test_figures_stand_between_their_marks(tmp_path: Path) -> None:
    document = tmp_path / "limits.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    state = State(wrong=[{"sort": "leak", "said": "seed 1: x"}], minutes=2.0)
    state.done["cases"] = 1234
    into_document(state, str(document))
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| tables | 1,234 |" in text
    assert "| **leaks** | **1** |" in text


def test_a_run_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    state = State.read(tmp_path / "torture.json")
    assert state.take("cases", 20) == 0
    state.write()
    assert State.read(tmp_path / "torture.json").take("cases", 20) == 20


class Neighbour(Quiet):
    """Two people a class, and a class of one value joins the one after it: what a minimality attack undoes."""

    def __call__(self, words: list[str]) -> Answer:
        people = pl.read_csv(words[1]).sort("age")
        classes = [people[i : i + 2] for i in range(0, people.height, 2)]
        done: list[pl.DataFrame] = []
        for members in classes:
            if done and done[-1]["ill"].n_unique() < 2:
                done[-1] = pl.concat([done[-1], members])
            else:
                done.append(members)
        while len(done) > 1 and (done[-1].height < 2 or done[-1]["ill"].n_unique() < 2):
            last = done.pop()
            done[-1] = pl.concat([done[-1], last])
        shown = [one.with_columns(pl.lit(f"[{one['age'].min()};{one['age'].max()}]").alias("age")) for one in done]
        pl.concat(shown).write_csv(words[3])
        return self.answer


def test_a_merge_with_the_next_class_is_undone_by_trying_all_tables(tmp_path: Path) -> None:
    found = [one for seed in range(6) for one in all_tables(seed, Neighbour(), tmp_path)]
    assert sum(one["guessed"] for one in found) == sum(one["right"] for one in found) > 0


def test_odd_commands_take_what_the_help_says(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    shoal = Quiet(Answer(0, "│ --k <int> x │\n│ --json <bool> x │\n│ --output -o OUT x │", ""))
    said = [run_words(seed, tmp_path / "good", tmp_path / "there", shoal)[0] for seed in range(60)]
    assert any("--k " in one for one in said)
    assert any(one.endswith("--json") for one in said)
    assert not any("--output" in one for one in said)


class Divider(Quiet):
    """Writes a file for each confidential column, and masks nothing."""

    def __call__(self, words: list[str]) -> Answer:
        table = read_release(Path(words[1]))
        quasi, confidential = (
            next(csv.reader([words[words.index(name) + 1]])) for name in ("--quasi", "--confidential")
        )
        path = Path(words[3])
        wanted = {path.with_name(f"out.{name}{path.suffix}"): [name] for name in confidential}
        wanted |= {path: confidential} if "confidential:merge" in words else {}
        for place, names in wanted.items():
            write(pl.DataFrame(table, infer_schema_length=None).select(*quasi, *names), place)
        return self.answer


def test_split_tables_that_nobody_masked_are_noticed(tmp_path: Path) -> None:
    said: list[str | None] = []
    for seed in range(12):
        (tmp_path / str(seed)).mkdir()
        said.append(run_split(seed, Divider(), tmp_path / str(seed))[1])
    assert sum("look the same" in (one or "") for one in said) > 8


def test_everything_has_its_turn_and_one_process_has_spark() -> None:
    options = Namespace(minutes=30, cases=None, piece="cases", kills=0, spark=True)
    plan = Plan(State(), options, time.monotonic())
    turns = [plan.next(slot) for _ in range(400) for slot in (0, 1)]
    assert {piece for piece, _, _ in filter(None, turns)} == set(PIECES) - {"kills"}
    assert not any(turn and turn[0] == "spark" for turn in turns[1::2])
    cases = [number for turn in turns if turn and turn[0] == "cases" for number in range(turn[1], turn[1] + turn[2])]
    assert cases == list(range(len(cases)))


def test_a_decimal_is_the_number_that_a_cell_shows() -> None:
    assert judge.same("80275.0", Decimal("80275.00"))
    assert not judge.same("80275.5", Decimal("80275.00"))


def test_the_process_that_is_asked_answers_and_works_in_small_chunks(tmp_path: Path) -> None:
    shoal = Shoal(tmp_path / "temporary")
    pl.DataFrame({"age": range(200)}).write_csv(tmp_path / "d.csv")
    files = str(tmp_path / "d.csv"), "-o", str(tmp_path / "r")
    try:
        answer = shoal(["anonymize", *files, "--quasi", "age", "--k", "5", "--engine", "disk", "--json"])
    finally:
        shoal.end()
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["chunks"] == 5


def test_whatever_a_killed_run_leaves_is_noticed_but_the_word_by_which_python_tries_a_folder(tmp_path: Path) -> None:
    for name, content in {
        "in": b"",
        "dt341jcr": b"blat",
        "x7_2kqpa": b"",
        "ab12cd34": b"Ann",
        "r.partial": b"",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "12345678").mkdir()
    assert {path.name for path in leftovers(tmp_path)} == {"ab12cd34", "r.partial", "12345678"}
