"""What paper 4 says of dummies, held against the measurements: Table 2, Figures 3 to 6 (sections 3.3 to 4.4).

Agreement as in docs/spec.md#balancing: dummies of Method 1, and of small s_min, within 3 deviations of the seeds; those
of the largest s_min, n/c, within 5 %.

Defined in docs/spec.md#balancing, #expected-dummies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from shoal.transactions.characteristics import shared_by_proposition_1
from shoal.transactions.theory import best_clusters, best_clusters_measured
from shoal_studies.purchases.experiment import FULLEST, METHOD_1, METHOD_2, SETTINGS, SHOAL
from shoal_studies.purchases.measured import PAPER_B, PAPER_MU, Measured, decimals
from shoal_studies.result import Part, Statement

PAPER_BEST = 130  # clusters

TABLE_2 = {  # (c, s_min; None: Method 1) -> dummies, jaccard, Reid
    (50, None): (182_897, 0.1728, 0.1235),
    (50, 2): (183_902, 0.1729, 0.1223),
    (50, 3): (175_449, 0.1726, 0.1222),
    (50, 4): (162_474, 0.1723, 0.1218),
    (50, 8): (125_798, 0.1681, 0.1218),
    (100, None): (128_568, 0.3060, 0.2488),
    (100, 2): (99_228, 0.3061, 0.2475),
    (100, 3): (68_357, 0.3041, 0.2480),
    (100, 4): (59_374, 0.3044, 0.2465),
    (125, None): (97_581, 0.3692, 0.3120),
    (125, 2): (60_492, 0.3687, 0.3105),
    (125, 3): (46_101, 0.3667, 0.3102),
}

FIGURE_4 = (50, 5)  # c and s_min


def table_2(measured: Measured) -> Part:
    rows = []
    for (c, s_min), (dummies, jaccard, reid) in TABLE_2.items():
        ours = {column: measured.row(column, c, s_min) for column in ("dummies", "jaccard", "reid")}
        better = None if s_min is None else measured.of("dummies", SHOAL, c, s_min)
        rows.append(
            {
                "setting": f"c = {c}, " + (METHOD_1 if s_min is None else f"s_min = {s_min}"),
                "dummies, paper": dummies,
                "dummies": round(ours["dummies"].mean),
                "±": round(ours["dummies"].deviation),
                "jaccard, paper": jaccard,
                "jaccard": ours["jaccard"].mean,
                "Reid, paper": reid,
                "Reid": ours["reid"].mean,
                "Shoal": None if better is None else round(better.mean),
                "Shoal ±": None if better is None else round(better.deviation),
                "Shoal Reid": None if s_min is None else measured.of("reid", SHOAL, c, s_min).mean,
                "saved, %": None if s_min is None else round(100 * measured.saving(c, s_min), 1),
            }
        )
    statements = (
        *(statement for c in SETTINGS for statement in _dummies_of(measured, c)),
        _least_at_the_fullest(measured),
        _as_before(measured, "jaccard", 1, "Mean similarity of a released customer with oneself"),
        _as_before(measured, "reid", 2, "Re-identification rate"),
        _c_over_n(measured),
        _half_of_method_1(measured),
        _fewer(measured),
    )
    title = "Dummies, similarity with oneself and re-identification, by c and s_min"
    return Part("Table 2", title, pl.DataFrame(rows, infer_schema_length=None), statements, note=_MADE_2)


_MADE_2 = (
    "± is the deviation from seed to seed; the paper shows one run. Shoal is its own clustering with the same c and "
    "s_min, and saved is the share of Method 2's dummies that it does without."
)


def _dummies_of(measured: Measured, c: int) -> tuple[Statement, Statement]:
    loose = [s_min for at, s_min in TABLE_2 if at == c and s_min != FULLEST[c]]
    fullest = measured.row("dummies", c, FULLEST[c])
    papers, paper = [TABLE_2[c, s_min][0] for s_min in loose], TABLE_2[c, FULLEST[c]][0]
    ours = [measured.row("dummies", c, s_min) for s_min in loose]
    sizes = ", ".join(str(s_min) for s_min in loose[1:])
    return (
        Statement(
            f"c = {c}: {papers[0]:,} dummies by Method 1; {_counts(papers[1:])} with s_min = {sizes}.",
            f"{ours[0]}; {', '.join(map(str, ours[1:]))}.",
            all(abs(spread.mean - p) <= 3 * spread.deviation for spread, p in zip(ours, papers, strict=True)),
            measured.otherwise("The paper's run of k-means lies more than 3 deviations from our mean."),
        ),
        Statement(
            f"c = {c}, s_min = {FULLEST[c]}: {paper:,} dummies.",
            f"{fullest}: {fullest.mean / paper - 1:+.1%}, or {abs(fullest.mean - paper) / fullest.deviation:.1f} "
            "deviations.",
            abs(fullest.mean / paper - 1) <= 0.05,
            measured.otherwise("Algorithm 3 leaves open whom it moves; the reading here fits Table 2 best."),
        ),
    )


def _counts(values: Iterable[float]) -> str:
    return ", ".join(f"{value:,.0f}" for value in values)


def _least_at_the_fullest(measured: Measured) -> Statement:
    dummies = {(c, s): measured.row("dummies", c, s).mean for c, s in TABLE_2 if s is not None}
    least = {c: min((count, s) for (at, s), count in dummies.items() if at == c)[1] for c in SETTINGS}
    return Statement(
        "With every c dummies are fewest where s_min is n/c: clusters of one size.",
        "; ".join(f"c = {c}: s_min = {s_min}" for c, s_min in least.items()) + ".",
        least == FULLEST,
        measured.otherwise("Balancing moved customers to clusters that they do not fit."),
    )


def _as_before(measured: Measured, column: str, place: int, what: str) -> Statement:
    """The other columns of Table 2, of Method 1 and of the largest s_min."""
    settings = [(c, s_min) for c in SETTINGS for s_min in (None, FULLEST[c])]
    papers = [TABLE_2[setting][place] for setting in settings]
    ours = [measured.row(column, *setting).mean for setting in settings]
    return Statement(
        f"{what}, Method 1 and the largest s_min at each c: {decimals(papers)}.",
        f"{decimals(ours)}.",
        all(abs(p - mean) <= 0.01 for p, mean in zip(papers, ours, strict=True)),
        measured.otherwise("It depends on which customers the starts of k-means put together."),
    )


def _c_over_n(measured: Measured) -> Statement:
    n = measured.about.customers
    rates = {(c, s_min): measured.row("reid", c, s_min).mean - c / n for c, s_min in TABLE_2}
    farthest = max(rates.values(), key=abs)
    return Statement(
        "Either method is re-identified at the rate E(Reid) = c/n: one customer of each cluster.",
        f"No setting is farther from c/n than {abs(farthest):.4f}.",
        abs(farthest) <= 0.01,
        measured.otherwise("In some clusters another customer's set is nearest to the union."),
    )


def _half_of_method_1(measured: Measured) -> Statement:
    method_1, method_2 = measured.dummies(METHOD_1), measured.dummies(METHOD_2)
    ratio = float(np.mean([method_2[c] / method_1[c] for c in measured.swept]))
    table = [
        measured.row("dummies", c, s_min).mean / measured.row("dummies", c, None).mean for c, s_min in FULLEST.items()
    ]
    return Statement(
        "Method 2 needs only about 53% of the dummies of Method 1.",
        f"{ratio:.0%} over c = {measured.swept[0]} to {measured.swept[-1]}; {', '.join(f'{r:.0%}' for r in table)} at "
        "c = 50, 100, 125.",
        abs(ratio - 0.53) <= 0.05,
        measured.otherwise("The mean depends on which numbers of clusters are taken, which the paper does not say."),
    )


def _fewer(measured: Measured) -> Statement:
    full = [(c, s_min, measured.saving(c, s_min)) for c, s_min in FULLEST.items()]
    most = max(measured.saving(c, s_min) for c, s_min in TABLE_2 if s_min)
    return Statement(
        "Customers are to be clustered so that dummies are few (section 3.1).",
        "Shoal's clustering, which counts them, saves "
        + ", ".join(f"{saved:.1%} (c = {c}, s_min = {s_min})" for c, s_min, saved in full)
        + f" of Method 2's, and up to {most:.0%} where s_min leaves room.",
        min(saved for *_, saved in full) > 0,
        "Distances between customers served better here than counting dummies.",
    )


# ---- the figures


def figures_3_and_4(measured: Measured) -> Part:
    c, s_min = FIGURE_4
    data = sizes_of(measured)
    clusterings = {
        method: measured.rows(method, c, least)["sizes"].to_list()
        for method, least in ((METHOD_1, None), (METHOD_2, s_min))
    }
    largest, smallest = ({method: list(map(end, sizes)) for method, sizes in clusterings.items()} for end in (max, min))
    title = f"Sizes of {c} clusters, mean over the seeds"
    statements = (
        Statement(
            "Method 1, c = 50: the largest cluster has 32 customers, the smallest 1.",
            f"The largest {_between(largest[METHOD_1])}, the smallest {_between(smallest[METHOD_1])}.",
            min(largest[METHOD_1]) <= 32 <= max(largest[METHOD_1]) and min(smallest[METHOD_1]) == 1,
            measured.otherwise("k-means from other starts."),
        ),
        Statement(
            "Method 2, s_min = 5: the largest has 16, and all have 5 or more.",
            f"The largest {_between(largest[METHOD_2])}, the smallest {_between(smallest[METHOD_2])}.",
            min(largest[METHOD_2]) <= 16 <= max(largest[METHOD_2]) and min(smallest[METHOD_2]) >= s_min,
            measured.otherwise("k-means from other starts."),
        ),
    )
    return Part("Figures 3 and 4", title, data, statements)


def sizes_of(measured: Measured) -> pl.DataFrame:
    """How many clusters of each size there are, mean over the seeds."""
    c, s_min = FIGURE_4
    chosen = {
        f"{METHOD_1} (Figure 3)": (METHOD_1, None),
        f"{METHOD_2} (Figure 4)": (METHOD_2, s_min),
        f"{SHOAL}, s_min = {s_min}": (SHOAL, s_min),
    }
    rows = []
    for name, (method, least) in chosen.items():
        clusterings = measured.rows(method, c, least)["sizes"]
        counted = Counter(clusterings.explode().to_list())
        rows += [
            {"method": name, "size": size, "clusters": counted[size] / len(clusterings)} for size in sorted(counted)
        ]
    return pl.DataFrame(rows)


def _between(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def figure_5(measured: Measured) -> Part:
    first = measured.fewest_valid
    theory = {c: measured.eq_3(c) for c in measured.swept}
    data = measured.by_c.with_columns(
        pl.Series("Eq. 3", theory.values()), pl.Series("Eq. 3 is valid", [c >= first for c in theory])
    )
    title = "Dummies needed, by number of clusters"
    return Part("Figure 5", title, data, (_near_eq_3(measured), _eq_4(measured)), note=_MADE_5)


_MADE_5 = (
    "s_min is n/c, rounded down. Eq. 3 takes customers who are no more alike than any two, in clusters of one size, "
    "and no good of three: it is valid while each can have a good of his own, for s <= 1 + b/h customers a cluster. "
    "Method 2 and Shoal make clusters of customers who are more alike than any two, and can need fewer."
)


def _near_eq_3(measured: Measured) -> Statement:
    valid = {
        c: count / measured.eq_3(c) for c, count in measured.dummies(METHOD_2).items() if c >= measured.fewest_valid
    }
    return Statement(
        "Eq. 3 gives the number of dummies in theory (the solid line beside Method 2's).",
        f"Method 2 needs {min(valid.values()):.2f} to {max(valid.values()):.2f} times as many where Eq. 3 is valid, "
        f"from c = {measured.fewest_valid} on.",
        all(0.8 <= ratio <= 1.25 for ratio in valid.values()),
        "Where n/c is not a whole number, Method 2 leaves a few clusters much larger than the others.",
    )


def _eq_4(measured: Measured) -> Statement:
    about, c = measured.about, 100
    bound = (about.goods_a_customer + about.h / 2) * about.customers**2 / c
    return Statement(
        "E(Δm) >= (b + h/2) n²/c (Eq. 4).",
        f"At c = {c} the right side is {bound:,.0f}, Eq. 3 gives {measured.eq_3(c):,.0f}.",
        measured.eq_3(c) >= bound,
        "The two terms left out are negative: Eq. 4 must read <=.",
    )


def figure_6(measured: Measured) -> Part:
    title = "Eq. 5: the mean of dummies, as a share of the most, and of the re-identification rate c/n"
    about, losses = measured.about, eq_5(measured)
    best = {name: min(curve, key=curve.__getitem__) for name, curve in losses.items()}
    paper_h = shared_by_proposition_1(PAPER_B, PAPER_MU)
    in_theory = best_clusters(about.customers, about.goods_a_customer, about.h)
    statements = (
        Statement(
            "The best number of clusters for n = 400, b = 65, μ = 0.03 is c* = 130.",
            f"{best_clusters(400, PAPER_B, paper_h)} by Eq. 3 and 5; {in_theory} with b and μ of these histories.",
            best_clusters(400, PAPER_B, paper_h) == PAPER_BEST and abs(in_theory - PAPER_BEST) <= 10,
            measured.otherwise("The minimum is flat, and other b and μ move it."),
        ),
        _best_on_the_data(measured, best, losses[METHOD_2]),
    )
    places = sorted(set(measured.swept) & set(losses["Eq. 3"]))
    data = pl.DataFrame({"c": places} | {name: [curve[c] for c in places] for name, curve in losses.items()})
    return Part("Figure 6", title, data, statements, note=_MADE_6)


def eq_5(measured: Measured) -> dict[str, dict[int, float]]:
    """By number of clusters, in theory and as measured; alpha is 1 / the most that Eq. 3 gives, for all curves."""
    theory = {c: measured.eq_3(c) for c in range(measured.fewest_valid, measured.swept[-1] + 1)}
    most, n = max(theory.values()), measured.about.customers
    curves = {"Eq. 3": theory, METHOD_2: measured.dummies(METHOD_2), SHOAL: measured.dummies(SHOAL)}
    return {name: {c: (count / most + c / n) / 2 for c, count in counts.items()} for name, counts in curves.items()}


_MADE_6 = "The same α for all: 1 / the most dummies that Eq. 3 gives where it is valid."


def _best_on_the_data(measured: Measured, best: Mapping[str, int], losses: Mapping[int, float]) -> Statement:
    flat = [c for c, loss in losses.items() if loss <= 1.02 * losses[best[METHOD_2]]]
    counts = {c: round(count) for c, count in measured.dummies(METHOD_2).items()}
    own = best_clusters_measured(counts, measured.about.customers)
    return Statement(
        "Method 2 is best with about as many clusters (Figure 6).",
        f"Least at {best[METHOD_2]} of the numbers tried, and within 2% of it from {min(flat)} to {max(flat)}; Shoal "
        f"at {best[SHOAL]}. With α = 1 / the dummies counted at c = {measured.swept[0]}: {own}.",
        abs(best[METHOD_2] - PAPER_BEST) <= 20,
        measured.otherwise("The minimum is flat: the least of several like values is a matter of chance."),
    )
