"""What paper 4 says of its histories, of Table 1 and of intruders, held against the measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from shoal.transactions.characteristics import shared_by_proposition_1
from shoal.transactions.unicity import RULE
from shoal_studies.driver import Frames
from shoal_studies.purchases.dummies import figure_5, figure_6, figures_3_and_4, table_2
from shoal_studies.purchases.experiment import ATTACKED, METHOD_2, PSEUDONYMS, SHOAL, WHOLE_SET
from shoal_studies.purchases.measured import PAPER_B, PAPER_MU, Measured, decimals
from shoal_studies.result import Part, Statement, percent

TABLE_1 = {  # the lower triangle, row by row
    "U1": (0.9798,),
    "U2": (0.9798, 1.0000),
    "U3": (0.9547, 0.9876, 0.9876),
    "jaccard": (-0.8586, -0.9327, -0.9327, -0.9494),
    "Reid": (-0.8489, -0.9247, -0.9247, -0.9432, 0.9996),
    "c": (-0.8454, -0.9220, -0.9220, -0.9406, 0.9994, 0.9999),
}


def parts(frames: Frames) -> Sequence[Part]:
    """The paper's tables and figures, and what is asked besides."""
    measured = Measured.of_frames(frames)
    return (
        histories_studied(measured),
        table_1(measured),
        table_2(measured),
        figures_3_and_4(measured),
        figure_5(measured),
        figure_6(measured),
        _unicity(frames["unicity"]),
        _intruders(frames["intruders"], measured.about.customers),
        _utility(frames["utility"]),
    )


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
    correlation = {(a, b): float(ours[names.index(a), names.index(b)]) for a, b in papers}
    rows = [
        {"of": a, "and": b, "paper": paper, "ours": correlation[a, b], "difference": correlation[a, b] - paper}
        for (a, b), paper in papers.items()
    ]
    title = f"Correlations over c = {measured.swept[0]} to {measured.swept[-1]}, Method 2"
    cells = "by sex and country" if measured.people else "by good"
    note = (
        f"Each of {measured.sweep.height} releases, with s_min = n/c rounded down, is one point. U1 is the mean error "
        f"of total spend and U2 of total quantity {cells}, U3 the mean change of recency, frequency and monetary "
        "scores."
    )
    return Part("Table 1", title, pl.DataFrame(rows), _correlated(measured, papers, correlation), note=note)


def _correlated(
    measured: Measured, papers: Mapping[tuple[str, str], float], correlation: Mapping[tuple[str, str], float]
) -> tuple[Statement, ...]:
    def with_dummies(*others: str) -> tuple[str, str, bool]:
        """The paper's and our correlations with the dummies, and whether they are as near as 0.05."""
        pairs = [("dummies", name) for name in others]
        near = all(abs(correlation[pair] - papers[pair]) <= 0.05 for pair in pairs)
        return decimals(papers[pair] for pair in pairs), decimals(correlation[pair] for pair in pairs), near

    error, error_here, error_near = with_dummies("U1", "U2")
    scores, scores_here, scores_near = with_dummies("U3")
    rest, rest_here, rest_near = with_dummies("jaccard", "Reid", "c")
    least = min(correlation[pair] for pair in combinations(("jaccard", "Reid", "c"), 2))
    later = measured.sweep.filter(pl.col("c") >= 50)
    return (
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
            f"{correlation['U1', 'U2']:.4f}.",
            correlation["U1", "U2"] >= 0.9995,
            _UNDEFINED,
        ),
        Statement(
            "Similarity with oneself, re-identification and c say the same (0.9994 and more).",
            f"{least:.4f} and more.",
            least >= 0.998,
            measured.otherwise("The paper does not say which numbers of clusters it took."),
        ),
    )


_UNDEFINED = "The paper does not define U1 and U2; spend and quantity are our reading."


def _correlation(rows: pl.DataFrame, first: str, second: str) -> float:
    return float(np.corrcoef(rows[first].to_numpy(), rows[second].to_numpy())[0, 1])


# ---- what intruders achieve


def _unicity(data: pl.DataFrame) -> Part:
    before, after = (
        {kind: rows["singled_out"].to_list() for (kind,), rows in of_release.group_by("known", maintain_order=True)}
        for _, of_release in data.group_by("release", maintain_order=True)
    )
    known = before["item"]
    statements = (
        Statement(
            "The sets of goods are quite distinct, and there is great diversity in customers (section 2.1).",
            f"{percent(known[2])} are singled out by three goods, {percent(known[-1])} by ten; "
            f"{percent(before['item, day'][1])} by two goods and their days.",
            known[-1] >= 0.5,
            "Few goods do not single customers out here.",
        ),
        Statement(
            "Data are to be modified so that no set can be singled out (section 2.2).",
            f"By goods: {percent(max(after['item']))}. But {percent(after['item, day'][2])} by three "
            "goods and their days, which no method of the paper hides.",
            max(after["item"]) == 0,
        ),
    )
    title = "Customers whom m random purchases single out"
    return Part("Unicity", title, data, statements, note=f"In a release dummies are purchases as well. {RULE}")


def _intruders(data: pl.DataFrame, customers: int) -> Part:
    releases = (PSEUDONYMS, METHOD_2, SHOAL)
    rates = {name: dict(data.filter(release=name)["known", "found"].iter_rows()) for name in releases}
    title = "Customers found again, by what an intruder knows of all of them"
    whole, plain = WHOLE_SET, rates[PSEUDONYMS]
    others = {known: rate for known, rate in rates[SHOAL].items() if known != whole}
    worst = max(others, key=others.__getitem__)
    chance = ATTACKED[0] / customers
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
            all(abs(rates[method][whole] - chance) <= 0.02 for method in releases[1:]),
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
    return Part("Intruders", title, data, statements, note=note)


# ---- what analysts keep


def _utility(data: pl.DataFrame) -> Part:
    draws, clusters = data["draws"][0], data["c"].unique(maintain_order=True)
    losses = ("u1", "u2", "u3")
    method_2, ours = (data.filter(method=method)[losses].to_numpy() for method in (METHOD_2, SHOAL))
    shares = ours / method_2
    listed = "; ".join(
        f"{name.upper()} {', '.join(f'{share:.0%}' for share in column)}"
        for name, column in zip(losses, shares.T, strict=True)
    )
    statement = Statement(
        "The fewer dummies, the less U1, U2 and U3 lose (section 4.1).",
        f"Shoal's clusters, of Method 2's losses at c = {', '.join(map(str, clusters))}: {listed}.",
        bool((shares < 1).all()),
        "Its dummies are fewer, but where a loss is greater they are copies of larger orders.",
    )
    title = "What analysts lose (U1 to U3 and more: less is better, but for the frequent sets kept)"
    note = (
        f"s_min is n/c for Method 2 and Shoal; mean over {draws} draws of the dummies. The errors of revenue are "
        "shares of all revenue."
    )
    return Part("Utility", title, data.drop("draws"), (statement,), note=note)
