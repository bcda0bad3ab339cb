"""How paper 4's numbers are drawn."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.show import Line, Lines, Series
from shoal.show.charts import Bars, Colour, Rule
from shoal_studies.charts import grouped_bars
from shoal_studies.driver import Draw, Frames
from shoal_studies.purchases.dummies import FIGURE_4, eq_5, sizes_of
from shoal_studies.purchases.experiment import ATTACKED, METHOD_1, METHOD_2, PSEUDONYMS, SHOAL
from shoal_studies.purchases.measured import Measured

COLOURS: dict[str, Colour] = {METHOD_1: "orange", METHOD_2: "blue", SHOAL: "green", "Eq. 3": "before"}
KINDS: dict[str, tuple[Colour, float]] = {  # colour and width: these curves run together
    "item": ("blue", 2.0),
    "item, day": ("sky", 5.0),
    "item, day, price band": ("orange", 1.6),
}


def figures_3_and_4(frames: Frames) -> list[Lines]:
    data = sizes_of(Measured.of_frames(frames))
    largest = int(data["size"].max())  # type: ignore[arg-type]
    lines = []
    named = zip(data.group_by("method", maintain_order=True), (METHOD_1, METHOD_2, SHOAL), strict=True)
    for ((name,), rows), method in named:
        clusters = dict(rows["size", "clusters"].iter_rows())
        points = [(size, clusters.get(size, 0)) for size in range(largest + 2)]
        lines.append(Line(str(name), points, dots=(), steps=True, colour=COLOURS[method]))
    rule: Rule = ("across", FIGURE_4[1], f"s_min = {FIGURE_4[1]}")
    return [Lines("Clusters by their size", tuple(lines), "customers in the cluster", "clusters", (rule,))]


def figure_5(frames: Frames) -> list[Lines]:
    measured = Measured.of_frames(frames)
    first = measured.fewest_valid
    theory = {c: measured.eq_3(c) for c in range(1, measured.swept[-1] + 1)}
    valid = {c: count for c, count in theory.items() if c >= first}
    before = {c: count for c, count in theory.items() if c <= first and count >= 0}
    lines = (
        *(_curve(method, measured.dummies(method)) for method in (METHOD_1, METHOD_2, SHOAL)),
        Line("Eq. 3", list(valid.items()), dots=(), colour="before"),
        Line(f"Eq. 3 where it is not valid (c < {first})", list(before.items()), dots=(), dashed=True, colour="before"),
    )
    return [Lines("Dummies by the number of clusters", lines, "clusters (c)", "dummies")]


def figure_6(frames: Frames) -> list[Lines]:
    losses = eq_5(Measured.of_frames(frames))
    best = min(losses["Eq. 3"], key=losses["Eq. 3"].__getitem__)
    rule: Rule = ("across", float(best), f"c* = {best} by Eq. 3")
    lines = tuple(_curve(name, points) for name, points in losses.items())
    return [Lines("Eq. 5 by the number of clusters", lines, "clusters (c)", "Eq. 5", (rule,))]


def _curve(name: str, points: Mapping[int, float]) -> Line:
    return Line(name, list(points.items()), dots=() if name == "Eq. 3" else None, colour=COLOURS[name])


def unicity(frames: Frames) -> list[Lines]:
    charts = []
    for (release,), rows in frames["unicity"].group_by("release", maintain_order=True):
        lines = []
        for kind, (colour, width) in KINDS.items():
            points = list(rows.filter(known=kind)["m", "singled_out"].iter_rows())
            lines.append(Line(kind, points, dashed=width < 2, colour=colour, width=width))
        title, across = f"Singled out: {release}", "purchases known (m)"
        charts.append(Lines(title, tuple(lines), across, "singled out", unit="share", top=1.05))
    return charts


def intruders(frames: Frames) -> list[Bars]:
    data, (c, s_min) = frames["intruders"], ATTACKED
    named: dict[str, Colour] = {PSEUDONYMS: "before", METHOD_2: "blue", SHOAL: "green"}
    series = (
        Series(
            name if name == PSEUDONYMS else f"{name}, c = {c}, s_min = {s_min}",
            data.filter(release=name)["found"].to_list(),
            colour,
        )
        for name, colour in named.items()
    )
    return grouped_bars("Customers found", data["known"].unique(maintain_order=True).to_list(), series)


FIGURES: dict[str, Draw] = {
    "Figures 3 and 4": figures_3_and_4,
    "Figure 5": figure_5,
    "Figure 6": figure_6,
    "Unicity": unicity,
    "Intruders": intruders,
}
