"""`shoal risk` and `shoal utility`: their figures against counting by hand."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.cli.conftest import CODES, QUASI, ROLES, ROWS, Shoal
from tests.oracles.released import class_sizes, information_loss, key, rows_of

RISK = {
    "records", "uniques", "reidentification_risk", "smallest_class", "highest_risk", "average_risk",
    "attribute_disclosure",
}  # fmt: skip
UTILITY = {"information_loss", "discernibility", "average_class_size", "correlation_agreement"}
SECRET = "charge > 100000"


@pytest.fixture
def release(shoal: Shoal, discharges: Path, tmp_path: Path) -> Path:
    shoal(
        "anonymize",
        discharges,
        "-o",
        tmp_path / "r.csv",
        *ROLES,
        "--k",
        "5",
        "--method",
        "sorted",
        "--write",
        "keep-order",
    )
    return tmp_path / "r.csv"


def disclosed(path: Path) -> float:
    """Eq. 5 for charges above 100,000."""
    classes: dict[tuple[str, ...], list[bool]] = defaultdict(list)
    for row in rows_of(path):
        classes[key(row, QUASI)].append(float(row["charge"]) > 100_000)
    exposed = sum(len(members) for members in classes.values() if all(members))
    return exposed / sum(map(sum, classes.values()))


def test_the_risk_of_the_original(shoal: Shoal, discharges: Path) -> None:
    run = shoal("risk", discharges, *ROLES, "--when", SECRET, "--json")
    sizes = class_sizes(rows_of(discharges), QUASI)
    assert (run.code, run.err) == (0, "")
    assert run.json.keys() >= RISK
    assert run.json["records"] == ROWS
    assert run.json["uniques"] == sizes.count(1) > ROWS / 2
    assert run.json["reidentification_risk"] == pytest.approx(sizes.count(1) / ROWS)
    assert (run.json["smallest_class"], run.json["highest_risk"]) == (1, 1.0)
    assert run.json["average_risk"] == pytest.approx(len(sizes) / ROWS)
    assert run.json["attribute_disclosure"] == {SECRET: pytest.approx(disclosed(discharges))}
    assert disclosed(discharges) > 0.5


def test_the_risk_of_the_release(shoal: Shoal, release: Path) -> None:
    run = shoal("risk", release, *ROLES, "--when", SECRET, "--json")
    sizes = class_sizes(rows_of(release), QUASI)
    assert (run.code, run.err) == (0, "")
    assert run.json.keys() >= RISK
    assert (run.json["uniques"], run.json["reidentification_risk"]) == (0, 0)
    assert run.json["smallest_class"] == sizes[0] >= 5
    assert run.json["highest_risk"] == pytest.approx(1 / sizes[0])
    assert run.json["average_risk"] == pytest.approx(len(sizes) / ROWS)
    assert run.json["attribute_disclosure"] == {SECRET: pytest.approx(disclosed(release))}


def test_what_groups_of_known_attributes_give_away(shoal: Shoal, discharges: Path) -> None:
    groups = {"census": ["age_yrs", "sex", "ethncty", "race", "patzip", "patcnty"], "temporal": ["los", "adm_qtr"]}
    options = [word for name, columns in groups.items() for word in ("--group", f"{name}={','.join(columns)}")]
    found = shoal("risk", discharges, *ROLES, *options, "--json").json["attributes_known"]
    rows = rows_of(discharges)
    for name, columns in groups.items():
        assert found[name]["uniques"] == class_sizes(rows, columns).count(1)
    everything = [column for columns in groups.values() for column in columns]
    assert found["census + temporal"]["uniques"] == class_sizes(rows, everything).count(1)


def test_the_utility_of_the_release(shoal: Shoal, discharges: Path, release: Path) -> None:
    run = shoal("utility", discharges, release, "--quasi", ",".join(QUASI), "--json")
    original, released = rows_of(discharges), rows_of(release)
    sizes = class_sizes(released, QUASI)
    assert (run.code, run.err) == (0, "")
    assert run.json.keys() >= UTILITY
    assert run.json["information_loss"] == pytest.approx(information_loss(original, released, QUASI, CODES))
    assert run.json["discernibility"] == sum(size * size for size in sizes)
    assert run.json["average_class_size"] == pytest.approx(ROWS / len(sizes))
    assert 0.5 < run.json["correlation_agreement"] < 1


def test_of_a_shuffled_release_the_loss_is_left_out_and_said_so(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES)
    facts = shoal("utility", discharges, tmp_path / "r.csv", "--quasi", ",".join(QUASI), "--json").json
    assert facts["information_loss"] is None
    assert "shuffled" in facts["left_out"]["information_loss"]
    assert facts["discernibility"] > 0


def test_an_original_kept_as_it_is_loses_nothing(shoal: Shoal, discharges: Path) -> None:
    facts = shoal("utility", discharges, discharges, "--quasi", ",".join(QUASI), "--json").json
    assert (facts["information_loss"], facts["correlation_agreement"]) == (0, pytest.approx(1))


def test_tables_for_people_fit_the_terminal(shoal: Shoal, discharges: Path, release: Path) -> None:
    options = [*ROLES, "--when", SECRET, "--group", f"{'everything ' * 9}={','.join(QUASI)}"]
    for run in (
        shoal("risk", release, *options),
        shoal("utility", discharges, release, "--quasi", ",".join(QUASI)),
    ):
        assert run.code == 0
        assert max(map(len, run.out.splitlines())) <= 80
