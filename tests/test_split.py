"""Split releases: Algorithm 1's tables share their classes and merge into one that is k-anonymous on all attributes."""

from __future__ import annotations

import errno
import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data.files import read_table
from shoal.draft import draft
from shoal.errors import InputError, PromiseError
from shoal.privacy import KAnonymity, LDiversity, TCloseness
from shoal.release import judged
from shoal.risk.dependence import Dependence
from shoal.risk.joined import attack_joined
from shoal.split import SplitDraft, _only, split_draft, standings
from shoal.split_tables import about, beside
from shoal.testing import tables

SHOWN = ("range", "mean", "median")


def people(n: int = 300) -> pl.DataFrame:
    """`days` follows `charge`; `tosses` follows nothing."""
    random = np.random.default_rng(5)
    charge = random.lognormal(9, 1, n).round()
    return pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(n)],
            "age": random.integers(0, 90, n),
            "sex": random.choice(["f", "m"], n),
            "charge": charge,
            "days": (charge / 3_000 + random.random(n)).round(),
            "tosses": random.integers(0, 50, n),
            "memo": random.integers(0, 9, n),
        }
    )


POLICY = shoal.Policy(
    identifiers=["name"],
    quasi_identifiers=["age", "sex", "charge"],
    confidential=["charge", "days", "tosses"],
    insensitive=["memo"],
    models=[KAnonymity(5)],
)


def class_sizes(table: pl.DataFrame) -> list[int]:
    return list(Counter(table.rows()).values())


@given(st.data())
def test_merged_tables_are_k_anonymous_on_all_attributes(data: st.DataObject) -> None:
    table = data.draw(tables(max_rows=30, max_columns=5).filter(lambda t: t.width >= 3 and t.height >= 2))
    names = table.columns
    cut = data.draw(st.integers(1, len(names) - 2))
    confidential = [name for name in names[cut:] if table[name].null_count() < table.height]
    if not confidential:
        return
    both = data.draw(st.lists(st.sampled_from(confidential), unique=True))
    k = data.draw(st.integers(2, max(2, min(5, table.height))))
    show = {name: data.draw(st.sampled_from(SHOWN)) for name in data.draw(st.sets(st.sampled_from(confidential)))}
    asked = shoal.Policy(
        quasi_identifiers=[*names[:cut], *both], confidential=confidential, models=[KAnonymity(k)], show=show
    )
    release = shoal.split(table, asked)
    assert release.merged is not None
    merged = release.merged.table
    assert set(merged.columns) == {*names[:cut], *confidential}
    assert min(class_sizes(merged)) >= k
    for name, one in release.tables.items():
        assert set(one.table.columns) == {*names[:cut], name}
        assert one.table.equals(merged.select(one.table.columns))
        assert len(set(one.table.rows())) == len(set(one.table.select(names[:cut]).rows()))  # one value a class


def test_tables_are_joined_by_what_they_share() -> None:
    release = shoal.split(people(), POLICY)
    assert list(release.tables) == ["charge", "days", "tosses"]
    joined = release.tables["charge"].table
    for name in ("days", "tosses"):
        classes = release.tables[name].table.unique()
        assert classes.select("age", "sex").is_unique().all()
        joined = joined.join(classes, on=["age", "sex"], how="left")
    assert release.merged is not None
    assert joined.equals(release.merged.table.select(joined.columns))
    assert min(class_sizes(joined)) >= 5


def test_every_confidential_attribute_is_as_diverse_as_asked() -> None:
    table = people().with_columns(tosses=pl.col("tosses") % 2)
    asked = POLICY.model_copy(update={"models": (KAnonymity(5), LDiversity(2))})
    release = shoal.split(table, asked)
    for name, one in release.tables.items():
        assert [verdict.attribute for verdict in one.verdicts] == [None, name]
        counts = pl.DataFrame({"age": one.table["age"], "sex": one.table["sex"], "value": table[name]})
        assert counts.group_by("age", "sex").agg(pl.col("value").n_unique())["value"].min() >= 2


def test_identifiers_and_what_would_link_the_tables_stay_out() -> None:
    release = shoal.split(people(), POLICY)
    for one in release.tables.values():
        assert not {"name", "memo"} & set(one.table.columns)
    assert any("'memo'" in note for note in release.notes)


# ---- dependence


def test_only_what_depends_on_each_other_must_share_classes() -> None:
    release = shoal.split(people(2_000), POLICY, independent=True)
    assert release.dependence.components == [("charge", "days"), ("tosses",)]
    assert release.merged is None
    charge, days, tosses = (release.tables[name].table.select("age", "sex") for name in ("charge", "days", "tosses"))
    assert charge.equals(days)
    assert not charge.equals(tosses)
    assert all(min(class_sizes(one.table)) >= 5 for one in release.tables.values())
    shared = shoal.split(people(2_000), POLICY)
    assert shared.merged is not None
    assert shared.tables["tosses"].table.select("age", "sex").equals(charge)


def test_tables_of_their_own_classes_are_not_merged_nor_laid_side_by_side(tmp_path: Path) -> None:
    made = split_draft(people(2_000), POLICY, independent=True)
    for choice, words in (({"merge": True}, "cannot be merged"), ({"keep_order": True}, "side by side")):
        with pytest.raises(InputError, match=words):
            made.write(tmp_path / "r.csv", **choice)
    made.write(tmp_path / "r.csv", seed=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.charge.csv", "r.days.csv", "r.tosses.csv"]


# ---- tables of their own classes, laid side by side


def wards(n: int = 2_400, *, shuffled: bool = False) -> pl.DataFrame:
    """Ward and charge share most of a bit, which no correlation shows."""
    random = np.random.default_rng(7)
    charge = random.integers(0, 10_000, n)
    ward = np.where(random.random(n) < 0.97, np.abs(charge - 5_000) < 2_500, random.random(n) < 0.5)
    return pl.DataFrame(
        {
            "age": random.integers(0, 90, n),
            "sex": random.choice(["f", "m"], n),
            "charge": charge,
            "ward": np.where(random.permutation(ward) if shuffled else ward, "A", "B"),
        }
    )


DIVERSE = shoal.Policy(
    quasi_identifiers=["age", "sex"], confidential=["charge", "ward"], models=[KAnonymity(5), LDiversity(2)]
)
APART = Dependence(("charge", "ward"), ())


def apart(table: pl.DataFrame, policy: shoal.Policy = DIVERSE) -> SplitDraft:
    """Tables with classes of their own, whatever depends on what."""
    made = {name: _only(draft(table, about(policy, [name], {}), seed=1), name) for name in policy.confidential}
    return SplitDraft(made, None, APART, ())


def test_ward_and_charge_share_classes_though_no_correlation_shows() -> None:
    release = shoal.split(wards(), DIVERSE, independent=True, seed=1)
    assert release.dependence.components == [("charge", "ward")]
    assert release.merged is not None
    with pytest.raises(InputError, match="share their classes"):
        release.attack()


def test_laid_side_by_side_dependent_tables_give_values_away() -> None:
    """What sharing classes prevents: hundreds of wards are certain, above baseline and control."""
    outcome = attack_joined(standings(apart(wards()).tables, APART), 1)
    assert outcome.target == "ward"
    assert outcome.right > 200
    assert outcome.interval[0] > max(outcome.baseline, outcome.control or 0.0)


def test_l_and_t_are_judged_over_all_tables_together(tmp_path: Path) -> None:
    made = apart(wards())
    assert all(judged(each).verdicts for each in made.tables.values())  # each alone holds
    with pytest.raises(PromiseError, match=r"do not keep l-diversity of 'ward'.*leave out independent"):
        made.judged()
    with pytest.raises(PromiseError, match="tables together"):
        made.write(tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []
    close = DIVERSE.model_copy(update={"models": (KAnonymity(5), TCloseness(0.3, "ward"))})
    with pytest.raises(PromiseError, match="do not keep t-closeness of 'ward'"):
        apart(wards(), close).judged()


def test_tables_of_what_does_not_go_together_give_nothing_away() -> None:
    release = shoal.split(wards(shuffled=True), DIVERSE, independent=True, seed=1)
    assert release.merged is None
    assert "does not prove that there is none" in release.dependence.rule
    assert [outcome.guessed for outcome in release.attack()] == [0, 0]


# ---- files


def test_written_tables_and_their_certificates_hold(tmp_path: Path) -> None:
    made = split_draft(people(), POLICY)
    release = made.write(tmp_path / "r.csv", merge=True, certificate=tmp_path / "c.json", seed=1)
    names = ["charge", "days", "tosses"]
    expected = [f"{stem}.{name}.{end}" for stem, end in (("c", "json"), ("r", "csv")) for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*expected, "c.json", "r.csv"])
    for name in names:
        written = read_table(tmp_path / f"r.{name}.csv", text=["age", "sex", name])
        assert min(class_sizes(written)) >= 5
        shown = release.tables[name].table.cast(pl.String)
        assert written.sort(written.columns).equals(shown.select(written.columns).sort(written.columns))
    orders = [read_table(tmp_path / f"r.{name}.csv", text=["age"])["age"].to_list() for name in names]
    assert orders[0] != orders[1]


def test_all_are_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "r.tosses.csv").mkdir()  # the last cannot be written
    with pytest.raises(InputError, match="folder"):
        split_draft(people(), POLICY).write(tmp_path / "r.csv", merge=True, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["r.tosses.csv"]


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("a/r.csv", "charge", "a/r.charge.csv"),
        ("my.release.csv.gz", "los", "my.release.los.csv.gz"),
        ("r.parquet", "a/b c", "r.a_b_c.parquet"),
    ],
)
def test_files_are_named_by_their_column(path: str, name: str, expected: str) -> None:
    assert beside(path, name) == Path(expected)


def test_names_that_lead_to_one_file_and_databases_are_refused(tmp_path: Path) -> None:
    table = people().select("age", pl.col("days").alias("a b"), pl.col("tosses").alias("a/b"))
    alike = shoal.Policy(quasi_identifiers=["age"], confidential=["a b", "a/b"])
    with pytest.raises(InputError, match="one file"):
        split_draft(table, alike).write(tmp_path / "r.csv")
    with pytest.raises(InputError, match="database"):
        split_draft(people(), POLICY).write("sqlite:///r.db#t")


# ---- budget and refusal


def test_private_means_of_all_tables_share_one_budget() -> None:
    asked = shoal.Policy(
        quasi_identifiers=["age"],
        confidential=["charge", "tosses"],
        show={"charge": "private-mean", "tosses": "private-mean"},
        epsilon=1.0,
        attributes={"charge": {"domain": [0, 100_000]}, "tosses": {"domain": [0, 50]}},
    )
    for independent in (False, True):
        release = shoal.split(people(2_000), asked, independent=independent)
        costs = [mean.epsilon for one in release.tables.values() for mean in one.policy.private_means().values()]
        assert costs == [0.5, 0.5]
        assert math.isclose(sum(costs), 1.0)
        assert any("epsilon 1 = 0.5 for 'charge' + 0.5 for 'tosses'" in note for note in release.notes)


def test_without_a_confidential_attribute_or_one_to_group_by_nothing_is_split() -> None:
    with pytest.raises(InputError, match="none is named"):
        shoal.split(people(), shoal.Policy(quasi_identifiers=["age"]))
    with pytest.raises(InputError, match="none is left"):
        shoal.split(people(), shoal.Policy(quasi_identifiers=["charge"], confidential=["charge"]))


def test_where_one_file_cannot_get_its_name_none_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"age": [20 + i % 4 for i in range(24)], "charge": range(24), "stay": range(24)})
    policy = shoal.Policy(quasi_identifiers=["age"], confidential=["charge", "stay"], models=[shoal.KAnonymity(3)])
    replace, named = os.replace, []

    def fail_late(source: Path, target: Path) -> None:
        if len(named) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        named.append(target)
        replace(source, target)

    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "replace", fail_late)
    with pytest.raises(shoal.InputError, match="no space is left"):
        split_draft(table, policy).write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    assert len(named) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_tables_are_not_written_beside_an_older_one_of_all_attributes(tmp_path: Path, overwrite: bool) -> None:
    path = tmp_path / "r.csv"
    split_draft(people(), POLICY).write(path, merge=True)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(InputError, match=r"r\.csv' is there already"):
        split_draft(people(), POLICY).write(path, overwrite=overwrite)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_what_is_no_ledger_is_refused() -> None:
    with pytest.raises(InputError, match="takes a ledger"):
        shoal.anonymize(people(), POLICY, after="l.db")  # type: ignore[call-overload]
