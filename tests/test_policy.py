"""A policy: there and back through its file, its JSON Schema, and what is said of one that is wrong."""

from __future__ import annotations

import datetime as dt
import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize import anonymize
from shoal.data.schema import Kind, Role
from shoal.errors import InputError
from shoal.masking import Hilbert, Stratified
from shoal.masking.recoding.coarsening import Coarsen
from shoal.masking.recoding.safe_harbor import TABLE_S3, SafeHarbor
from shoal.policy import METHODS, MODELS, AttributeChoice, Policy
from shoal.privacy import KAnonymity, LDiversity, TCloseness

names = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=8)
lists = st.lists(names, max_size=3).map(tuple)
columns = st.lists(names, max_size=3, unique=True).map(tuple)
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(
    st.integers(-(2**63), 2**63 - 1), finite, names, st.dates(), st.datetimes(min_value=dt.datetime(1, 1, 1))
)
hierarchies = st.one_of(st.none(), names, st.lists(lists, min_size=1, max_size=3).map(tuple))
choices = st.builds(
    AttributeChoice,
    kind=st.none() | st.sampled_from(Kind),
    domain=st.none() | st.lists(values, min_size=1, max_size=4).map(tuple),
    hierarchy=hierarchies,
    weight=st.floats(0.01, 100),
)
models = st.one_of(
    st.builds(KAnonymity, st.integers(2, 1000)),
    st.builds(TCloseness, st.floats(0, 1), st.none() | names, st.sampled_from(["auto", "ordered", "equal"])),
    st.builds(LDiversity, st.integers(1, 9), st.none() | names, st.sampled_from(["distinct", "entropy", "recursive"])),
)
methods = st.one_of(
    st.builds(Hilbert, st.sampled_from([None, "range", "mean"])),
    st.builds(Stratified, remainder=st.sampled_from(["central", "last"])),
    st.builds(Coarsen, st.integers(1, 99) | st.dictionaries(names, st.integers(1, 99), min_size=1, max_size=3)),
    st.builds(SafeHarbor, st.none() | st.lists(st.sampled_from(TABLE_S3), min_size=1).map(tuple)),
    st.builds(SafeHarbor, st.none(), st.just({"age": "age_yrs", "zip": "patzip"})),
)
policies = st.builds(
    Policy,
    identifiers=columns,
    quasi_identifiers=columns,
    confidential=columns,
    insensitive=columns,
    rest=st.sampled_from(["drop", "insensitive"]),
    models=st.lists(models, max_size=3),
    method=methods,
    suppression=st.floats(0, 1),
    groups=st.dictionaries(names, lists, max_size=2),
    attributes=st.dictionaries(names, choices, max_size=2),
)


@given(policies)
@settings(deadline=None)
def test_a_policy_comes_back_from_its_file(policy: Policy) -> None:
    assert Policy(**tomllib.loads(policy.to_toml())) == policy


def test_a_file_is_read_with_its_hierarchies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text(
        '\ufeffquasi_identifiers = ["job"]\n[attributes]\njob.hierarchy = "jobs.csv"\n'
    )
    (tmp_path / "jobs.csv").write_text("nurse;care\nporter;care\ncook;kitchen\n")
    policy = Policy.read(tmp_path / "shoal.toml")
    schema = policy.schema(pl.DataFrame({"job": ["nurse", "cook"]}))
    assert schema["job"].hierarchy is not None
    assert schema["job"].kind is Kind.NOMINAL


# ---- files that a policy names, and code

FILES = (
    'quasi_identifiers = ["job"]\nmodels = [{{name = "k-map", k = 2, population = "{population}"}}]\n'
    '[attributes]\njob.hierarchy = "{hierarchy}"\n'
)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder with a policy's files, and one beside it."""
    for folder in ("policies", "beside"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "jobs.csv").write_text("nurse;care\nporter;care\ncook;kitchen\n")
        (tmp_path / folder / "people.csv").write_text("job\nnurse\nnurse\n")
    return tmp_path / "policies"


def policy_in(folder: Path, hierarchy: str = "jobs.csv", population: str = "people.csv") -> Path:
    (folder / "shoal.toml").write_text(FILES.format(hierarchy=hierarchy, population=population))
    return folder / "shoal.toml"


@pytest.mark.parametrize("relative", [False, True], ids=["from anywhere", "by a relative path"])
@pytest.mark.parametrize("named", ["jobs.csv", "../beside/jobs.csv"])
def test_a_policy_that_is_read_and_written_names_the_same_files(
    elsewhere: Path, named: str, relative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(elsewhere.parent)
    folder = Path("policies") if relative else elsewhere
    first = Policy.read(policy_in(folder, named))
    text = first.changed(suppression=0.5).to_toml()
    assert f'hierarchy = "{named}"' in text
    assert 'population = "people.csv"' in text
    (folder / "again.toml").write_text(text)
    assert Policy.read(folder / "again.toml") == first.changed(suppression=0.5)
    Path("again.toml").write_text(first.to_toml(folder="."))
    moved = Policy.read("again.toml")
    assert moved.schema(pl.DataFrame({"job": ["cook"]}))["job"].hierarchy is not None


def test_an_absolute_path_stays_one(elsewhere: Path) -> None:
    outside = str(elsewhere.parent / "beside" / "jobs.csv")
    assert f'hierarchy = "{outside}"' in Policy.read(policy_in(elsewhere, outside)).to_toml()


def test_files_of_a_policy_from_elsewhere_lie_where_the_user_said(elsewhere: Path) -> None:
    kept = Policy.read(policy_in(elsewhere), within=elsewhere)
    assert kept.schema(pl.DataFrame({"job": ["cook"]}))["job"].hierarchy is not None
    (elsewhere / "link.csv").symlink_to(elsewhere.parent / "beside" / "jobs.csv")
    outside = str(elsewhere.parent / "beside" / "jobs.csv")
    for name in ("../beside/jobs.csv", "link.csv", outside, "/etc/passwd", "x/../../beside/jobs.csv"):
        with pytest.raises(InputError, match=r"names the file .* does not lie in"):
            Policy.read(policy_in(elsewhere, name), within=elsewhere)
        with pytest.raises(InputError, match=r"names the file .* does not lie in"):
            Policy.read(policy_in(elsewhere, population=name), within=elsewhere)


def test_a_policy_from_elsewhere_names_no_code(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text('models = [{name = "measured-risk", level = 1, measure = "antigravity:x"}]\n')
    with pytest.raises(InputError, match="'antigravity:x', which is code"):
        Policy.read(tmp_path / "shoal.toml", own_code=False)
    assert "antigravity" not in sys.modules
    (tmp_path / "shoal.toml").write_text('models = [{name = "measured-risk", level = 1, measure = "found_again"}]\n')
    assert Policy.read(tmp_path / "shoal.toml", own_code=False).models[0].level == 1


def test_a_policy_nested_beyond_all_measure_is_told(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text("x = " + "[" * 100_000)
    with pytest.raises(InputError, match="not valid TOML"):
        Policy.read(tmp_path / "shoal.toml")


# ---- JSON Schema


def test_the_json_schema_describes_models_and_methods() -> None:
    schema = Policy.model_json_schema()
    json.dumps(schema)
    described = {
        part["properties"]["name"]["const"]: part
        for part in (*schema["properties"]["models"]["items"]["oneOf"], *schema["properties"]["method"]["oneOf"])
    }
    assert set(described) == {*MODELS.words, *METHODS.words}
    assert described["k-anonymity"]["properties"]["k"]["type"] == "integer"
    assert described["k-anonymity"]["required"] == ["name", "k"]
    assert "range" in described["hilbert"]["properties"]["publish"]["anyOf"][0]["enum"]
    assert all(not part["additionalProperties"] for part in described.values())
    for reference in {part for part in json.dumps(schema).split('"') if part.startswith("#/$defs/")}:
        assert reference.removeprefix("#/$defs/") in schema["$defs"]


@given(policies)
def test_what_a_policy_file_holds_is_what_the_schema_allows(policy: Policy) -> None:
    schema = Policy.model_json_schema()
    content = tomllib.loads(policy.to_toml())
    assert set(content) <= set(schema["properties"])
    parts = schema["properties"]["models"]["items"]["oneOf"] + schema["properties"]["method"]["oneOf"]
    by_name: Mapping[str, Any] = {part["properties"]["name"]["const"]: part for part in parts}
    for table in (*content.get("models", []), content["method"]):
        described = by_name[table["name"]]
        assert set(described["required"]) <= set(table) <= set(described["properties"])


# ---- what is wrong


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("quasi_identifier = []", ("'quasi_identifier'", "'quasi_identifiers'")),
        ("foo = 1", ("'foo'", "quasi_identifiers")),
        ('confidential = "charge"', ("'confidential'", "list", "'charge'")),
        ('rest = "keep"', ("'rest'", "'drop' or 'insensitive'", "'keep'")),
        ("suppression = 2", ("'suppression'", "1", "2")),
        ("suppression = nan", ("'suppression'", "nan")),
        ("attributes = 3", ("'attributes'", "3")),
        ("attributes.age = 3", ("'attributes.age'", "3")),
        ("attributes.age.knd = 3", ("'attributes.age.knd'", "'kind'")),
        ('attributes.age.kind = "number"', ("'attributes.age.kind'", "'numeric'", "'number'")),
        ("attributes.age.weight = 0", ("'attributes.age.weight'", "0")),
        ("attributes.age.hierarchy = 3", ("attributes.age.hierarchy", "3")),
        ("groups.census = 3", ("'groups.census'", "3")),
        ('models = "k-anonymity"', ("'k-anonymity'", "'name'")),
        ("models = [3]", ("model", "3")),
        ("models = [{ k = 5 }]", ("unknown model None", "k-anonymity")),
        ('models = [{ name = "k-anonimity", k = 5 }]', ("'k-anonimity'", "'k-anonymity'")),
        ('models = [{ name = "k-anonymity", kk = 5 }]', ("'k-anonymity'", "'kk'", "k")),
        ('models = [{ name = "k-anonymity" }]', ("'k-anonymity'", "'k'")),
        ('models = [{ name = "k-anonymity", k = "5" }]', ("'k'", "'5'")),
        ('models = [{ name = "k-anonymity", k = 1 }]', ("'k'", "at least 2", "1")),
        ('models = [{ name = "t-closeness", t = 2 }]', ("'t'", "from 0 to 1", "2")),
        ('models = [{ name = "t-closeness", t = 0.1, distance = "near" }]', ("'distance'", "'near'")),
        ('models = [{ name = "l-diversity", l = 2, variant = "x" }]', ("'variant'", "entropy", "'x'")),
        ('method = "hilbert"', ("method 'hilbert'", "kd-median", "'name'")),
        ('method = { name = "groupd" }', ("'groupd'", "Known are hilbert")),
        ('method = { name = "hilber" }', ("'hilber'", "Did you mean 'hilbert'")),
        ('method = { name = "rank-swapping" }', ("'rank-swapping'", "Did you mean 'swap'")),
        ('method = { name = "coarsen", resolution = 0 }', ("'resolution'", "0")),
        ('method = { name = "safe-harbor", ladder = 3 }', ("'safe-harbor'", "3")),
        ('method = { name = "safe-harbor", ladder = [{ attribute = "a" }] }', ("'action'",)),
        ("quasi_identifiers = ]", ("TOML", "line 1")),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(tmp_path: Path, content: str, words: tuple[str, ...]) -> None:
    (tmp_path / "shoal.toml").write_text(content)
    with pytest.raises(InputError) as told:
        Policy.read(tmp_path / "shoal.toml")
    assert [word for word in words if word not in str(told.value)] == [], str(told.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml.*No such file"):
        Policy.read(tmp_path / "no.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"bytes\.toml.*TOML"):
        Policy.read(tmp_path / "bytes.toml")


@pytest.mark.parametrize("wrong", [{"models": [KAnonymity]}, {"method": Hilbert}, {"models": KAnonymity}])
def test_a_class_is_not_yet_a_choice(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="'name'"):
        Policy(**wrong)


# ---- the schema of a table

TABLE = pl.DataFrame({"name": ["x", "y"], "age": [1, 2], "sex": ["M", "F"], "charge": [1.5, 2.5]})


def test_roles_are_as_chosen_and_kinds_inferred_where_not() -> None:
    policy = Policy(
        identifiers=["name"],
        quasi_identifiers=["sex", "age"],
        confidential=["age"],
        attributes={"age": {"kind": "ordinal"}},
    )
    schema = policy.schema(TABLE)
    assert schema.names == ["name", "age", "sex"]  # in the table's order, without what no role names
    assert schema["age"].roles == {Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL}
    assert [schema[name].kind for name in ("age", "sex")] == [Kind.ORDINAL, Kind.NOMINAL]
    assert policy.model_copy(update={"rest": "insensitive"}).schema(TABLE)["charge"].roles == {Role.INSENSITIVE}


def test_a_released_table_lacks_identifiers_and_nothing_else() -> None:
    policy = Policy(identifiers=["name"], quasi_identifiers=["age"], attributes={"name": {"kind": "nominal"}})
    released = TABLE.drop("name")
    with pytest.raises(InputError, match="'name', named as identifier"):
        policy.schema(released)
    assert policy.schema(released, released=True).names == ["age"]
    with pytest.raises(InputError, match="'age'"):
        policy.schema(TABLE.drop("age"), released=True)


def test_models_without_an_attribute_are_about_every_confidential_one() -> None:
    policy = Policy(quasi_identifiers=["sex"], confidential=["age", "charge"], models=[KAnonymity(2), TCloseness(0.1)])
    promises = policy.promises(policy.schema(TABLE))
    assert promises == (KAnonymity(2), TCloseness(0.1, "age"), TCloseness(0.1, "charge"))


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"models": [TCloseness(0.1)]}, "none is named"),
        ({"models": [TCloseness(0.1, "chrge")], "confidential": ["charge"]}, "'chrge'.*'charge'"),
        ({"models": [LDiversity(2, "age")], "confidential": ["charge"]}, "'age'.*not confidential"),
    ],
)
def test_a_model_must_be_about_what_is_confidential(choices: dict[str, Any], words: str) -> None:
    policy = Policy(quasi_identifiers=["age"], **choices)
    with pytest.raises(InputError, match=words):
        policy.promises(policy.schema(TABLE))


def test_a_label_goes_along_in_the_file_and_stands_in_printed_tables() -> None:
    table = pl.DataFrame({"age": [30, 31] * 5, "dx": ["a", "b"] * 5})
    labels = {"dx": {"label": "Diagnosis"}}
    policy = Policy(
        quasi_identifiers=["age"], confidential=["dx"], models=[KAnonymity(5), LDiversity(1, "dx")], attributes=labels
    )
    assert Policy(**tomllib.loads(policy.to_toml())) == policy
    assert (policy.label("dx"), policy.label("age")) == ("Diagnosis", "age")
    printed = str(anonymize(table, policy, seed=1))
    assert "l-diversity of Diagnosis" in printed
    assert "of dx" not in printed


def test_a_policy_knows_its_table_by_the_name_of_the_file_alone() -> None:
    policy = Policy(quasi_identifiers=["age"])
    assert policy.table_name is None
    named = policy.of_table(Path("secret folder") / "visits.csv")
    assert named.changed(suppression=0.1).table_name == "visits.csv"
    assert "visits" not in named.to_toml()
    assert policy.of_table("postgresql://me:secret@host/db#visits").table_name is None
    assert policy.changed(project={"source": "in/visits.csv"}).table_name == "visits.csv"
