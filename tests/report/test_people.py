"""Report, certificate and printed result say how many people, or households, a release shows and protects."""

from __future__ import annotations

from html.parser import HTMLParser

import polars as pl
import pytest

from shoal import Households, KAnonymity, Linked, Policy, Release, anonymize
from shoal.report.attacked import attacked
from shoal.report.findings import Findings
from shoal.report.page import render

VISITS = pl.DataFrame(
    {
        "pid": [f"p{i % 45}" for i in range(120)],
        "age": [20 + i % 40 for i in range(120)],
        "charge": [100 * (i % 7) for i in range(120)],
    }
)
HOMES = pl.DataFrame(
    {
        "hid": [i // 2 for i in range(80)] + [900] * 3,
        "size": [2] * 80 + [3] * 3,
        "sex": ["f", "m"] * 40 + ["f", "f", "m"],
        "income": range(83),
    }
)


def released(*models: object) -> Release:
    policy = Policy(quasi_identifiers=["age"], confidential=["charge"], person="pid", models=list(models))
    return anonymize(VISITS, policy, seed=1)


def of_homes() -> Release:
    policy = Policy(quasi_identifiers=["size", "sex"], confidential=["income"], models=[Households(5, column="hid")])
    return anonymize(HOMES, policy, seed=1)


def text(page: str) -> str:
    """What a reader of the page sees, its blanks made one."""
    words: list[str] = []

    class Words(HTMLParser):
        def handle_data(self, data: str) -> None:
            words.append(data)

    Words().feed(page)
    return " ".join(" ".join(words).split())


def people_of_each_class(release: Release) -> list[int]:
    """Counted the slow way, beside the original; the table is in the order of the input."""
    kept = range(VISITS.height) if release.masked.kept is None else release.masked.kept.tolist()
    classes: dict[str, set[str]] = {}
    for shown, record in zip(release.table["age"].cast(pl.String), kept, strict=True):
        classes.setdefault(shown, set()).add(VISITS["pid"][record])
    return [len(people) for people in classes.values()]


def test_a_release_counts_its_people_and_the_fewest_in_a_class() -> None:
    release = released(KAnonymity(5))
    facts = release.to_dict()
    assert (facts["people"], facts["people_withheld"]) == (45, 0)
    assert facts["fewest_people"] == min(people_of_each_class(release)) >= 5
    assert facts["highest_risk_of_people"] == 1 / facts["fewest_people"]
    assert facts["fewest_people"] <= facts["smallest_class"]
    assert not any(name.startswith("people") for name in anonymize(VISITS.drop("pid"), PLAIN, seed=1).to_dict())


PLAIN = Policy(quasi_identifiers=["age"], confidential=["charge"], models=[KAnonymity(5)])


def test_people_of_whom_no_record_is_shown_are_told_as_withheld() -> None:
    facts = of_homes().to_dict()
    assert (facts["households"], facts["households_withheld"], facts["suppressed"]) == (40, 1, 3)
    assert facts["highest_risk_of_households"] == 1 / 40  # all couples show the same
    assert "among them all of 1 household" in text(render(of_homes()))


def test_report_certificate_and_print_have_the_same_words() -> None:
    for release in (released(KAnonymity(5)), released(Linked(5)), of_homes(), anonymize(VISITS, PLAIN, seed=1)):
        page, certificate = text(render(release)), release.certificate
        assert certificate["counts"] in page
        means = [model["means"] for model in certificate["models"]]
        assert means == [promise.in_words for promise in release.promises]
        assert all(words in page for words in means)
        if release.owners:
            printed = " ".join(str(release).split())
            assert certificate["counts"] in printed
            assert all(words in printed for words in means)


def test_the_promise_about_people_is_said_in_words() -> None:
    assert "Each released record is shared by at least 5 people" in str(released(KAnonymity(5)).certificate)
    assert "judged by the custodian beside the original" in released(KAnonymity(5)).certificate["counts"]


def test_a_certificate_tells_nothing_of_people_that_the_file_does_not_show() -> None:
    certificate = released(KAnonymity(5)).certificate
    assert not {"people", "fewest_people", "person"} & {*certificate, *certificate["models"][0]}
    assert "achieved" not in certificate["models"][0]


def test_the_page_shows_risk_by_people() -> None:
    release = released(KAnonymity(5))
    findings = Findings(release)
    [each] = findings.owners
    page = text(render(release))
    assert "120 records of 45 people released" in page
    assert f"Fewest people in a group {each.before.fewest} {each.after.risk.fewest}" in page
    assert f"People without a look-alike {each.before.alone} 0" in page
    assert "Records at risk above" not in page
    assert "Records at risk above" in text(render(anonymize(VISITS, PLAIN, seed=1)))


def test_by_whole_histories_only_where_the_file_shows_which_records_belong_together() -> None:
    [apart], [linked] = (Findings(released(model)).owners for model in (KAnonymity(5), Linked(5)))
    assert (apart.after.together, linked.after.together) == (False, True)
    assert linked.after.risk.alone_by_history == 0
    assert 0 < linked.after.highest_risk <= 1 / 5
    assert "nobody can put them together" in text(render(released(KAnonymity(5))))


def test_a_large_release_is_attacked_by_what_it_shows_and_by_whole_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.report.attacked.PEOPLE", 60)
    for model, shows in ((KAnonymity(3), False), (Linked(3), True)):
        outcomes = attacked(released(model), 3).outcomes
        assert any(each.attack == "histories" for each in outcomes) == shows
        assert all(each.people <= 45 for each in outcomes if each.attack == "histories")
