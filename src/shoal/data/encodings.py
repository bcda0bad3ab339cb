"""Which encoding a text file is in: by its mark, by what is valid, and by which reading makes words.

A byte order mark, zeros at every other byte and bytes that are valid UTF-8 leave no doubt. Everything else is read by
every encoding of `CANDIDATES`, and each reading gets a score: the share of its words beyond ASCII that a language could
have written (letters of its alphabet, capitals where they stand in words, signs where signs stand). The best is taken
if it is good and clearly better than every other that gives a different text; otherwise the file is refused with both.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
LINES = 1_000  # with bytes beyond ASCII, which show how they are meant
GOOD, CLEARLY = 0.6, 0.15  # the least score, and by how much the best must be better
SURE = 0.3  # better by so much

_WEST = ("äöüß", "àâçéèêëîïôœùûü", "áéíñóúüç", "áâãàçéêíóôõú", "àèéìòùí", "åäöé", "æøåéöä", "áðéíóúýþæö", "éëïöüè")
_CENTRE = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čšžćđ", "ăâîşţșț")
_SIGNS = "“”„‚‘’–—…€£§°²³µ½¼¾«»·•™®©¿¡ªº±×÷¥¢‰‹›†"
_SHORT = re.compile(r"(?i)^(s|t|d|m|re|ll|ve)$|^(l|d|j|n|c|s|m|t|o|qu)$")  # what stands beside an apostrophe
_WORD = re.compile(r"[^\W\d_²³¹½¼¾ªº]+(?:’[^\W\d_²³¹½¼¾ªº]+)*|[^\w\s\x00-\x7f]|[²³¹½¼¾ªº]")
# Where Latin-9 differs from Windows-1252: the euro for a sign that nobody writes, œ within words for ½.
_LATIN_9 = re.compile(rb"\xa4|[A-Za-z\xc0-\xff][\xbc\xbd]|[\xbc\xbd][A-Za-z\xc0-\xff]")
_ODD = re.compile(r"õ(?!e)|ã(?![oes]|$)")  # Portuguese has them so; elsewhere they are Hungarian and Romanian misread
_COMMON_CYRILLIC = frozenset("оеаинтсрвлкмдпуйь")


class Candidate(NamedTuple):
    """An encoding, what people call it, the letters of the languages that use it, and how likely it is beforehand."""

    name: str
    called: str
    alphabets: tuple[str, ...]
    beforehand: float


CANDIDATES = (
    Candidate("cp1252", "Windows-1252", _WEST, 1.0),
    Candidate("mac-roman", "Mac Roman", _WEST, 0.85),
    Candidate("iso8859-15", "Latin-9", _WEST, 0.95),
    Candidate("cp1250", "Windows-1250", _CENTRE, 0.75),
    Candidate("koi8-r", "KOI8-R", (), 0.95),
    Candidate("cp1251", "Windows-1251", (), 0.95),
    Candidate("cp932", "Shift-JIS", (), 0.95),
)


@dataclass(frozen=True)
class Seen:
    """The encoding that a file seems to have, how sure that is and why; a second one where neither is clearly right."""

    encoding: str
    sure: bool
    why: str
    rival: str | None = None


def marked(head: bytes) -> Seen | None:
    """By a byte order mark, or by the zeros that plain letters have in UTF-16."""
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return Seen(name, True, "by its byte order mark")
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = max(len(head) // 2, 1)
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if len(head) >= 4 and zeros >= 0.3 * half and others <= 0.05 * zeros:
            return Seen(name, True, "every other byte of its plain letters is zero")
    return None


def judged(lines: Iterable[bytes], known: Iterable[int]) -> Seen | None:
    """By which reading of lines beyond ASCII makes words; `known` are all bytes of the file. None if none does."""
    sample, beyond = list(lines), bytes(sorted(byte for byte in known if byte > 0x7F))
    latin_9 = min(beyond, default=0) >= 0xA0 and any(_LATIN_9.search(line) for line in sample)
    scores: dict[str, tuple[float, str]] = {}
    for each in CANDIDATES:
        if each.name == ("cp1252" if latin_9 else "iso8859-15"):
            continue
        try:
            if each.name != "cp932":
                beyond.decode(each.name)
            text = "\n".join(line.decode(each.name) for line in sample)
        except UnicodeDecodeError:
            continue
        scores[each.name] = (each.beforehand * _score(text, each), text)
    ranked = sorted(scores, key=lambda name: -scores[name][0])
    if not ranked or scores[ranked[0]][0] < GOOD * 0.5:
        return None
    best, text = ranked[0], scores[ranked[0]][1]
    rivals = [name for name in ranked[1:] if scores[name][1] != text]
    lead = scores[best][0] - (scores[rivals[0]][0] if rivals else 0.0)
    if scores[best][0] < GOOD or lead < CLEARLY:
        return Seen(best, False, "", rivals[0]) if rivals else None
    return Seen(best, lead >= SURE, f"{min(scores[best][0], 1):.0%} of its words beyond ASCII make sense so")


def called(encoding: str) -> str:
    """What people call it."""
    return next((each.called for each in CANDIDATES if each.name == encoding), encoding)


def _score(text: str, candidate: Candidate) -> float:
    """The share of its words and signs beyond ASCII that make sense, partly in the one language that fits best."""
    words = {(match[0], _around(text, match)) for match in _WORD.finditer(text) if not match[0].isascii()}
    controls = sum("\x80" <= letter < "\xa0" for letter in text)
    if not words or controls:
        return 0.0
    if not candidate.alphabets:
        sense = _japanese if candidate.name == "cp932" else _cyrillic
        return sum(sense(word) for word, _ in words) / len(words)
    fits = [[_fits(word, around, letters) for letters in candidate.alphabets] for word, around in words]
    anyhow = sum(max(each) for each in fits) / len(fits)
    alone: float = max(sum(each) for each in zip(*fits, strict=True)) / len(fits)
    return 0.7 * anyhow + 0.3 * alone


def _around(text: str, match: re.Match[str]) -> str:
    """The characters before and after, blanks at the ends."""
    start, stop = match.span()
    return (text[start - 1] if start else " ") + (text[stop] if stop < len(text) else " ")


def _fits(word: str, around: str, letters: str) -> float:
    if (len(word) == 1 and word in _SIGNS) or not word[0].isalpha():
        return _sign(word, around)
    if "’" in word:
        head, _, tail = word.partition("’")
        good = _SHORT.match(tail) or _SHORT.match(head)
        rest = [_fits(part, "  ", letters) for part in (head, tail) if not part.isascii()]
        return min([1.0 if good else 0.5, *rest])
    beyond = [letter for letter in word if letter > "\x7f"]
    if any(letter.lower() not in letters for letter in beyond) or not _cased(word) or _ODD.search(word.lower()):
        return 0.0
    if len(word) == 1:
        return 0.8 if word.islower() else 0.2
    return 1.0 if len(beyond) <= 0.75 * len(word) or len(word) < 3 else 0.0


def _sign(sign: str, around: str) -> float:
    """Signs stand between words, at their ends and at numbers, not between letters."""
    if sign not in _SIGNS or all(letter.isalpha() for letter in around):
        return 0.0
    if sign in "§†…‰" and (around[1].isalpha() or (sign in "§†‰" and around[0].isalpha())):
        return 0.3  # part of a word that is misread, more likely
    if sign in "€£¥¢²³°®™©" and around[1].isalpha() and not (sign == "°" and around[1] in "CFK"):
        return 0.0
    if sign in "¿¡":
        return float(around[1].isalpha() and not around[0].isalnum())
    return 1.0 if around.isascii() or around[1].isalpha() else 0.3


def _cased(word: str) -> bool:
    """Capitals stand first, or everywhere."""
    plain = [letter for letter in word if letter.isascii()]
    upper = len(plain) > 1 and all(letter.isupper() for letter in plain)
    return all(
        (at == 0 or word.replace("ß", "").isupper()) if letter.isupper() else letter == "ß" or not upper
        for at, letter in enumerate(word)
        if letter > "\x7f"
    )


def _cyrillic(word: str) -> float:
    if not all("а" <= letter <= "я" or letter == "ё" for letter in word.lower()) or not _cased(word):
        return 0.0
    common = sum(letter in _COMMON_CYRILLIC for letter in word.lower()) >= 0.5 * len(word)
    return common * (0.5 if len(word) == 1 else 1.0)


def _japanese(word: str) -> float:
    """Kana and kanji, with no letters of the alphabet in the same word; half-width kana are seen less often."""
    if any(letter.isascii() for letter in word):
        return 0.0
    narrow = any("\uff61" <= letter <= "\uff9f" for letter in word)
    wide = all(
        "\u3000" <= letter <= "\u30ff" or "\u4e00" <= letter <= "\u9fff" or letter >= "\uff00" for letter in word
    )
    return 0.7 if narrow else float(wide)
