"""The months' names in the languages in which files write dates: in full and shortened, with and without a point."""

from __future__ import annotations

from functools import cache

_NAMES = {
    "English": (
        "January February March April May June July August September October November December",
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
        "Jan Feb Mar Apr May June July Aug Sept Oct Nov Dec",
    ),
    "German": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
        "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
        "Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
        "Jänner Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Januar Februar Maerz April Mai Juni Juli August September Oktober November Dezember",
    ),
    "French": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv févr mars avr mai juin juil août sept oct nov déc",
        "jan fév mar avr mai jun jul aoû sep oct nov déc",
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    ),
    "Spanish": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "ene feb mar abr may jun jul ago sep oct nov dic",
        "ene feb mar abr may jun jul ago sept oct nov dic",
    ),
    "Italian": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "gen feb mar apr mag giu lug ago set ott nov dic",
    ),
    "Dutch": (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
    ),
    "Portuguese": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "jan fev mar abr mai jun jul ago set out nov dez",
    ),
    "Swedish": (
        "januari februari mars april maj juni juli augusti september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
    ),
    "Danish": (
        "januar februar marts april maj juni juli august september oktober november december",
        "jan feb mar apr maj jun jul aug sep okt nov dec",
    ),
}  # fmt: skip
Names = tuple[str, ...]


@cache
def all_names() -> tuple[Names, ...]:
    """Every way of writing the twelve months: each language's, as printed there, in capitals, and in small letters."""
    ways: dict[Names, None] = {}
    for change in (str.title, str.lower, str.upper):
        for lists in _NAMES.values():
            for names in lists:
                months = tuple(map(change, names.split()))
                ways[months] = None
                if max(map(len, months)) <= 5:  # shortened: a point may end what is not the whole name
                    ways[tuple(f"{month}." for month in months)] = None
                    ways[
                        tuple(month if len(month) == 3 and month.lower() in _WHOLE else f"{month}." for month in months)
                    ] = None
    return tuple(ways)


_WHOLE = {"may", "mai", "mei", "maj"}


@cache
def month_words() -> frozenset[str]:
    """Every word that is a month's name somewhere."""
    return frozenset(month for names in all_names() for month in names)


def names_with(words: frozenset[str]) -> Names | None:
    """The first way of writing the months in which all of these words are, or None."""
    return next((names for names in all_names() if words <= set(names)), None)
