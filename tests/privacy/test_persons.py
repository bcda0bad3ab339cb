"""persons: at least k people in every class, and the column that says who they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data.microdata import Microdata
from shoal.data.person import numbered
from shoal.errors import InputError, PromiseError
from shoal.masking.partition import Partition
from shoal.masking.recoding.held import Held
from shoal.privacy import LDiversity, Persons, TCloseness
from shoal.privacy.check import released_classes
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Source, Verdict
from tests.oracles import privacy as oracle

VISITS = pl.DataFrame(
    {
        "pid": [f"p{i // 3}" for i in range(60)],
        "age": [20 + i // 4 for i in range(60)],
        "charge": [100 * (i % 7) for i in range(60)],
    }
)


def policy(**choices: Any) -> shoal.Policy:
    chosen = {"quasi_identifiers": ["age"], "confidential": ["charge"], "person": "pid", **choices}
    return shoal.Policy(**{"models": [shoal.KAnonymity(4)], **chosen})


def people_of(release: shoal.Release[Any], who: str = "pid") -> list[int]:
    """The people of each class, counted by hand."""
    classes: dict[object, set[object]] = {}
    kept = range(release.read) if release.masked.kept is None else release.masked.kept.tolist()
    own = release.original.frame[who].to_list()
    for row, record in zip(release.table.select(release.schema.quasi_identifiers).rows(), kept, strict=True):
        classes.setdefault(row, set()).add(own[record])
    return [len(people) for people in classes.values()]


def test_k_means_people_where_a_column_says_whom_a_record_is_about() -> None:
    release = shoal.anonymize(VISITS, policy(), seed=1)
    assert [verdict.model for verdict in release.verdicts] == ["persons"]
    assert min(people_of(release)) >= 4
    assert release.verdicts[0].achieved == min(people_of(release))
    assert "pid" not in release.table.columns
    assert not any("repeats" in note for note in release.notes)
    rows = shoal.anonymize(VISITS, policy(person=None, identifiers=["pid"]), seed=1)
    assert min(people_of(rows)) < 4


def test_the_rest_may_be_released_and_the_person_is_not() -> None:
    assert shoal.anonymize(VISITS, policy(rest="insensitive"), seed=1).table.columns == ["age", "charge"]


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"person": "pidd"}, "The table has no column 'pidd', named as person. Did you mean 'pid'?"),
        (
            {"person": "age"},
            "Column 'age' says whom a record is about (person) and is named as quasi-identifier: it is never released "
            "as it is, give it no other role.",
        ),
        ({"insensitive": ["pid"]}, "Column 'pid' says whom a record is about (person) and is named as insensitive"),
        (
            {"person": None, "models": [Persons(3)]},
            "persons counts people: name the column that tells them apart (--person COLUMN).",
        ),
        ({"models": [shoal.MeasuredRisk(0.2)]}, "measured-risk is a share of records, not of people"),
        ({"models": [Persons(21)]}, "persons at 21 cannot be reached: the whole table in one class reaches only 20"),
        ({"missing_person": "nobody"}, "The policy's 'missing_person' should be 'refuse' or 'one-each'."),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        shoal.anonymize(VISITS, policy(**choices))
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("gap", [None, "", "  "])
def test_a_record_about_nobody_is_refused_with_its_line_unless_each_is_a_person_of_her_own(gap: str | None) -> None:
    gaps = VISITS.with_columns(pid=pl.when(pl.int_range(60).is_in([7, 9])).then(pl.lit(gap)).otherwise("pid"))
    with pytest.raises(InputError, match=r"'pid' .* is empty in record 8 \(line 9 of a text file\), and in 1 more"):
        shoal.anonymize(gaps, policy())
    release = shoal.anonymize(gaps, policy(missing_person="one-each"), seed=1)
    assert release.verdicts[0].holds
    alone = gaps.with_columns(pid=pl.when(pl.col("pid").str.strip_chars() == "").then(None).otherwise("pid"))
    assert len(set(numbered(alone["pid"], one_each=True).tolist())) == alone["pid"].drop_nulls().n_unique() + 2


def test_spellings_tell_nobody_apart() -> None:
    assert numbered(pl.Series(["a", " a", "b", "a "])).tolist() == [0, 0, 1, 0]
    assert numbered(pl.Series(["Zo\u00eb", "Zoe\u0308", "\ufeffZo\u00eb\u00a0", "Zo"])).tolist() == [1, 1, 1, 0]
    assert numbered(pl.Series(["3", "3.0", "03", "x3"])).tolist() == [1, 1, 0, 2]
    assert numbered(pl.Series([3, 1, 3])).tolist() == [1, 0, 1]


def test_people_are_counted_in_the_file_where_it_shows_a_pseudonym_and_beside_the_original_otherwise() -> None:
    release = shoal.anonymize(VISITS, policy(), seed=1)
    told = release.table.with_columns(pid=VISITS["pid"])
    assert [verdict.achieved for verdict in shoal.check(told, policy())] == [min(people_of(release))]
    beside = shoal.check(release.table, policy(), original=VISITS, paired=True)
    assert [verdict.achieved for verdict in beside] == [min(people_of(release))]
    with pytest.raises(InputError, match="can only be judged beside the original"):
        shoal.check(release.table, policy())
    with pytest.raises(InputError, match="--paired"):
        shoal.check(release.table, policy(), original=VISITS)
    with pytest.raises(PromiseError, match="names as an identifier"):
        shoal.check(told, policy(identifiers=["pid"]))


class Thirds(PrivacyModel):
    """Every class holds a number of records that is a multiple of three: a promise about classes alone."""

    @property
    def asked(self) -> float:
        """Nothing is left over."""
        return 3

    def levels(self, about: Any, order: npt.NDArray[Any], starts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Three where nothing is left over."""
        return np.where(np.diff(starts) % 3 == 0, 3.0, 0.0)

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Nothing is left over."""
        return levels == 3

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Of all classes."""
        good = bool((classes.sizes % 3 == 0).all())
        return Verdict(self.name, 3, 3 if good else 0, good)


def test_a_model_about_classes_can_be_written_by_a_user_with_and_without_confidential_columns() -> None:
    for confidential in (["charge"], []):
        release = shoal.anonymize(VISITS, policy(models=[Thirds()], confidential=confidential), seed=1)
        assert [verdict.holds for verdict in release.verdicts] == [True]


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="needs the vectors beside the data sets (SHOAL_DATA)")
def test_the_vectors() -> None:
    path = Path(os.environ["SHOAL_DATA"]).parent / "vectors" / "spec3" / "vectors_D.json"
    vector = json.loads(path.read_text())["persons_per_class"]
    table = pl.DataFrame(vector["rows"], schema=vector["columns"], orient="row")
    for k in (2, 3):
        chosen = shoal.Policy(quasi_identifiers=["qi"], person="person", models=[Persons(k)])
        [verdict] = shoal.check(table, chosen)
        assert verdict.achieved == vector["persons_k"]
        assert verdict.holds == vector[f"holds_for_k{k}"]
    [rows] = shoal.check(table.drop("person"), shoal.Policy(quasi_identifiers=["qi"], models=[shoal.KAnonymity(3)]))
    assert rows.achieved == vector["rows_k"]


# ---- what classes hold, by people

_tables = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from("xyz"), min_size=n, max_size=n),
        st.lists(st.integers(0, 6), min_size=n, max_size=n),
        st.lists(st.sampled_from([3, 1, 4, 15, None]), min_size=n, max_size=n),
    )
)


@given(_tables)
def test_people_are_counted_once_for_each_value_by_levels_verdicts_and_histograms(
    table: tuple[list[str], list[int], list[int | None]],
) -> None:
    shown, people, values = table
    frame = pl.DataFrame({"q": shown, "c": pl.Series(values, dtype=pl.Int64), "who": people})
    chosen = shoal.Policy(quasi_identifiers=["q"], confidential=["c"], person="who")
    microdata = Microdata(frame, chosen.schema(frame))
    parts = oracle.classes([(value,) for value in shown])
    held = [oracle.told_once(people, values, members) for members in parts]
    everyone = oracle.told_once(people, values, range(len(values)))
    line = oracle.line_of(everyone)
    partition = Partition(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))
    released = released_classes(frame.drop("who"), microdata.schema, Source(microdata, None))
    expected: list[tuple[PrivacyModel, list[float]]] = [
        (Persons(2), [float(len({people[i] for i in members})) for members in parts]),
        (TCloseness(0.1, "c"), [oracle.ordered_distance(own, everyone, line) for own in held]),
        (TCloseness(0.1, "c", distance="equal"), [oracle.equal_distance(own, everyone) for own in held]),
    ]
    for variant in ("distinct", "entropy", "recursive"):
        model = LDiversity(2, "c", variant=variant)  # type: ignore[arg-type]
        expected.append((model, [oracle.diversity(own, variant) for own in held]))
    row = partition.class_of(len(values)).astype(np.int64)
    for model, levels in expected:
        about = microdata if model.attribute is None else microdata["c"]
        assert model.levels(about, partition.order, partition.starts) == pytest.approx(levels)
        worst = max(levels) if model.less_is_safer else min(levels)
        assert model.verdict(released).achieved == pytest.approx(worst)
        if model.attribute is not None:
            met = bool(model.meets(np.array(levels)).all())
            histogram = Held.of(microdata["c"], row)
            assert histogram.misses(model, np.arange(len(parts)), np.zeros(len(parts), np.bool_)) != met


def test_a_private_mean_of_people_with_several_records_is_refused() -> None:
    """Its noise would hide one record, not one person."""
    frame = pl.DataFrame({"who": [1, 1, 2, 3, 4, 5], "age": [1, 1, 2, 2, 1, 2], "charge": [9.0, 9, 1, 2, 3, 4]})
    chosen = shoal.Policy(
        quasi_identifiers=["age"], confidential=["charge"], person="who", models=[Persons(2)], epsilon=1.0,
        show={"charge": "private-mean"}, attributes={"charge": {"domain": (0.0, 10.0)}},
    )  # fmt: skip
    with pytest.raises(InputError, match="hides one record of each class"):
        shoal.anonymize(frame, chosen)


def test_k_map_counts_people_of_the_population_and_infers_none_from_records(tmp_path: Path) -> None:
    table = pl.DataFrame({"pid": [f"p{i // 2}" for i in range(40)], "age": [20 + i // 10 for i in range(40)]})
    everybody = pl.DataFrame({"pid": [f"q{i}" for i in range(60)], "age": [20 + i % 4 for i in range(60)]})

    def released(**known: object) -> shoal.Release:
        asked = shoal.Policy(quasi_identifiers=["age"], person="pid", models=[shoal.KMap(5, **known)])  # type: ignore[arg-type]
        return shoal.anonymize(table, asked, seed=1)

    assert released(population=everybody).verdicts[0].holds
    assert released(population=everybody.drop("pid")).verdicts[0].holds
    with pytest.raises(InputError, match="has several records of somebody in 'pid'"):
        released(population=pl.concat([everybody, everybody]))
    with pytest.raises(InputError, match="is a folder, in which nobody looks for people with several records"):
        released(population=str(tmp_path))
    with pytest.raises(InputError, match="inferred here by how many records a class has"):
        released(fraction=0.1)
