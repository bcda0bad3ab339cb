"""What no method masks leaves as it came: texts are escaped only where they would be misread."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.data.files import read_table
from shoal.data.microdata import Microdata
from shoal.data.notation import Spelling
from shoal.data.parse_cells import read_cells
from shoal.draft import draft
from shoal.masking.grouped import Grouping
from shoal.masking.regenerate import regenerate
from shoal.release import write
from shoal.releases.ledger import Ledger
from tests.cli.conftest import run_command

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
    **{kind.name: {"method": kind()} for kind in shoal.METHODS if issubclass(kind, Grouping)},
    **{f"mdav-{by}": {"method": shoal.Mdav(publish=by)} for by in ("mean", "median")},
    "recode": {"method": shoal.Recode(), "attributes": {"band": {"hierarchy": TREE}}},
    "coarsen": {"method": shoal.Coarsen(11)},
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


def test_a_method_that_perturbs_shows_a_text_as_the_others_do() -> None:
    method = shoal.Pram(p=0.3)
    table = Microdata(TABLE, policy(method).schema(TABLE))
    shown = method.mask(table, [], seed=1).columns["band"].values().cast(pl.String)
    assert set(shown) <= set(TEXTS.values())


def test_a_released_text_reads_back_as_the_value_it_was(tmp_path: Path) -> None:
    """By each that reads a release: the check, the measures of risk and utility, the ledger, the next release."""
    frame = TABLE.with_row_index("id")
    chosen = policy(identifiers=["id"])
    ledger = Ledger(tmp_path / "l.db", b"k" * 32, "id")
    for night in range(2):
        made = write(draft(frame, chosen, after=ledger), tmp_path / f"{night}.csv", ledger=ledger)
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
        method=shoal.Hilbert(publish=by),
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
        method=shoal.Mdav(publish="mean"),
    )  # fmt: skip
    made = shoal.anonymize(frame.lazy(), chosen, seed=1, engine="disk").frame.collect()
    assert made.schema == {"age": pl.Float64, "balance": pl.Int64, "rest": pl.Int64}


# ---- values as the file spelled them

SPELLED = {  # column -> texts that no two records of one table need to share
    "moment": [f"2020-01-{1 + i % 5:02d}T10:{i % 3:02d}:00" for i in range(40)],
    "minute": [f"2021-03-0{1 + i % 3} 08:{i % 60:02d}" for i in range(40)],
    "zoned": [f"2020-01-{1 + i % 5:02d}T10:00:00+02:00" for i in range(40)],
    "utc": [f"2020-01-{1 + i % 5:02d} 10:00:00.250Z" for i in range(40)],
    "day": [f"2020-01-{1 + i % 5:02d}" for i in range(40)],
    "fixed": [f"{i % 4}.50" for i in range(40)],
    "bare": [("1", "2.5", "30")[i % 3] for i in range(40)],
    "odd": [("1e5", "+3", "1.50", " 2", "NA", "-0.0")[i % 6] for i in range(40)],
    "signed": [("+5", "-3", "07"[1:])[i % 3] for i in range(40)],
    "code": [f"{i % 7:03d}" for i in range(40)],
    "truth": [("True", "False")[i % 2] for i in range(40)],
    "shout": [("TRUE", "FALSE", "NA")[i % 3] for i in range(40)],
    "text": [("[70-80)", "x*", '""', "a", "")[i % 5] for i in range(40)],
}


def spelled(folder: Path, columns: dict[str, list[str]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "d.csv"
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(("person", *columns)), *(",".join((f"p{i}", *row)) for i, row in enumerate(rows))]
    path.write_text("\n".join(lines) + "\n")
    return path


def lines_of(path: Path) -> list[str]:
    files = sorted(path.glob("part-*")) if path.is_dir() else [path]
    return [line for file in files for line in file.read_text().splitlines()[1:]]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("role", ["--confidential", "--insensitive"])
def test_columns_that_nothing_masks_are_written_as_they_were_read(tmp_path: Path, role: str, engine: str) -> None:
    columns = {"age": [str(20 + i % 4) for i in range(40)], **SPELLED}
    source, target = spelled(tmp_path, columns), tmp_path / "r.csv"
    words = ["--identifiers", "person", "--quasi", "age", role, ",".join(SPELLED), "--k", "5", "--engine", engine]
    assert run_command("anonymize", source, "-o", target, *words, "--method", "sorted") == 0
    came = [line.split(",", 2)[2] for line in lines_of(source)]
    assert sorted(line.split(",", 1)[1] for line in lines_of(target)) == sorted(came)


NOTED = ["moment", "minute", "zoned", "utc", "day", "fixed", "bare", "truth", "code"]


METHODS = [
    ("memory", "hilbert"), ("memory", "mdav:publish=median"), ("memory", "coarsen:resolution=40"),
    ("memory", "cut-points"), ("disk", "hilbert"), ("disk", "mdav:publish=median"),
]  # fmt: skip


@pytest.mark.parametrize("name", NOTED)
@pytest.mark.parametrize(("engine", "method"), [(engine, words) for engine, *words in METHODS])
def test_a_value_of_a_class_is_written_in_the_notation_of_its_column(
    tmp_path: Path, name: str, engine: str, method: list[str]
) -> None:
    texts = sorted(SPELLED[name] * 10)
    source, target = spelled(tmp_path, {name: texts, "ill": ["a", "b"] * 200}), tmp_path / "r.csv"
    words = [
        "--identifiers",
        "person",
        "--quasi",
        name,
        "--confidential",
        "ill",
        "--k",
        "5",
        "--seed",
        "1",
        "--engine",
        engine,
    ]
    assert run_command("anonymize", source, "-o", target, *words, "--method", *method) == 0
    shown = {line.split(",")[0] for line in lines_of(target)}
    parts = {part for cell in shown for part in cell.strip("[]{}").split(";")}
    assert parts <= set(texts)
    assert run_command("check", target, "--quasi", name, "--confidential", "ill", "--k", "5") == 0
    assert run_command("utility", source, target, "--quasi", name) == 0
    assert run_command("risk", target, "--quasi", name) == 0


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_moment_of_a_year_that_its_zone_has_no_name_for_is_released(tmp_path: Path, engine: str) -> None:
    source, target = tmp_path / "d.csv", tmp_path / "r.csv"
    source.write_text("q,c\n" + "".join(f"0000-12-31T19:00:00-05:00,a{i}\n" for i in range(6)))
    words = ("anonymize", source, "-o", target, "--quasi", "q", "--confidential", "c", "--k", "2")
    assert run_command(*words, "--engine", engine) == 0
    assert {line.split(",")[0] for line in lines_of(target)} == {"0001-01-01 00:00:00+00:00"}


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_spellings_of_a_value_do_not_tell_the_records_of_a_class_apart(tmp_path: Path, engine: str) -> None:
    texts = [("5", "5.0", "5.00", "+5", "7.1")[i % 5] for i in range(40)]
    source, target = spelled(tmp_path, {"x": texts, "ill": ["a", "b"] * 20}), tmp_path / "r.csv"
    words = ["--identifiers", "person", "--quasi", "x", "--confidential", "ill", "--k", "5", "--engine", engine]
    assert run_command("anonymize", source, "-o", target, *words) == 0
    assert {line.split(",")[0] for line in lines_of(target)} == {"5.0", "7.1"}


def test_a_decimal_comma_stays_or_becomes_a_point_as_asked_and_nothing_else_changes(tmp_path: Path) -> None:
    source, target = tmp_path / "d.csv", tmp_path / "r.csv"
    source.write_text("age;charge;x\n" + "".join(f"{20 + i % 2};{i},50;{i % 2},5\n" for i in range(20)))
    words = ["--quasi", "age,x", "--confidential", "charge", "--k", "5", "--write", "keep-order"]
    words = ["anonymize", source, "-o", target, *words, "--method", "sorted", "--overwrite"]
    assert run_command(*words) == 0
    assert lines_of(target)[:3] == ["20;0,50;0,5", "21;1,50;1,5", "20;2,50;0,5"]
    assert run_command(*words, "--write", "decimal=.") == 0
    assert lines_of(target)[:3] == ["20;0.50;0.5", "21;1.50;1.5", "20;2.50;0.5"]
    assert run_command(*words, "--write", "delimiter=comma") == 0
    assert lines_of(target)[:3] == ["20,0.50,0.5", "21,1.50,1.5", "20,2.50,0.5"]


def test_a_file_that_is_written_to_meanwhile_is_refused(tmp_path: Path) -> None:
    source = spelled(tmp_path, {"age": ["20"] * 10, "charge": [f"{i}.50" for i in range(10)]})
    spelling = Spelling.of(source)
    table = read_table(source)
    source.write_text(source.read_text().replace(".50", ".5"))
    chosen = shoal.Policy(quasi_identifiers=["age"], confidential=["charge"], models=[shoal.KAnonymity(5)])
    with pytest.raises(shoal.InputError, match="was written to while it was read"):
        write(draft(table, chosen, spelling=spelling), tmp_path / "r.csv")
    assert not (tmp_path / "r.csv").exists()


def test_times_of_typed_tables_gain_no_zeros_and_keep_unit_and_zone(tmp_path: Path) -> None:
    when = pl.Series("when", [dt.datetime(2020, 1, 1, 10, i % 2) for i in range(20)])
    frame = pl.DataFrame(
        [when, when.dt.replace_time_zone("Europe/Berlin").cast(pl.Datetime("ms", "Europe/Berlin")).alias("zoned")]
    ).with_columns(seen=pl.col("when"), age=pl.col("when").dt.minute())
    frame.write_parquet(tmp_path / "d.parquet")
    words = [
        "--quasi",
        "when",
        "--confidential",
        "age",
        "--insensitive",
        "zoned,seen",
        "--k",
        "5",
        "--write",
        "keep-order",
    ]
    for target in ("r.parquet", "r.csv"):
        ends = run_command("anonymize", tmp_path / "d.parquet", "-o", tmp_path / target, *words, "--method", "sorted")
        assert ends == 0
    kept = pl.read_parquet(tmp_path / "r.parquet").schema
    assert (kept["zoned"], kept["seen"]) == (frame.schema["zoned"], frame.schema["seen"])
    assert lines_of(tmp_path / "r.csv")[0] == "2020-01-01 10:00:00,2020-01-01T10:00:00+01:00,2020-01-01T10:00:00,0"
