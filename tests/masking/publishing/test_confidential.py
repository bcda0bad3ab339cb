"""Confidential attributes shown class by class, through a whole release: values, roles, promises, what is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InputError
from shoal.masking.publishing.confidential import LEAVES_OPEN
from shoal.privacy import KAnonymity, LDiversity, TCloseness

# Two classes of five by age; charges as in the paper's differencing example, ten times as much in the second.
TABLE = pl.DataFrame(
    {
        "age": [30] * 5 + [70] * 5,
        "charge": [10, 20, 30, 40, 50, 100, 200, 300, 400, 600],
        "ward": ["a", "a", "b", "a", "c"] * 2,
    }
)


def policy(**choices: Any) -> shoal.Policy:
    return shoal.Policy(**{"quasi_identifiers": ["age"], "confidential": ["charge"]} | choices)


def shown(column: str, by: str, **choices: Any) -> list[Any]:
    release = shoal.anonymize(TABLE, policy(confidential=[column], show={column: by}, **choices))
    assert release.table["age"].cast(pl.String).to_list() == TABLE["age"].cast(pl.String).to_list()
    assert any(LEAVES_OPEN[by] in note for note in release.notes)
    return release.table[column].to_list()[::5]


def test_each_class_shows_one_value() -> None:
    assert shown("charge", "range") == ["[10;50]", "[100;600]"]
    assert shown("charge", "mean") == [30.0, 320.0]
    assert shown("charge", "median") == [30.0, 300.0]
    assert shown("ward", "range") == ["{a;b;c}", "{a;b;c}"]
    assert shown("ward", "mean") == ["a", "a"]  # the most frequent


def test_a_private_mean_through_a_release() -> None:
    domain = {"charge": {"domain": [0, 1_000]}}
    low, high = shown("charge", "private-mean", epsilon=1e5, attributes=domain)
    assert low == pytest.approx(30, abs=0.1)
    assert high == pytest.approx(320, abs=0.1)
    assert low != 30


def test_an_attribute_that_identifies_too_takes_no_part_in_grouping() -> None:
    both = policy(quasi_identifiers=["age", "charge"], show={"charge": "mean"})
    release = shoal.anonymize(TABLE, both)
    assert release.table["charge"].to_list() == [30.0] * 5 + [320.0] * 5
    assert release.schema.quasi_identifiers == ["age", "charge"]  # what the release is judged by


def test_what_is_shown_alike_is_judged_as_a_quasi_identifier() -> None:
    release = shoal.anonymize(TABLE, policy(show={"charge": "range"}))
    assert shoal.check(release.frame, policy(show={"charge": "range"}))[0].achieved == 5
    lone = release.table.with_columns(charge=pl.Series(["[10;50]"] * 9 + ["[1;2]"]))
    assert not shoal.check(lone, policy(show={"charge": "range"}))[0].holds


def test_diversity_of_what_a_class_no_longer_shows_is_judged_beside_the_original() -> None:
    asked = policy(show={"charge": "mean"}, models=[KAnonymity(5), LDiversity(5), TCloseness(0.6)])
    release = shoal.anonymize(TABLE, asked)
    assert [verdict.achieved for verdict in release.verdicts[:2]] == [5, 5]
    assert [v.achieved for v in shoal.check(release.frame, asked, original=TABLE, paired=True)] == pytest.approx(
        [v.achieved for v in release.verdicts]
    )
    with pytest.raises(InputError, match="beside the original"):
        shoal.check(release.frame, asked)
    merged = shoal.anonymize(TABLE, policy(show={"charge": "mean"}, models=[KAnonymity(5), LDiversity(6)]))
    assert merged.table["charge"].unique().to_list() == [175.0]  # two classes made one
    with pytest.raises(InputError, match="cannot be reached"):
        shoal.anonymize(TABLE, policy(show={"charge": "mean"}, models=[KAnonymity(5), LDiversity(11)]))


def test_any_method_that_makes_classes_will_do() -> None:
    for grouping in ("hilbert", "sorted", "kd", "mdav"):
        release = shoal.anonymize(TABLE, policy(method=shoal.METHODS.find(grouping)(), show={"charge": "mean"}))
        assert release.table["charge"].to_list() == [30.0] * 5 + [320.0] * 5
    coarse = shoal.anonymize(TABLE, policy(method=shoal.Coarsen(resolution=1), show={"charge": "mean"}))
    assert coarse.table["charge"].unique().to_list() == [175.0]


def test_only_what_is_kept_counts() -> None:
    table = TABLE.extend(pl.DataFrame({"age": [95] * 3, "charge": [7] * 3, "ward": ["z"] * 3}))
    asked = policy(models=[KAnonymity(4)], method=shoal.Coarsen(100), suppression=0.3, show={"charge": "range"})
    release = shoal.anonymize(table, asked)
    assert release.suppressed == 3
    assert not any("7" in text.strip("[]").split(";") for text in release.table["charge"])


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"show": {"chrge": "mean"}}, "'chrge'.*'charge'"),
        ({"show": {"age": "mean"}}, "'age'.*no confidential"),
        ({"show": {"charge": "average"}}, "show.charge"),
        ({"show": {"charge": "private-mean"}}, "needs a budget"),
        ({"show": {"charge": "private-mean"}, "epsilon": 1.0}, "not taken from the data"),
        ({"show": {"charge": "mean"}, "epsilon": 1.0}, "none is shown"),
        ({"show": {"charge": "private-mean"}, "epsilon": -1.0}, "epsilon"),
        ({"quasi_identifiers": ["charge"], "show": {"charge": "mean"}}, "none is left"),
        ({"show": {"charge": "mean"}, "models": []}, "no class size"),
        (
            {
                "show": {"charge": "private-mean"},
                "epsilon": 1.0,
                "models": [KAnonymity(5), LDiversity(2)],
                "attributes": {"charge": {"domain": [0, 9]}},
            },
            "without looking at confidential values.*l-diversity of 'charge'",
        ),
        (
            {
                "show": {"ward": "private-mean"},
                "epsilon": 1.0,
                "confidential": ["ward"],
                "attributes": {"ward": {"domain": [0, 9], "kind": "nominal"}},
            },
            "domain|of numbers",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        shoal.anonymize(TABLE, policy(**choices))


def test_epsilon_is_shared_by_all_private_means() -> None:
    domains = {name: {"domain": [0, 100]} for name in ("age", "charge")}
    chosen = policy(
        quasi_identifiers=["ward"],
        confidential=["age", "charge"],
        show={"age": "private-mean", "charge": "private-mean"},
        epsilon=1.0,
        attributes=domains,
    )
    assert [mean.epsilon for mean in chosen.private_means().values()] == [0.5, 0.5]
