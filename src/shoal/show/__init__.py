"""One way to show: each result as tables and charts, and these on a terminal, in a notebook, on a page, as a figure.

A result says what it is made of (`Result`: tables, charts, notes, JSON), never how these look. Tables are `Sheet`s;
charts are the few frozen dataclasses of `shoal.show.charts`. `terminal` and `markup` show tables, `svg` draws charts
on pages and `figure` with matplotlib.
"""

from shoal.show.charts import Bars, Chart, HeatTable, Histogram, Line, Lines, Series
from shoal.show.result import Result
from shoal.show.sheet import Sheet

__all__ = ["Bars", "Chart", "HeatTable", "Histogram", "Line", "Lines", "Result", "Series", "Sheet"]
