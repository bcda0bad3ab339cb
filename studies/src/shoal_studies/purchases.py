"""Paper 4's experiments (Ito, Harada and Kikuchi): Tables 1 and 2, Figures 3 to 6, and what intruders achieve.

The paper's 400 customers are those of its competition, from the Online Retail data; where their file cannot be had,
generated histories stand for them. A setting of the paper is one run; here it is the mean of many, with the deviation
from seed to seed. Beside both stands Shoal's own clustering, which minimises the dummies themselves.

Defined in docs/spec.md#histories.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import require
from shoal.transactions.attack import jaccard_attack
from shoal.transactions.balanced import balanced_clusters
from shoal.transactions.balancing import balance
from shoal.transactions.characteristics import characteristics, shared_by_proposition_1
from shoal.transactions.clustering import cosine_k_means
from shoal.transactions.dummies import count_dummies
from shoal.transactions.histories import Histories, histories_of
from shoal.transactions.release import TransactionRelease, anonymize_transactions
from shoal.transactions.unicity import RULE, Unicity, unicity
from shoal.transactions.utility import transaction_utility
from shoal_studies import figures
from shoal_studies.curves import Stroke
from shoal_studies.figures import percent
from shoal_studies.purchases_dummies import FULLEST, figure_5, figure_6, figures_3_and_4, table_2
from shoal_studies.purchases_figures import Curve, Plot, curves
from shoal_studies.purchases_releases import (
    METHOD_1,
    METHOD_2,
    PAPER_B,
    PAPER_MU,
    SHOAL,
    SWEEP,
    SWEEP_SEEDS,
    Measured,
    Shop,
    decimals,
    of_each_c,
    of_each_seed,
    open_shop,
    padded,
)
from shoal_studies.result import Part, Statement, StudyResult, check_folder

TITLE = "De-identification for transaction data"
TABLE_1 = {  # the lower triangle, row by row
    "U1": (0.9798,),
    "U2": (0.9798, 1.0000),
    "U3": (0.9547, 0.9876, 0.9876),
    "jaccard": (-0.8586, -0.9327, -0.9327, -0.9494),
    "Reid": (-0.8489, -0.9247, -0.9247, -0.9432, 0.9996),
    "c": (-0.8454, -0.9220, -0.9220, -0.9406, 0.9994, 0.9999),
}
ATTACKED = (50, 8)  # c and s_min of the releases attacked
PSEUDONYMS = "pseudonyms only"
KINDS = {
    "item": Stroke(figures.BLUE, figures.BLUE, 1.8),
    "item, day": Stroke(figures.LIGHT_BLUE, figures.BLUE, 5.0),
    "item, day, price band": Stroke(figures.ORANGE, figures.ORANGE, 1.6, (5, 2)),
}
MONTH = dt.timedelta(days=29)  # before the last day: the 30 days that an intruder watched


def run(
    output: Path,
    *,
    data: Path | None = None,
    seeds: int = 20,
    seed: int = 1,
    progress: Callable[[str], None] = lambda stage: None,
) -> StudyResult:
    """Repeats the paper's experiments from so many seeds, the first of them `seed`, and writes all into `output`."""
    require("study purchases", "seeds", seeds, "a whole number of at least 2, to show a spread", holds=seeds >= 2)
    require("study purchases", "seed", seed, "a whole number of at least 0", holds=seed >= 0)
    check_folder(output)
    progress("the histories")
    shop = open_shop(data, seed)
    alone = unicity(shop.histories, seed=seed)
    drawn = range(seed, seed + seeds)
    measured = measure(shop, drawn, progress)
    about = measured.about
    progress("intruders")
    releases = attacked_releases(shop, seed)
    parts = (
        histories_studied(measured),
        table_1(measured),
        table_2(measured),
        figures_3_and_4(measured),
        figure_5(measured),
        figure_6(measured),
        _unicity(alone, releases[SHOAL], seed),
        _intruders(shop, releases, seed),
        _utility(shop, drawn[:SWEEP_SEEDS]),
    )
    customers = f"{about.customers:,} customers of {shop.source}, {seeds} seeds"
    settings = {"data": None if data is None else str(data), "seeds": seeds, "seed": seed}
    result = StudyResult(TITLE, customers, about.records, parts, output, settings)
    progress("drawing")
    result.write()
    return result


def stages(seeds: int) -> int:
    """How often `run` reports progress."""
    return 3 + seeds + len(SWEEP)


def measure(shop: Shop, seeds: Sequence[int], progress: Callable[[str], None] = lambda stage: None) -> Measured:
    """What Tables 1 and 2 and Figures 3 to 6 are made of."""
    runs = _collected(of_each_seed(shop, seeds), [f"Table 2, seed {number}" for number in seeds], progress)
    sweep = _collected(of_each_c(shop, seeds[:SWEEP_SEEDS]), [f"{c} clusters" for c in SWEEP], progress)
    return Measured(shop, characteristics(shop.histories, seed=seeds[0]), runs, sweep)


def _collected(
    lots: Iterator[list[dict[str, Any]]], names: Sequence[str], progress: Callable[[str], None]
) -> pl.DataFrame:
    rows = []
    for name in names:
        progress(name)
        rows += next(lots)
    return pl.DataFrame(rows, infer_schema_length=None)


# ---- the histories


def histories_studied(measured: Measured) -> Part:
    about = measured.about
    rows = [
        ("customers", 400, about.customers),
        ("records", 38_087, about.records),
        ("goods", 2_781, about.goods),
        ("goods a customer (b)", PAPER_B, about.goods_a_customer),
        ("mean Jaccard (μ)", PAPER_MU, about.mean_jaccard),
        ("largest Jaccard", 0.41, about.largest_jaccard),
        ("goods that two share (h), by Proposition 1", 4, about.h),
        ("goods that two share, counted", None, about.shared_goods),
    ]
    data = pl.DataFrame(rows, schema={"": pl.String, "paper": pl.Float64, "ours": pl.Float64}, orient="row")
    short = about.h / about.shared_goods - 1
    statements = (
        Statement(
            "400 customers, 38,087 records, 2,781 goods.",
            f"{about.customers:,} customers, {about.records:,} records, {about.goods:,} goods.",
            (about.customers, about.records, about.goods) == (400, 38_087, 2_781),
            measured.otherwise("It is another file than the paper's."),
        ),
        Statement(
            "A customer buys b = 65 goods; the mean Jaccard coefficient of two is μ = 0.03.",
            f"b = {about.goods_a_customer:.1f}, of which the paper gives the whole part, and μ = "
            f"{about.mean_jaccard:.4f}.",
            int(about.goods_a_customer) == PAPER_B and round(about.mean_jaccard, 2) == PAPER_MU,
            measured.otherwise("It is another file than the paper's."),
        ),
        Statement(
            "The largest Jaccard coefficient of two customers is 0.41.",
            f"{about.largest_jaccard:.4f}.",
            round(about.largest_jaccard, 2) == 0.41,
            measured.otherwise("All pairs of the file were compared, and none comes as near."),
        ),
        Statement(
            "By Proposition 1 two customers share h = 4 goods.",
            f"h = {about.h:.2f}; the paper's own b and μ give {shared_by_proposition_1(PAPER_B, PAPER_MU):.2f}.",
            round(about.h) == 4,
            measured.otherwise("It is another file than the paper's."),
        ),
        Statement(
            "h = 2bμ/(1+μ) is the mean number of goods that two customers share (Proposition 1).",
            f"Counted over all pairs they share {about.shared_goods:.2f}: the formula is {-short:.0%} short of it.",
            abs(short) <= 0.02,
            "The proof takes the mean of ratios for the ratio of means; who buys much shares more.",
        ),
    )
    return Part("Histories", "The purchase histories (section 2.1)", data, statements)


# ---- Table 1


def table_1(measured: Measured) -> Part:
    names = ["dummies", *TABLE_1]
    ours = np.corrcoef(measured.sweep.select(names).to_numpy().T)
    papers = {(names[j], name): value for name, row in TABLE_1.items() for j, value in enumerate(row)}
    found = {(one, other): float(ours[names.index(one), names.index(other)]) for one, other in papers}
    data = pl.DataFrame(
        [
            {
                "of": one,
                "and": other,
                "paper": paper,
                "ours": found[one, other],
                "difference": found[one, other] - paper,
            }
            for (one, other), paper in papers.items()
        ]
    )

    def with_dummies(*others: str) -> tuple[str, str, bool]:
        """The paper's and our correlations with the dummies, and whether they are as near as 0.05."""
        pairs = [("dummies", name) for name in others]
        near = all(abs(found[pair] - papers[pair]) <= 0.05 for pair in pairs)
        return decimals(papers[pair] for pair in pairs), decimals(found[pair] for pair in pairs), near

    error, error_here, error_near = with_dummies("U1", "U2")
    scores, scores_here, scores_near = with_dummies("U3")
    rest, rest_here, rest_near = with_dummies("jaccard", "Reid", "c")
    least = min(found[pair] for pair in combinations(("jaccard", "Reid", "c"), 2))
    later = measured.sweep.filter(pl.col("c") >= 50)
    statements = (
        Statement(
            f"The errors of cross tables, U1 and U2, follow the dummies: {error}.",
            f"{error_here}.",
            error_near,
            measured.otherwise(_UNDEFINED),
        ),
        Statement(
            f"So does the change of RFM scores, U3: {scores}.",
            f"{scores_here}.",
            scores_near,
            measured.otherwise(
                "With few clusters U3 hardly rises any more, since scores end at 5: "
                f"{_correlation(later, 'dummies', 'U3'):.4f} over c = 50 to 200. The paper defines U3 no further."
            ),
        ),
        Statement(
            f"Similarity with oneself, re-identification and c fall as dummies rise: {rest}.",
            f"{rest_here}.",
            rest_near,
            measured.otherwise("The paper does not say which numbers of clusters it took."),
        ),
        Statement(
            "U1 and U2 say the same (1.0000).",
            f"{found['U1', 'U2']:.4f}.",
            found["U1", "U2"] >= 0.9995,
            _UNDEFINED,
        ),
        Statement(
            "Similarity with oneself, re-identification and c say the same (0.9994 and more).",
            f"{least:.4f} and more.",
            least >= 0.998,
            measured.otherwise("The paper does not say which numbers of clusters it took."),
        ),
    )
    title = f"Correlations over c = {SWEEP[0]} to {SWEEP[-1]}, Method 2"
    cells = "by good" if measured.shop.people is None else "by sex and country"
    note = (
        f"Each of {measured.sweep.height} releases, with s_min = n/c rounded down, is one point. U1 is the mean error "
        f"of total spend and U2 of total quantity {cells}, U3 the mean change of recency, frequency and monetary "
        "scores."
    )
    return Part("Table 1", title, data, statements, note=note)


_UNDEFINED = "The paper does not define U1 and U2; spend and quantity are our reading."


def _correlation(rows: pl.DataFrame, one: str, other: str) -> float:
    return float(np.corrcoef(rows[one].to_numpy(), rows[other].to_numpy())[0, 1])


# ---- what intruders achieve


def attacked_releases(shop: Shop, seed: int) -> dict[str, TransactionRelease]:
    """Nothing of them is published: the key of their pseudonyms is no secret, so that a run can be repeated."""
    c, s_min = ATTACKED
    key = f"{seed:032d}".encode()
    shown = [column for role, column in shop.histories.roles.named.items() if role not in ("customer", "item")]
    release = partial(anonymize_transactions, shop.histories, clusters=c, min_size=s_min, key=key, seed=seed)
    release = partial(release, show=shown, dummies="records")  # as the paper makes them
    return {METHOD_2: release(method="method-2"), SHOAL: release(method="balanced")}


def _unicity(before: Unicity, release: TransactionRelease, seed: int) -> Part:
    c, s_min = ATTACKED
    after = unicity(_shown(release), seed=seed)
    found = {PSEUDONYMS: before, f"{SHOAL}, c = {c}, s_min = {s_min}": after}
    title = "Customers whom m random purchases single out"
    plots = [
        Plot(
            name,
            [Curve(kind, stroke, dict(enumerate(one.shares[kind], 1))) for kind, stroke in KINDS.items()],
            1.05,
        )
        for name, one in found.items()
    ]
    data = pl.DataFrame(
        [
            {"release": name, "known": kind, "m": m, "singled_out": share}
            for name, one in found.items()
            for kind, shares in one.shares.items()
            for m, share in enumerate(shares, 1)
        ]
    )
    known = before.shares["item"]
    statements = (
        Statement(
            "The sets of goods are quite distinct, and there is great diversity in customers (section 2.1).",
            f"{percent(known[2])} are singled out by three goods, {percent(known[-1])} by ten; "
            f"{percent(before.shares['item, day'][1])} by two goods and their days.",
            known[-1] >= 0.5,
            "Few goods do not single customers out here.",
        ),
        Statement(
            "Data are to be modified so that no set can be singled out (section 2.2).",
            f"By goods: {percent(max(after.shares['item']))}. But {percent(after.shares['item, day'][2])} by three "
            "goods and their days, which no method of the paper hides.",
            max(after.shares["item"]) == 0,
        ),
    )
    figure = curves(title, plots, "purchases known (m)", "singled out", lambda share: f"{share:.0%}")
    return Part("Unicity", title, data, statements, figure, f"In a release dummies are purchases as well. {RULE}")


def _shown(release: TransactionRelease) -> Histories:
    return histories_of(release.table, release.original.roles)


def _intruders(shop: Shop, releases: Mapping[str, TransactionRelease], seed: int) -> Part:
    last = shop.histories.times.dt.date().max()  # type: ignore[union-attr]
    variants: dict[str, dict[str, Any]] = {
        "all goods (Algorithm 1)": {},
        "10 goods": {"known": 10},
        "3 goods": {"known": 3},
        "1 good": {"known": 1},
        "the goods of the last 30 days": {"window": (last - MONTH, None)},  # type: ignore[operator]
        "all goods, by TF-IDF cosine": {"similarity": "tfidf"},
        "all goods and quantities": {"similarity": "weighted"},
        "all goods, each customer linked once": {"one_to_one": True},
    }
    shown: dict[str, tuple[Histories, pl.DataFrame | None]] = {PSEUDONYMS: (shop.histories, None)}
    shown |= {method: (_shown(release), release.secret_map) for method, release in releases.items()}
    rows = []
    for known, knowledge in variants.items():
        for name, (masked, truth) in shown.items():
            attack = jaccard_attack(shop.histories, masked, truth=truth, seed=seed, **knowledge)
            rate = attack.reid_fair if attack.assigned is None else attack.assigned
            rows.append({"known": known, "release": name, "found": rate, "first_of_equals": attack.reid})
    data = pl.DataFrame(rows)
    rates = {name: dict(data.filter(release=name)["known", "found"].iter_rows()) for name in shown}
    c, s_min = ATTACKED
    colours = (figures.GREY, figures.BLUE, figures.GREEN)
    series = {
        name if name == PSEUDONYMS else f"{name}, c = {c}, s_min = {s_min}": (colour, list(rates[name].values()))
        for name, colour in zip(shown, colours, strict=True)
    }
    title = "Customers found again, by what an intruder knows of all of them"
    whole, plain = "all goods (Algorithm 1)", rates[PSEUDONYMS]
    others = {known: rate for known, rate in rates[SHOAL].items() if known != whole}
    worst = max(others, key=others.__getitem__)
    chance = c / len(shop.histories.customers)
    statements = (
        Statement(
            "Attackers re-identify with a high degree of accuracy by the set of goods (abstract).",
            f"{percent(plain[whole])} by all goods, {percent(plain['10 goods'])} by ten of them.",
            plain[whole] >= 0.9,
            "Many customers have the same set of goods.",
        ),
        Statement(
            "After either method one customer of each cluster is found: c/n.",
            f"{percent(rates[METHOD_2][whole])} by Method 2 and {percent(rates[SHOAL][whole])} by Shoal's; c/n is "
            f"{percent(chance)}.",
            all(abs(rates[method][whole] - chance) <= 0.02 for method in releases),
            "In some clusters another customer's set is nearest to the union.",
        ),
        Statement(
            "The security of a release is c/n, judged by Algorithm 1 alone (section 4.3).",
            f"Of the other intruders the best finds {percent(others[worst])} in Shoal's release ({worst}).",
            others[worst] <= 1.2 * chance,
            "Dummies are copies of real records: the sets of goods are the same in a cluster, the amounts are not.",
        ),
    )
    note = "Links that are equally near count by the chance to be right. A blind guess is right once in n."
    return Part("Intruders", title, data, statements, figures.grouped_bars(title, list(variants), series), note)


# ---- what analysts keep


def _utility(shop: Shop, seeds: Sequence[int]) -> Part:
    rows = []
    for c, s_min in FULLEST.items():
        found = cosine_k_means(shop.sets, c, seed=seeds[0])
        labels = {
            METHOD_1: found,
            METHOD_2: balance(shop.sets, found, s_min),
            SHOAL: balanced_clusters(shop.sets, c, s_min, seed=seeds[0]),
        }
        for method, label in labels.items():
            masked = [padded(shop.histories, label, seed) for seed in seeds]
            kept = [transaction_utility(shop.histories, one, people=shop.people).values for one in masked]
            means = {name: fmean(values[name] for values in kept) for name in kept[0]}
            rows.append({"c": c, "method": method, "dummies": count_dummies(shop.sets, label), **means})
    data = pl.DataFrame(rows)
    losses = ("u1", "u2", "u3")
    method_2, ours = (data.filter(method=method)[losses].to_numpy() for method in (METHOD_2, SHOAL))
    shares = ours / method_2
    listed = "; ".join(
        f"{name.upper()} {', '.join(f'{share:.0%}' for share in column)}"
        for name, column in zip(losses, shares.T, strict=True)
    )
    statement = Statement(
        "The fewer dummies, the less U1, U2 and U3 lose (section 4.1).",
        f"Shoal's clusters, of Method 2's losses at c = {', '.join(map(str, FULLEST))}: {listed}.",
        bool((shares < 1).all()),
        "Its dummies are fewer, but where a loss is greater they are copies of larger orders.",
    )
    title = "What analysts lose (U1 to U3 and more: less is better, but for the frequent sets kept)"
    note = (
        f"s_min is n/c for Method 2 and Shoal; mean over {len(seeds)} draws of the dummies. The errors of revenue are "
        "shares of all revenue."
    )
    return Part("Utility", title, data, (statement,), note=note)
