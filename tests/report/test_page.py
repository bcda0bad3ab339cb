from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from markupsafe import escape

from shoal import (
    Coarsen,
    IndividualRanking,
    KAnonymity,
    KMap,
    LDiversity,
    Mdav,
    MdavPlus,
    MeasuredRisk,
    Noise,
    Policy,
    Recode,
    Release,
    Swap,
    TCloseness,
    anonymize,
    risk,
)
from shoal.data.discharges import discharges
from shoal.masking.grouped import Grouping
from shoal.measure import measures
from shoal.report.examples import Examples
from shoal.report.findings import ATTRIBUTES, Findings
from shoal.report.page import render, write_report
from shoal.report.useful import Useful
from shoal.risk.scenarios import scenarios
from shoal.show.numbers import number, percent

QUASI = ["age_yrs", "sex", "race", "patzip", "los"]
GROUPS = {"census": ("age_yrs", "sex", "race", "patzip"), "temporal": ("los",)}


@pytest.fixture(scope="module")
def release() -> Release:
    table = discharges(2_000, seed=1).with_columns(admitted=pl.date(2009, 1, 1) + pl.duration(days=pl.col("los")))
    policy = Policy(
        identifiers=["oshpd_id"],
        quasi_identifiers=[*QUASI, "admitted"],
        confidential=["charge", "diag_p"],
        insensitive=["adm_qtr"],
        models=[KAnonymity(6), LDiversity(3, "diag_p"), TCloseness(0.45, "charge")],
        groups=GROUPS,
        attributes={"race": {"kind": "nominal"}},
    )
    return anonymize(table, policy, seed=1)


@pytest.fixture(scope="module")
def page(release: Release) -> str:
    return render(release)


class Outline(HTMLParser):
    """Which elements a page has, what text it shows, and whether every element is closed where it should be."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.shown.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.shown).split())


def row(page: str, name: str) -> list[str]:
    """The cells of the table row that begins with this name."""
    found = re.search(rf"<tr><td>{re.escape(name)}</td>(.*?)</tr>", page)
    assert found, name
    return re.findall(r"<td[^>]*>(.*?)</td>", found[1])


# ---- what it says


def test_the_page_first_says_whom_it_is_for(page: str) -> None:
    body = page[page.index("<body>") :]
    first = Outline(body[: body.index("<header>")] + "</body>").words.removeprefix("Skip to what decides ")
    assert first == (
        "For the custodian, not for publication: this page shows records and statistics of the original data."
    )


def test_every_promise_is_shown_with_what_was_asked_and_reached(release: Release, page: str) -> None:
    shown = Outline(page).words
    for verdict, asked in zip(release.verdicts, ("k ≥ 6", "l ≥ 3", "t ≤ 0.45"), strict=True):
        of = f" of {verdict.attribute}" if verdict.attribute else ""
        expected = f"{verdict.model}{of} asked {asked} , reached {number(verdict.achieved)} ✓ holds"
        assert expected.replace(" ,", ",") in shown.replace(" ,", ",")
    assert "✓ Every promise holds" in shown


def test_risk_before_and_after_are_those_of_both_tables(release: Release, page: str) -> None:
    before = risk(release.original.frame, release.policy)
    after = release.risk()
    for name, measure in {
        "Records": lambda r: f"{r.records:,}",
        "Records without a look-alike": lambda r: f"{r.uniques:,}",
        "… among all records": lambda r: percent(r.reidentification_risk),
        "Knows who is in the file, at worst": lambda r: percent(r.classes.highest_risk),
        "… on average": lambda r: percent(r.classes.average_risk),
        "Smallest group of look-alikes": lambda r: f"{r.classes.smallest_class:,}",
        "Groups of look-alikes": lambda r: f"{r.classes.classes:,}",
        "Records at risk above 20%": lambda r: f"{r.records_at_risk[0.2]:,}",
    }.items():
        assert row(page, name)[:2] == [measure(before), measure(after)], name
    for known in before.attributes_known:
        assert f"{' + '.join(known.groups)}: original {percent(known.reidentification_risk)}" in page
    assert len(before.attributes_known) == 3


def test_unique_records_are_counted_for_an_intruder_who_knows_ever_more(release: Release, page: str) -> None:
    frame = release.original.frame
    order = sorted(release.schema.quasi_identifiers, key=lambda name: -frame[name].n_unique())
    figure = page.partition("<figcaption>Records alone, if the intruder knows ever more")[2].partition("</figure>")[0]
    steps = re.findall(r"<title>(?:\+ )?(\w+): original ([\d.]+%), released 0%</title>", figure)
    assert len(steps) >= 3
    for count, (name, share) in enumerate(steps, 1):
        alone = frame.group_by(order[:count]).len().filter(pl.col("len") == 1).height
        assert (name, share) == (order[count - 1], percent(alone / frame.height))
    assert alone == risk(frame, release.policy).uniques  # the rest adds nothing


def test_without_a_population_the_journalist_is_bounded_by_the_prosecutor(release: Release, page: str) -> None:
    after = percent(release.risk().classes.highest_risk)
    assert row(page, "Does not know who is")[1] == f"≤ {after}"
    assert row(page, "Matches everybody")[1] == percent(release.risk().classes.average_risk)


def test_with_a_population_the_journalist_counts_people() -> None:
    table = discharges(600, seed=2)
    trees = {"age_yrs": {"hierarchy": {"type": "steps", "steps": [5, 10, 20]}}, "sex": {"hierarchy": {"type": "mask"}}}
    policy = Policy(
        quasi_identifiers=["age_yrs", "sex"],
        models=[KMap(10, 0.1)],
        suppression=0.2,
        method=Recode(),
        attributes=trees,
    )
    release = anonymize(table, policy, seed=1)
    page = render(release)
    for side, frame in enumerate((table, release.table)):
        found = scenarios(frame, release.schema, fraction=0.1)
        assert found.journalist is not None
        assert row(page, "Does not know who is, at worst")[side] == percent(found.journalist.highest)
        assert row(page, "… on average, not knowing who is")[side] == percent(found.journalist.average)
        assert row(page, "Matches everybody")[side] == percent(found.marketer)
    assert "Who knows that somebody is in the file" in page
    assert "k-map is inferred, not counted" in page


def test_two_way_tables_are_drawn_before_and_after(release: Release, page: str) -> None:
    drawn = re.findall(r"<figcaption>([^<]*) by ([^<]*): (original|released)</figcaption>", page)
    assert [side for *_, side in drawn] == ["original", "released"] * 3
    assert {name for one, other, _ in drawn for name in (one, other)} <= set(release.schema.quasi_identifiers)
    assert len(re.findall(r"[\d.]+% of the records are counted elsewhere than in the original", page)) == 3


def test_attribute_disclosure_is_shown_for_the_same_values_before_and_after(release: Release, page: str) -> None:
    before = risk(release.original.frame, release.policy).disclosure_by_value
    after = release.risk().disclosure_by_value
    for one, other in zip(before, after, strict=True):
        said = f"{percent(one.maximum)} original, {percent(other.maximum)} released"
        assert f"The most that is learnt of any value: {said}." in page


def test_what_was_lost_is_shown_in_total_and_by_attribute(release: Release, page: str) -> None:
    assert row(page, "Information loss")[0] == number(release.information_loss)
    assert float(row(page, "Correlation agreement")[0]) > 0.5
    for name in release.schema.quasi_identifiers:
        assert re.search(rf"<title>{name}: loss [\d.]+</title>", page)
        assert f"<figcaption>{name}</figcaption>" in page


def test_what_was_done_names_method_roles_and_columns_left_out(release: Release, page: str) -> None:
    shown = Outline(page).words
    assert "hilbert" in shown
    assert "oshpd_id (identifiers: left out)" in shown
    assert "No role names 'ethncty', 'patcnty': left out of the release" in shown
    assert release.policy.to_toml().splitlines()[0] in shown


def test_how_each_attribute_is_shown_is_said_with_its_most_frequent_cell(release: Release, page: str) -> None:
    for name in release.schema.quasi_identifiers:
        shown = release.table[name].drop_nulls().filter(release.table[name] != "*")
        counts = shown.value_counts(sort=True)
        (said,) = row(page, name)
        assert f"{counts.height:,} different" in said
        often = said.partition("most often ")[2].partition(";")[0]
        most = counts.filter(pl.col("count") == counts["count"].max())[name].to_list()
        assert any(escape(value).startswith(often.removesuffix(".")) for value in most)


def test_a_recoding_names_its_levels_in_words() -> None:
    decades = tuple((str(age), f"[{age // 10 * 10};{age // 10 * 10 + 9}]", "*") for age in range(130))
    policy = Policy(
        quasi_identifiers=["age_yrs"],
        models=[KAnonymity(5)],
        method=Recode(levels={"age_yrs": 1}),
        attributes={"age_yrs": {"hierarchy": decades}},
        suppression=0.1,
    )
    (said,) = row(render(anonymize(discharges(400, seed=2), policy)), "age_yrs")
    assert said.startswith("Recoded: bands of 10, 13 values; ")


def test_limits_are_those_of_the_models_used(release: Release, page: str) -> None:
    assert "Close is not equal" in page
    assert "Different values may mean the same" in page
    assert "Everybody in a group may share a secret" not in page  # both confidential attributes are guarded
    bare = release.policy.model_copy(update={"models": (KAnonymity(6),)})
    other = render(anonymize(release.original.frame.with_columns(ethncty=1, patcnty=1), bare))
    assert "Everybody in a group may share a secret" in other
    assert "Close is not equal" not in other
    assert "Several releases together" in other


# ---- what decides, on top


def test_the_top_says_of_which_table_for_whom_and_by_whom() -> None:
    table = discharges(200, seed=1)
    policy = Policy(quasi_identifiers=["age_yrs"], attributes={"age_yrs": {"label": "Age in years"}})
    plain = Outline(render(anonymize(table, policy.of_table("in/visits.csv"), seed=1))).words
    assert "visits.csv ✓ Every promise holds 200 records released" in plain
    assert "Not stated: period, recipient, purpose, who may know what, other releases, who decides." in plain
    project = {"title": "Visits of 2025", "recipient": "<b>Readers</b>", "decided_by": "M. Castro"}
    stated = Outline(render(anonymize(table, policy.of_table("visits.csv").changed(project=project), seed=1))).words
    assert "Visits of 2025 ✓ Every promise holds" in stated
    assert "Table visits.csv Recipient <b>Readers</b> Who decides M. Castro Made on" in stated
    assert "Not stated: period, purpose, who may know what, other releases." in stated
    assert "Age in years" in stated


def test_five_records_are_shown_as_they_were_and_as_they_are_released(release: Release) -> None:
    examples = Examples.of(release, Findings(release))
    assert [record.chosen.split(":")[0] for record in examples.records] == [
        "Typical", "Lost most", "In the smallest group of look-alikes", "Lost least", "Drawn by lot",
    ]  # fmt: skip
    quasi = release.schema.quasi_identifiers
    shown = release.table.select(pl.col(quasi).cast(pl.String))
    for record in examples.records:
        assert [cell.column for cell in record.masked] == quasi
        alike = shown.filter(pl.all_horizontal(pl.col(cell.column).eq_missing(cell.after) for cell in record.masked))
        assert record.alike.startswith(f"{alike.height - 1} other")
        before = {cell.column: cell.before for cell in (*record.masked, *record.others)}
        original = release.original.frame.select(pl.col(list(before)).cast(pl.String))
        assert original.filter(pl.all_horizontal(pl.col(name) == value for name, value in before.items())).height
    assert min(release.sizes) == int(examples.records[2].alike.split()[0]) + 1


def test_no_record_of_the_original_stands_in_the_certificate() -> None:
    rng = np.random.default_rng(0)
    town = [f"Town-{i:03}-original" for i in rng.permutation(300)]
    table = pl.DataFrame({"town": town, "age": rng.integers(1000, 9000, 300), "dx": rng.integers(0, 4, 300)})
    release = anonymize(table, Policy(quasi_identifiers=["town", "age"], confidential=["dx"], method=Mdav()), seed=1)
    examples = Examples.of(release, Findings(release)).records
    page, certificate = render(release), str(release.certificate)
    for record in examples:
        for cell in record.masked:
            assert cell.before in page
            assert cell.before not in certificate


def test_one_verdict_says_what_the_release_is_good_for() -> None:
    table = discharges(600, seed=3)
    policy = Policy(quasi_identifiers=["age_yrs", "los"])
    fine = Useful.of(Findings(anonymize(table, policy.changed(models=[KAnonymity(2)]), seed=1)))
    coarse = Useful.of(Findings(anonymize(table, policy.changed(models=[KAnonymity(300)]), seed=1)))
    assert [use.name for use in fine.uses] == ["counts", "tables of two columns", "averages", "relations"]
    assert fine.verdict.startswith("Good for ")
    assert (coarse.verdict, coarse.good) == ("For an overview only", False)
    assert sum(use.level for use in fine.uses) < sum(use.level for use in coarse.uses)


def test_measures_for_experts_are_folded_and_what_decides_is_not(page: str) -> None:
    folded = "".join(re.findall(r"<details.*</details>", page, re.DOTALL))
    top = page[: page.index("<details")]
    for measure in measures().values():
        assert escape(measure.meaning) not in top
    assert "Records at risk above" not in top
    for said in ("before and after", "What was promised", "What the release is good for", "What stays open"):
        assert said in top
        assert f"<h2>{said}" not in folded


def test_parts_are_measured_when_they_are_asked_for_and_are_ready_for_json(release: Release) -> None:
    found = Findings(release)
    [(name, risk_part)] = found.to_dict("risk").items()
    assert name == "risk"
    assert risk_part["after"]["uniques"] == 0
    assert not {"measured", "pair", "attacked", "distributions"} & set(vars(found))
    every = json.loads(json.dumps(found.to_dict()))
    assert list(every) == ["risk", "loss", "links", "attacks"]
    assert set(every["loss"]["attributes"]) == set(release.schema.quasi_identifiers)
    assert set(every["links"]) == {"risk", "utility"}


# ---- how it says it


def test_the_page_asks_no_other_machine_for_anything(page: str) -> None:
    assert "http" not in page
    assert not re.search(r"url\(|@import|src=|<script|<link|<iframe", page)
    links = [attributes["href"] for tag, attributes in Outline(page).tags if tag == "a"]
    assert links
    assert all(link and link[0] == "#" and f'id="{link[1:]}"' in page for link in links)


def test_every_figure_is_drawn_and_told(page: str) -> None:
    drawn = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert len(drawn) == page.count("<figure>") >= 12
    for figure in drawn:
        parts = ET.fromstring(figure)
        title, svg = parts[0], parts[1]
        assert title.tag == "figcaption"
        assert title.text
        assert svg.get("role") == "img"
        assert len(svg.get("aria-label", "")) > len(title.text) + 20
        width, height = map(float, svg.get("viewBox", "").split()[2:])
        assert not re.search(r'"[^"]*\b(?:nan|inf)\b[^"]*"', figure)
        table = parts.find(".//table")
        assert table is not None
        assert len(table.findall("tbody/tr")) > 0
        for rect in svg.iter("rect"):
            assert 0 <= float(rect.get("x", "-1")) + float(rect.get("width", "-1")) <= width
            assert 0 <= float(rect.get("y", "-1")) + float(rect.get("height", "-1")) <= height


NASTY = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "a</title><b onclick=x>",
    "end;{of}[all]*\\",
    "\x07tab\t",
]


def test_names_and_values_are_shown_not_interpreted() -> None:
    rng = np.random.default_rng(0)
    names = ["<i>name</i>", "q\"uote' & co", "secret</pre><h1>"]
    table = pl.DataFrame({name: [NASTY[i] for i in rng.integers(0, len(NASTY), 300)] for name in names})
    table = table.with_columns(other=rng.integers(0, 9, 300))
    policy = Policy(
        quasi_identifiers=[*names[:2], "other"],
        confidential=[names[2]],
        groups={"<b>group</b>": ("other",)},
        models=[KAnonymity(3), LDiversity(2)],
    )
    page = render(anonymize(table, policy))
    outline = Outline(page)
    assert {tag for tag, _ in outline.tags}.isdisjoint({"script", "i", "h4"})
    assert sum(tag == "h1" for tag, _ in outline.tags) == 1
    assert not any("onclick" in attributes for _, attributes in outline.tags)
    for name in names:
        assert name in outline.words
    assert "<b>group</b>" in outline.words
    assert "<script>alert(1)</script>" in outline.words
    assert "\x07" not in page


@pytest.mark.slow
def test_a_wide_table_of_many_categories_makes_a_small_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.array([f"a rather long category, number {i:05}" for i in range(1_500)])
    wide = {f"a column with a long name {j:03}": rng.integers(0, 1_000, 1_800) for j in range(96)}
    many = {f"categories {j}": labels[rng.integers(0, 1_500, 1_800)] for j in range(4)}
    secret = {f"secret {j}": labels[rng.integers(0, 1_500, 1_800)] for j in range(15)}
    table = pl.DataFrame(many | wide | secret)
    nominal = {name: {"kind": "nominal"} for name in (*many, *secret)}  # long labels are taken for free text
    policy = Policy(
        quasi_identifiers=[*many, *wide], confidential=[*secret], models=[KAnonymity(5)], attributes=nominal
    )
    release = anonymize(table, policy)
    write_report(release, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 1_500_000
    assert f"The first {ATTRIBUTES} attributes are drawn, 70 more are not." in page
    assert "5 more attributes not shown." in page
    Outline(page)


@pytest.mark.parametrize(
    "policy",
    [
        {"quasi_identifiers": ["constant"]},
        {"quasi_identifiers": ["gaps", "empty"], "confidential": ["gaps"]},
        {"quasi_identifiers": ["number", "gaps", "tree", "moment"], "confidential": ["constant", "flag"]},
        {"quasi_identifiers": ["number"], "models": (), "method": Coarsen(4)},
        {"quasi_identifiers": ["number", "moment"], "models": (), "method": Coarsen(50)},
        {"quasi_identifiers": ["flag", "gaps"], "confidential": ["number"], "suppression": 0.9,
         "models": [LDiversity(4)]},
    ],
)  # fmt: skip
def test_every_kind_of_column_can_be_reported(policy: dict[str, object]) -> None:
    rng = np.random.default_rng(0)
    n = 240
    table = pl.DataFrame(
        {
            "constant": [1] * n,
            "gaps": [None if i % 7 == 0 else x for i, x in enumerate(rng.normal(0, 1e9, n).tolist())],
            "empty": pl.Series([None] * n, dtype=pl.Int64),
            "number": rng.integers(-50, 50, n),
            "tree": rng.choice(["oak", "elm", "fir"], n),
            "moment": pl.Series(rng.integers(0, 10**15, n)).cast(pl.Datetime("us")),
            "flag": rng.integers(0, 2, n) > 0,
        }
    )
    tree = {"hierarchy": (("oak", "broad", "*"), ("elm", "broad", "*"), ("fir", "needle", "*"))}
    described = {"tree": tree} if "tree" in policy["quasi_identifiers"] else {}  # type: ignore[operator]
    release = anonymize(table, Policy(attributes=described, **policy))
    page = render(release)
    Outline(page)
    for figure in re.findall(r"<figure>.*?</figure>", page, re.DOTALL):
        ET.fromstring(figure)
    assert row(page, "Records left out")[0] == f"{release.suppressed:,}"
    assert row(page, "Records without a look-alike")[1] == f"{release.risk().uniques:,}"
    assert "nan" not in Outline(page).words.lower().split()


# ---- colours


def palettes() -> dict[str, dict[str, str]]:
    """Every `:root` of the page's style, and what the report's changes of it: light, dark and print."""
    every = []
    for package, name in (("shoal.show", "page.css"), ("shoal.report", "report.css")):
        style = (files(package) / "templates" / name).read_text(encoding="utf-8")
        blocks = re.findall(r":root \{(.*?)\}", style, re.S)
        every.append([dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in blocks])
    assert [len(each) for each in every] == [3, 3]
    return {name: page | own for name, page, own in zip(("light", "dark", "print"), *every, strict=True)}


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def rgb(colour: str) -> tuple[float, ...]:
    short = len(colour) == 4
    return tuple(
        int(colour[i] * 2 if short else colour[i : i + 2], 16) / 255 for i in ((1, 2, 3) if short else (1, 3, 5))
    )


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_can_be_read_on_its_ground(theme: str) -> None:
    colours = {name: rgb(colour) for name, colour in palettes()[theme].items()}
    for ground in ("paper", "card"):
        for ink in ("ink", "soft", "before-ink", "after-ink", "over"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for name in ("good", "bad", "warn"):
        assert contrast(colours[name], colours[f"{name}-paper"]) >= 4.5, name
    for name in ("positive", "negative"):  # numbers stand on cells of a heat map
        deepest = tuple(0.7 * c + 0.3 * g for c, g in zip(colours[name], colours["card"], strict=True))
        assert contrast(colours["ink"], deepest) >= 4.5, name
    for name in ("before", "after"):
        assert contrast(colours[name], colours["card"]) >= 3, name


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Swap(p=0.3), "exchanged with one of near rank"),
        (Noise(gamma=0.5), "noise was added"),
        (IndividualRanking(k=4), "the centre of their group"),
        (Mdav(), "Each class shows the mean"),
        (MdavPlus(publish="median"), "Each class shows the median"),
    ],
)
def test_a_table_that_shows_plain_values_is_reported_with_every_measure(method: object, said: str) -> None:
    table = discharges(400, seed=2)
    grouped = [KAnonymity(4)] if isinstance(method, Grouping) else []
    models = [*grouped, MeasuredRisk(1.0)]
    policy = Policy(quasi_identifiers=["age_yrs", "los", "charge"], models=models, method=method)
    made = anonymize(table, policy, seed=1)
    page = render(made)
    shown = " ".join(Outline(page).shown)
    assert said in shown
    assert "found_again ≤ 1" in shown
    assert "A measure is not a crowd" in shown
    assert ("People found again" in shown) == (not grouped)  # records that stand apart have no look-alikes to count
    for name, measure in measures().items():
        assert name in shown
        assert escape(measure.meaning) in page


def test_people_are_looked_for_among_all_that_is_released() -> None:
    numbers = {"patzip": {"kind": "numeric"}}
    policy = Policy(quasi_identifiers=["age_yrs", "patzip", "los"], confidential=["charge"], attributes=numbers)
    risks = Findings(anonymize(discharges(20_000, seed=7), policy)).measured["risk"].values
    assert max(risks["correct_links"], risks["found_again"]) < 0.22  # one in five at most, whatever the sample
