"""How paper 4's numbers are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal_studies import charts
from shoal_studies.curves import Curve, Plot, Stroke, curves, size_bars
from shoal_studies.driver import Draw, Frames
from shoal_studies.purchases.dummies import FIGURE_4, eq_5, sizes_of
from shoal_studies.purchases.experiment import ATTACKED, METHOD_1, METHOD_2, PSEUDONYMS, SHOAL
from shoal_studies.purchases.measured import Measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STROKES = {
    METHOD_1: Stroke(charts.ORANGE, charts.ORANGE, 1.8),
    METHOD_2: Stroke(charts.BLUE, charts.BLUE, 1.8),
    SHOAL: Stroke(charts.GREEN, charts.GREEN, 2.4),
    "Eq. 3": Stroke(charts.GREY, charts.SOFT, 1.6),
}
NOT_VALID = Stroke(charts.GREY, charts.SOFT, 1.2, (2, 2))
KINDS = {
    "item": Stroke(charts.BLUE, charts.BLUE, 1.8),
    "item, day": Stroke(charts.LIGHT_BLUE, charts.BLUE, 5.0),
    "item, day, price band": Stroke(charts.ORANGE, charts.ORANGE, 1.6, (5, 2)),
}


def figures_3_and_4(title: str, frames: Frames) -> Figure:
    found = sizes_of(Measured.of_frames(frames)).group_by("method", maintain_order=True)
    panels = {str(method): dict(rows["size", "clusters"].iter_rows()) for (method,), rows in found}
    colours = [STROKES[method].colour for method in (METHOD_1, METHOD_2, SHOAL)]
    return size_bars(title, panels, colours, FIGURE_4[1])


def figure_5(title: str, frames: Frames) -> Figure:
    measured = Measured.of_frames(frames)
    first = measured.fewest_valid
    theory = {c: measured.eq_3(c) for c in range(1, measured.swept[-1] + 1)}
    valid = {c: count for c, count in theory.items() if c >= first}
    before = {c: count for c, count in theory.items() if c <= first and count >= 0}
    drawn = [
        *(Curve(method, STROKES[method], measured.dummies(method)) for method in (METHOD_1, METHOD_2, SHOAL)),
        Curve("Eq. 3", STROKES["Eq. 3"], valid, dots=False),
        Curve(f"Eq. 3 where it is not valid (c < {first})", NOT_VALID, before, dots=False),
    ]
    top = 1.08 * max(max(curve.points.values()) for curve in drawn)
    return curves(title, [Plot("", drawn, top)], "clusters (c)", "dummies", lambda count: f"{count:,.0f}")


def figure_6(title: str, frames: Frames) -> Figure:
    losses = eq_5(Measured.of_frames(frames))
    drawn = [Curve(name, STROKES[name], curve, dots=name != "Eq. 3") for name, curve in losses.items()]
    top = 1.08 * max(max(curve.values()) for curve in losses.values())
    best = min(losses["Eq. 3"], key=losses["Eq. 3"].__getitem__)
    plot = Plot("", drawn, top, [(best, f"c* = {best} by Eq. 3")])
    return curves(title, [plot], "clusters (c)", "Eq. 5", lambda value: f"{value:.1f}")


def unicity(title: str, frames: Frames) -> Figure:
    plots = []
    for (release,), rows in frames["unicity"].group_by("release", maintain_order=True):
        points = {kind: dict(rows.filter(known=kind)["m", "singled_out"].iter_rows()) for kind in KINDS}
        plots.append(Plot(str(release), [Curve(kind, KINDS[kind], at) for kind, at in points.items()], 1.05))
    return curves(title, plots, "purchases known (m)", "singled out", lambda share: f"{share:.0%}")


def intruders(title: str, frames: Frames) -> Figure:
    data, (c, s_min) = frames["intruders"], ATTACKED
    series = {
        name if name == PSEUDONYMS else f"{name}, c = {c}, s_min = {s_min}": (
            colour,
            data.filter(release=name)["found"].to_list(),
        )
        for name, colour in ((PSEUDONYMS, charts.GREY), (METHOD_2, charts.BLUE), (SHOAL, charts.GREEN))
    }
    return charts.grouped_bars(title, data["known"].unique(maintain_order=True).to_list(), series)


FIGURES: dict[str, Draw] = {
    "Figures 3 and 4": figures_3_and_4,
    "Figure 5": figure_5,
    "Figure 6": figure_6,
    "Unicity": unicity,
    "Intruders": intruders,
}
