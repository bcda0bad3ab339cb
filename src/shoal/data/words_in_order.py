"""Words that stand in an order by themselves: `low`, `medium`, `high`; `never`, `often`, `always`."""

from __future__ import annotations

import unicodedata

import polars as pl

_FEWEST = 3  # of two, an order says nothing
# Lowest first; words that mean the same are parted by a stroke, and no two of them stand in one column.
_SCALES = (
    "very low, low, medium | moderate | middle | average, high, very high",
    "none | no pain, minimal | very mild, mild | slight, moderate | medium, severe, very severe | critical",
    "never, rarely | seldom, sometimes | occasionally, often | frequently, usually, always",
    "very small | xs | extra small, small | s, medium | m, large | l, very large | xl | extra large, xxl",
    "very poor | very bad, poor | bad, fair | average, good, very good, excellent",
    "strongly disagree, disagree, neutral | neither | undecided, agree, strongly agree",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "primary, secondary, tertiary",
    "sehr niedrig, niedrig | gering, mittel, hoch, sehr hoch",
    "nie | niemals, selten, manchmal | gelegentlich, oft | haufig, immer",
    "keine | keiner | kein, leicht | gering, mittel | massig | mittelschwer, schwer | stark, sehr schwer | sehr stark",
    "sehr klein, klein, mittel | mittelgross, gross, sehr gross",
    "sehr schlecht, schlecht, mittel | mittelmassig, gut, sehr gut",
    "tres faible | tres bas, faible | bas, moyen | modere, eleve | haut | fort, tres eleve | tres fort",
    "jamais, rarement, parfois | quelquefois, souvent, toujours",
    "aucun | aucune, leger | legere, modere | moderee, grave | severe",
    "petit, moyen, grand",
    "muy bajo, bajo, medio, alto, muy alto",
    "nunca, rara vez | raramente, a veces | as vezes, a menudo | frecuentemente, siempre | sempre",
    "ninguno | ninguna, leve, moderado | moderada, grave | severo",
    "pequeno, mediano | medio, grande",
    "molto basso, basso, medio, alto, molto alto",
    "mai, raramente, a volte | qualche volta, spesso, sempre",
    "zeer laag, laag, gemiddeld | middel | midden, hoog, zeer hoog",
    "nooit, zelden, soms, vaak, altijd",
)
_PLACES = tuple(
    {word.strip(): place for place, words in enumerate(scale.split(",")) for word in words.split("|")}
    for scale in _SCALES
)
MOST = max(map(len, _PLACES))


def words_in_order(texts: pl.Series) -> tuple[str, ...] | None:
    """The distinct texts from low to high, where all are words of one scale, each of another place; else None."""
    listed = texts.drop_nulls().unique().sort().to_list()
    if not _FEWEST <= len(listed) <= MOST:
        return None
    plain = {text: _plain(text) for text in listed}
    for places in _PLACES:
        at = {text: places[word] for text, word in plain.items() if word in places}
        if len(at) == len(set(at.values())) == len(listed):
            return tuple(sorted(listed, key=at.__getitem__))
    return None


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    words = "".join(c for c in letters if not unicodedata.combining(c)).replace("_", " ").replace("-", " ")
    return " ".join(words.split())
