"""What `--json` prints is what `shoal schema` declares: every command, every key."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shoal.cli.schema import ERROR, POLICY, names, schema_of
from shoal.policy import Policy
from tests.cli.conftest import COMMANDS, Shoal, run_command

PEOPLE = [f"{20 + i % 7},{'MF'[i % 2]},{93700 + i % 5},{1000 * i}" for i in range(40)]
MEAN = """
quasi_identifiers = ["age", "zip"]
confidential = ["charge"]
show = { charge = "private-mean" }
epsilon = 1.0
[attributes.charge]
domain = [0, 100000]
"""
PROJECT = 'quasi_identifiers = ["age", "sex", "zip"]\nproject = {source = "d.csv"}\n'
GOODS = "--customer customer --item good"
FACTS = f"{GOODS} --time date --price price --quantity quantity"
MADE = [  # before the runs
    "anonymize d.csv -o r.csv --quasi age,sex,zip --confidential charge --k 5",
    "anonymize d.csv -o m.csv --quasi age,charge --method noise --write keep-order --promise measured-risk:level=1",
    "hierarchy build d.csv age -o h/age.csv --steps 2,4",
    "hierarchy build d.csv zip -o h/zip.csv --mask",
    "anonymize keyed.csv -o l.csv --quasi age,sex --ledger ledger.db,key=key --subject id --seed 1",
    "anonymize d.csv -o parts --quasi age,sex,zip --confidential charge --engine disk",
    "anonymize keyed.csv -o sealed.csv --quasi age,sex --pseudonym id=person:sealed,key=k.txt",
    "pseudonym rotate k.txt",
    "sample purchases --customers 30 --seed 7 -o t.csv",
    f"transactions anonymize t.csv -o tr.csv {FACTS} --show date,price,quantity --min-size 3 --map map.csv --seed 1",
]
RUNS = {  # more than one run where the output may look different
    "anonymize": [
        "d.csv -o x.csv --quasi age,sex,zip --confidential charge --t 0.5 --report x.html",
        "d.csv -o x.csv --quasi age,zip --method recode --hierarchies h --write explain=explained",
        "d.csv -o x.csv --quasi age,zip --method cut-points",
        "d.csv -o x.csv --quasi age,charge --method swap:p=0.5 --promise measured-risk:level=1",
        "d.csv -o x.csv --quasi age,zip --k-map 5,fraction=0.1 --suppress 1 --method recode --hierarchies h",
        "d.csv -o x.csv --policy mean.toml",
        "d.csv -o x.csv --quasi age,zip --l 2,variant=entropy --confidential sex --suppress 1",
        "d.csv -o y.csv --quasi age,zip --confidential sex,charge --split confidential:merge",
        "d.csv -o z.csv --quasi age --confidential zip,charge --split confidential:independent",
        "d.csv -o in-parts --quasi age,sex,zip --confidential charge --t 0.5 --engine disk",
        "d.csv -o recoded-in-parts --quasi age,zip --method recode --hierarchies h --engine disk",
        "d.csv -o swapped --quasi age,charge --method swap:p=0.5 --promise measured-risk:level=1 --engine disk",
    ],
    "check": [
        "r.csv --quasi age,sex,zip --k 5",
        "r.csv --quasi age,sex,zip --confidential charge --k 99 --t 0.01",
        "parts --quasi age,sex,zip --confidential charge --k 5 --t 0.9",
        "parts --certificate parts/_certificate.json",
    ],
    "risk": [
        "d.csv --quasi age,sex,zip",
        'r.csv --quasi age,zip --confidential charge --when "charge > 9000" --group who=age,zip --fraction 0.1',
        "m.csv --original d.csv --quasi age,charge --measures all --paired",
        "d.csv --quasi age,sex --population d.csv",
        'parts --quasi age,zip --confidential charge --when "charge > 9000" --group who=age,zip --fraction 0.1',
        "parts --quasi age,sex --population d.csv",
    ],
    "utility": [
        "d.csv r.csv --quasi age,sex,zip",
        "d.csv m.csv --quasi age,charge --measures all --paired",
        "d.csv parts --quasi age,sex,zip --measures all",
    ],
    "attack": [
        "d.csv r.csv --quasi age,sex,zip --confidential charge --k 2 --l 2",
        "d.csv m.csv --quasi age,charge --paired --attacks linkage",
    ],
    "profile": ["d.csv"],
    "compare": [
        "d.csv --attributes age,charge --methods noise,mdav --at-risk 0.5 --runs 2 --also sse",
        "d.csv --attributes age,charge --methods kd --at-utility 0.2 --frontier",
        "d.csv --attributes age,charge --methods noise --risk found_again --at-risk 0.2 --runs 2 --best -o best.csv",
    ],
    "hierarchy show": ["h/age.csv"],
    "hierarchy build": ["d.csv zip -o zip.csv --mask"],
    "hierarchy check": ["h/age.csv", "h/age.csv --data d.csv --column age"],
    "k-prime": ["--k 5 --fraction 0.1", "--k 5 --fraction 0.1 --classes 20"],
    "scenario": [
        "--population no --fraction 0.1 --large-fraction no --membership no --subjects-tell no",
        "--population yes",
        "--population no --membership no --subjects-tell no --database yes",
    ],
    "pseudonym reveal": ["sealed.csv --column id --key-file k.txt --version 1 -o revealed.csv"],
    "pseudonym map": ["keyed.csv --column id --form code --from 1 --to 2 --key-file k.txt -o pairs.csv"],
    "pseudonym rotate": ["k.txt"],
    "releases list": ["--ledger ledger.db"],
    "releases add": ["keyed.csv --ledger fresh.db,key=key --subject id --quasi age,sex --k 2"],
    "releases audit": [
        "--ledger ledger.db",
        "keyed.csv some.csv --key id --quasi age,sex --confidential charge --k 2",
        "keyed.csv some.csv --quasi age,sex --confidential charge --k 2",
        "keyed.csv some.csv --key id --quasi age,sex --confidential charge --k 2 --engine disk",
    ],
    "transactions anonymize": [
        f"t.csv -o tx.csv {FACTS} --clusters 3 --min-size 2 --seed 1",
        f"t.csv -o tx.csv {FACTS} --clusters 3 --min-size 2 --show date,quantity --seed 1",
        f"t.csv -o tx.csv {FACTS} --clusters 3 --min-size 2 --show price --dummies records --seed 1",
        f"t.csv -o tx.csv {GOODS} --min-size 2 --method method-2 --seed 1",
        f"t.csv -o tx.csv {GOODS} --k 3 --m 1",
    ],
    "transactions audit": [f"t.csv tr.csv tr.csv {GOODS} --time date --map map.csv --map map.csv --seed 1"],
    "transactions attack": [
        f"t.csv tr.csv {GOODS} --truth map.csv --known 2 --one-to-one --seed 1",
        f"t.csv t.csv {GOODS}",
        f"t.csv tr.csv {FACTS} --truth map.csv --trained --seed 1",
    ],
    "transactions check": [
        f"tr.csv {GOODS} --min-size 2",
        f"tr.csv {GOODS} --min-size 2 --goods-only",
        f"tr.csv {FACTS} --min-size 2",
        f"tr.csv {GOODS} --k 30 --m 2",
    ],
    "transactions risk": [f"t.csv {GOODS} --time date --price price", f"t.csv {GOODS}"],
    "transactions utility": [f"t.csv tr.csv {FACTS} --truth map.csv", f"t.csv tr.csv {GOODS}"],
    "run": ["project"],
    "engines": [""],
    "measures": ["", "rank_linkage"],
    "attacks": ["", "minimality"],
    "formats": ["", "parquet"],
    "generators": ["", "purchases"],
    "methods": ["", "noise", "recode"],
    "models": ["", "k-map"],
    "study big-data": ["-o study --rows 1000"],
}
SILENT = {  # they print nothing for machines
    "demo",
    "regenerate",
    "releases limit",
    "releases settle",
    "sample discharges",
    "sample purchases",
    "schema",
    "ui",
    "warm-up",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, keys and releases for all runs."""
    path = tmp_path_factory.mktemp("schema")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setenv("XDG_CACHE_HOME", str(path / "cache"))
        Path("h").mkdir()
        Path("d.csv").write_text("name,age,sex,zip,charge\n" + "".join(f"n{i},{p}\n" for i, p in enumerate(PEOPLE)))
        for name, rows in (("keyed.csv", PEOPLE), ("some.csv", PEOPLE[:30])):
            Path(name).write_text("id,age,sex,zip,charge\n" + "".join(f"{i},{p}\n" for i, p in enumerate(rows)))
        Path("mean.toml").write_text(MEAN)
        Path("key").write_bytes(bytes(range(32)))
        Path("project").mkdir()
        Path("project/d.csv").write_bytes(Path("d.csv").read_bytes())
        Path("project/shoal.toml").write_text(PROJECT)
        for words in MADE:
            assert run_command(*shlex.split(words)) == 0, words
    return path


def declared(command: str) -> str:
    """The studies share a schema."""
    return "study" if command.startswith("study ") else command


@pytest.mark.parametrize(("command", "options"), [(name, each) for name, runs in RUNS.items() for each in runs])
def test_json_is_as_declared(
    shoal: Shoal, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: str
) -> None:
    monkeypatch.chdir(folder)
    again = ["--overwrite"] if command.endswith("anonymize") else []  # several runs write to the same place
    run = shoal(*command.split(), *shlex.split(options), *again, "--json")
    jsonschema.Draft202012Validator(schema_of(declared(command))).validate(run.json)


def test_every_command_with_json_has_a_schema_and_a_run() -> None:
    speaking = {name for name, command in COMMANDS.items() if any(p.name == "as_json" for p in command.params)}
    assert set(COMMANDS) - speaking == SILENT
    assert sorted({declared(name) for name in speaking} | {POLICY, ERROR}) == sorted(names())
    assert {declared(name) for name in speaking} == {declared(name) for name in RUNS}


@pytest.mark.parametrize("name", names())
def test_a_schema_is_valid_and_explains_every_key(shoal: Shoal, name: str) -> None:
    run = shoal("schema", *name.split())
    assert (run.code, run.err) == (0, "")
    jsonschema.Draft202012Validator.check_schema(run.json)
    if name != POLICY:
        assert list(unexplained(run.json)) == []


def unexplained(schema: Any, path: str = "") -> Iterator[str]:
    """Fixed objects that let other keys in, and keys that nothing is said of."""
    if isinstance(schema, list):
        for part in schema:
            yield from unexplained(part, path)
    elif isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            yield path
        for key, about in schema.get("properties", {}).items():
            if not {"description", "const", "$ref"} & set(about):
                yield f"{path}/{key}"
        for key, part in schema.items():
            yield from unexplained(part, f"{path}/{key}")


def test_the_policys_schema_is_its_own(shoal: Shoal) -> None:
    assert shoal("schema", "policy").json == json.loads(json.dumps(Policy.model_json_schema()))


def test_the_list_names_all(shoal: Shoal) -> None:
    assert shoal("schema").out.splitlines() == names()


def test_an_unknown_schema(shoal: Shoal) -> None:
    run = shoal("schema", "hierarchy", "chek")
    assert run.code == 2
    assert "'hierarchy check'" in run.sentence
