"""What one adds is found everywhere, with no list edited: methods, models, measures, attacks, formats, generators."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.capabilities import capabilities
from shoal.catalogue import SAME, Catalogue, Registry, parameter
from shoal.choices import chosen
from shoal.cli.main import app
from shoal.compare.contenders import comparable, contender
from shoal.data import hidden_content
from shoal.data.files import FORMATS, Format
from shoal.data.generators import GENERATORS, Generator
from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking import METHODS
from shoal.masking.method import Masked, Method, Strength
from shoal.measure import MEASURES, Pair, measure
from shoal.policy import Policy
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Verdict
from shoal.risk.attack import ATTACKS, Outcome, Scene, attack


class ToyMethod(Method):
    """Everybody shows the same. Nothing else is shown."""

    step: float = parameter("how coarse", default=1.0, above=0, most=9)

    strength = Strength("step", 0.1, 9.0)
    in_chunks = SAME

    def mask(self, microdata: Microdata, models, *, suppression: float = 0.0, seed: int | None = None) -> Masked:
        return shoal.Coarsen(1).mask(microdata, models, suppression=suppression, seed=seed)


class ToyModel(PrivacyModel):
    """Classes hold a few records."""

    few: int = parameter("how many", least=1)

    in_chunks = SAME
    asked = property(lambda self: self.few)

    def levels(self, about, order, starts):
        return np.diff(starts).astype(np.float64)

    def meets(self, levels):
        return levels >= self.few

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        least = int(classes.sizes.min())
        return Verdict(self.name, self.few, least, least >= self.few)


def toy_measure(pair: Pair) -> float:
    """How many records are shown."""
    return float(len(pair.masked))


def toy_attack(scene: Scene) -> list[Outcome]:
    """Everybody is guessed, nobody is found."""
    return [Outcome("toy-attack", "b", people=4, guessed=4, right=0, baseline=0.5)]


class ToyGenerator(Generator):
    """People in a row."""

    people: int = parameter("how many", default=3, least=1)
    name_of_all: str | None = parameter("what they are called", default=None)

    in_chunks = SAME
    examples = ("--people 4 -o t.csv",)

    def table(self, seed: int | None = None) -> pl.DataFrame:
        return pl.DataFrame({"a": range(self.people), "b": [self.name_of_all or "x"] * self.people})

    def chunks(self, size: int, seed: int | None = None) -> Iterator[pl.DataFrame]:
        return iter([self.table(seed)])


TOY_FORMAT = Format(
    "toy", "Lines of JSON.", (".toy",), pl.read_ndjson, pl.DataFrame.write_ndjson, hidden_content.nothing, SAME,
    (".toy",), pl.scan_ndjson,
)  # fmt: skip


@pytest.fixture
def toys() -> None:
    shoal.METHODS.add(ToyMethod)
    shoal.MODELS.add(ToyModel)
    measure("utility", "better")(toy_measure)
    attack(toy_attack)
    FORMATS.add(TOY_FORMAT)
    GENERATORS.add(ToyGenerator)


def asked(*words: object) -> dict[str, Any]:
    run = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


@pytest.mark.usefixtures("toys")
def test_toys_are_listed_by_the_command_line() -> None:
    for sort, word in {
        "methods": "toy-method",
        "models": "toy-model",
        "measures": "toy_measure",
        "attacks": "toy-attack",
        "formats": "toy",
        "generators": "toy-generator",
    }.items():
        assert word in {each["name"] for each in asked(sort)[sort]}
        assert asked(sort, word)[sort][0]["sentence"].endswith(".")
        assert word in {each["name"] for each in asked("engines")["capabilities"]}


@pytest.mark.usefixtures("toys")
def test_toys_work_together_from_the_command_line(tmp_path: Path) -> None:
    source, target = tmp_path / "d.toy", tmp_path / "r.toy"
    pl.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"]}).write_ndjson(source)
    roles = ("--quasi", "a", "--confidential", "b")
    release = asked("anonymize", source, "-o", target, *roles, "--k", "2", "--method", "toy-method:step=2",
                    "--promise", "toy-model:few=3")  # fmt: skip
    assert {model["name"] for model in release["models"]} == {"k-anonymity", "toy-model"}
    assert target.exists()
    measured = asked("utility", source, target, *roles, "--measures", "toy_measure")
    assert measured["measures"]["toy_measure"]["value"] == 4
    attacked = asked("attack", source, target, *roles, "--k", "2", "--attacks", "toy-attack")
    assert [each["attack"] for each in attacked["attacks"]] == ["toy-attack"]
    named = asked("attack", source, target, *roles, "--k", "2", "--attacks", f"{__name__}:toy_attack")
    assert named == attacked
    own = asked("anonymize", source, "-o", tmp_path / "own.csv", *roles, "--k", "2", "--method",
                f"{__name__}:ToyMethod:step=2")  # fmt: skip
    assert own["classes"] == 1


@pytest.mark.usefixtures("toys")
def test_a_toy_generator_has_a_command_with_its_parameters(tmp_path: Path) -> None:
    def sampled(word: str, *options: object) -> str:
        run = CliRunner().invoke(app, ["sample", word, *map(str, options)])
        return run.output if run.exit_code == 0 else str(run.exception)

    assert "toy-generator" in sampled("--help")
    assert "How many." in sampled("toy-generator", "--help")
    for number, word in enumerate(("toy-generator", f"{__name__}:ToyGenerator")):
        target = tmp_path / f"{number}.csv"
        assert "4 records written" in sampled(word, "--people", 4, "--name-of-all", "y", "-o", target)
        assert pl.read_csv(target)["b"].to_list() == ["y"] * 4
    sampled("toy-generator", "-o", tmp_path / "folder")
    assert pl.read_parquet(tmp_path / "folder").height == 3
    assert "'people' parameter of toy-generator" in sampled("toy-generator", "--people", 0, "-o", tmp_path / "none.csv")
    assert "is no generator" in sampled(f"{__name__}:ToyMethod", "-o", tmp_path / "none.csv")


@pytest.mark.usefixtures("toys")
def test_a_toy_is_found_everywhere() -> None:
    policy = Policy(
        quasi_identifiers=["a"], method={"name": "toy-method", "step": 2.0}, models=[{"name": "toy-model", "few": 3}]
    )
    assert policy.method == ToyMethod(2.0)
    assert 'name = "toy-model"' in policy.to_toml()
    schema = json.dumps(Policy.model_json_schema())
    assert "toy-method" in schema
    assert "how many" in schema
    assert chosen("toy-method:step=3", shoal.METHODS) == ToyMethod(3.0)
    assert "toy-method" in comparable()
    assert contender("toy-method:step=2").parameter == Strength("step", 2.0, 2.0)
    assert {"toy-method", "toy-model"} <= {each.name for each in capabilities() if each.in_chunks == SAME}
    release = shoal.anonymize(pl.DataFrame({"a": list(range(12))}), policy)
    assert release.verdicts[0].achieved == 12


@pytest.mark.usefixtures("toys")
def test_a_toys_parameters_are_checked_in_the_one_form_of_sentence() -> None:
    with pytest.raises(shoal.InputError, match="'step' parameter of toy-method must be a number above 0 and at most 9"):
        ToyMethod(0.0)
    with pytest.raises(shoal.InputError, match="needs its parameter 'few'"):
        Policy(models=[{"name": "toy-model"}])


def test_ones_own_code_is_named_by_the_user_and_never_by_a_file(tmp_path: Path) -> None:
    own = "tests.test_catalogue:ToyMethod"
    assert type(chosen(f"{own}:step=2", shoal.METHODS)).__name__ == "ToyMethod"
    assert shoal.METHODS.name_of(ToyMethod) == f"{ToyMethod.__module__}:ToyMethod"
    file = tmp_path / "shoal.toml"
    file.write_text(f'method = {{name = "{own}"}}\n', encoding="utf-8")
    with pytest.raises(shoal.InputError, match="which is code to be imported"):
        Policy.read(file, own_code=False)


def found_in(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


def test_an_installed_package_adds_a_measure_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "toy_measures.py").write_text(
        "from shoal.measure import measure\n\n\n@measure('risk', 'riskier')\ndef packaged(pair):\n"
        "    'Of a package.'\n    return 0.0\n"
    )
    (info := tmp_path / "toy_measures-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-measures\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shoal.measures]\npackaged = toy_measures:packaged\n")
    ask = "from shoal.measure import find_measure; print(find_measure('packaged', 'risk').meaning)"
    ran = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=found_in(tmp_path)
    )
    assert ran.stdout == "Of a package.\n"


def test_an_installed_package_adds_a_method_and_a_generator_by_entry_points(tmp_path: Path) -> None:
    (tmp_path / "toy_package.py").write_text(
        "from shoal.data.generators import Generator\nfrom shoal.masking.method import Method\n\n\n"
        'class Packaged(Method):\n    """Of a package."""\n\n\nclass Made(Generator):\n    """Of it, too."""\n'
    )
    info = tmp_path / "toy_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[shoal.methods]\npackaged = toy_package:Packaged\n[shoal.generators]\nmade = toy_package:Made\n"
    )
    ask = (
        "import shoal; from shoal.policy import Policy; print('packaged' in shoal.METHODS.words, "
        "Policy(method={'name': 'packaged'}).method.name); from shoal.data.generators import GENERATORS; "
        "print(GENERATORS.find('made').sentence())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=found_in(tmp_path)
    )
    assert ran.stdout.splitlines() == ["True packaged", "Of it, too."]


@pytest.mark.parametrize("catalogue", [shoal.METHODS, shoal.MODELS, GENERATORS], ids=lambda catalogue: catalogue.sort)
def test_every_entry_says_what_it_is(catalogue: Catalogue) -> None:
    for word, kind in zip(catalogue.words, catalogue, strict=True):
        assert kind.name == word
        assert kind.sentence().endswith(".")
        assert all(each.help for each in kind.parameters())
        assert kind.in_chunks.how or kind.in_chunks.instead
        assert catalogue is GENERATORS or getattr(shoal, kind.__name__) is kind


@pytest.mark.parametrize("registry", [MEASURES, ATTACKS, FORMATS], ids=lambda registry: registry.sort)
def test_whatever_registers_itself_says_what_it_is(registry: Registry) -> None:
    for each in registry.listed():
        assert each.listing()["sentence"].endswith(".")
        assert each.in_chunks.how or each.in_chunks.instead


@pytest.mark.usefixtures("toys")
def test_a_format_that_can_be_scanned_is_read_in_chunks(tmp_path: Path) -> None:
    (folder := tmp_path / "d").mkdir()
    for part in range(2):
        pl.DataFrame({"a": range(6), "b": ["x", "y"] * 3}).write_ndjson(folder / f"part-{part}.toy")
    asked("anonymize", folder, "-o", tmp_path / "r", "--quasi", "a", "--confidential", "b", "--k", "3")
    assert pl.read_parquet(tmp_path / "r" / "*.parquet").height == 12


def test_nobody_takes_a_word_of_ours() -> None:
    """A promise by that word would be judged by whatever took it."""

    def found_again(pair: object) -> float:
        """Always zero."""
        return 0.0

    ours = MEASURES.loaded()["found_again"]
    with pytest.raises(InputError, match="measure 'found_again' of Shoal's own already: give yours another name"):
        measure("risk", "riskier")(found_again)
    assert MEASURES["found_again"] is ours

    def linkage(scene: object) -> list[object]:
        """Finds nobody."""
        return []

    with pytest.raises(InputError, match="attack 'linkage' of Shoal's own"):
        attack(linkage)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="format 'csv' of Shoal's own"):
        FORMATS.add(replace(FORMATS["csv"], sentence="Mine."))
    with pytest.raises(InputError, match="method 'hilbert' of Shoal's own"):
        METHODS.add(type("Hilbert", (shoal.Hilbert,), {}))


class Unfinished(Method):
    """Says nothing of how it masks."""


class UnfinishedModel(PrivacyModel):
    """Says nothing of what it asks."""


class UnfinishedGenerator(Generator):
    """Says nothing of what it makes."""


def test_an_unfinished_method_or_model_is_told_what_it_lacks() -> None:
    ages = pl.DataFrame({"age": range(20)})
    with pytest.raises(InputError, match="'Unfinished' does not define 'mask'"):
        shoal.anonymize(ages, Policy(quasi_identifiers=["age"], method=Unfinished()))
    with pytest.raises(InputError, match=r"'UnfinishedModel' does not define '(asked|levels|meets|verdict)'"):
        shoal.anonymize(ages, Policy(quasi_identifiers=["age"], models=[UnfinishedModel()]))


def test_an_unfinished_generator_is_told_what_it_lacks() -> None:
    with pytest.raises(InputError, match="does not define 'table'"):
        UnfinishedGenerator().table()
    with pytest.raises(InputError, match="does not define 'chunks'"):
        UnfinishedGenerator().chunks(5)
