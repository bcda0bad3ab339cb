"""How columns of codes are called, in a dozen languages: a column named so holds codes even where they are digits.

To recognise something new, add a word to its row. Names are read as plain words (`shoal.data.signs.spelled`): lower
case, without accents, `patZip5` as `pat zip 5`.

A word counts where a name ends in it, but for what only says "code" (`county_cd`, `race group`, `zip 5`, `diag_1`): a
`hospital_charge` is a charge. Counts and sums are numbers whatever they count (`num_procedures`, `id_count`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from shoal.data.signs import spelled


@dataclass(frozen=True)
class CodeSign:
    """What a column of codes is about, and the words that say so.

    In a word `-` is a blank and `_` an optional one. Codes that nest have beginnings with a meaning of their own. Words
    that mean other things too count only where the longest value has at least `digits` characters. Codes with `points`
    look like fractions: ICD-9 250.83, NACE 46.3.
    """

    what: str
    words: str
    nests: bool = False
    digits: int = 1
    points: bool = False


_CODE = "codes? cd cde kod kode koodi codigo codice cod schlussel kennziffer kennung key"
_ID = "ids? uid uuid guid nr"
_NUMBER = "no nos num number nummer numer numero nbr cislo"
CODE_SIGNS = (
    CodeSign(
        "postcode",
        r"""\w*zip(_code)? post(al)?_codes? plz(-\w+)? \w*postleitzahl code-postal codigo-postal codice-postale
            codice-di-avviamento-postale kod-pocztowy postn(umme)?r postinumero postal
            posta-kodu (почтовыи-)?индекс 邮编 邮政编码 郵便番号""",
        nests=True,
    ),
    CodeSign("postcode", "cap cep psc cp pin(_code)?", nests=True, digits=4),
    CodeSign(
        "area",
        r"""\w*(county|cnty) fips i?state(num)? province region district municipality territory puma (census-)?tract
            nuts bundesland \w*kreis gemeinde(kennziffer|schlussel)? ags kanton canton departement commune provincia
            comune gemeente provincie wojewodztwo powiat gmina kommune? maakunta kunta kraj okres obec municipio
            concelho distrito freguesia comunidad(-autonoma)? regione regio regiao kommun""",
        nests=True,
    ),
    CodeSign(
        "sex or gender",
        """i?sex gender geschlecht sexe sexo genre genero sesso geslacht plec płec kon køn sukupuoli pohlavi
            cinsiyet пол 性别 性別""",
    ),
    CodeSign(
        "race or ethnic group",
        """i?race ethnic(ity)?(-group)? ethncty i?hispanic ancestry rasse raza raca etnia ethnie etnicita etniciteit
            herkunft""",
    ),
    CodeSign(
        "marital status",
        """marital(-(status|stat))? mar_stat civil-status familienstand etat-civil estado-civil stato-civile
            burgerlijke-staat stan-cywilny civilstand civilstatus siviilisaaty rodinny-stav""",
    ),
    CodeSign(
        "religion, language or nationality",
        """religion konfession religione religiao godsdienst wyznanie uskonto nabozenstvi nationality nationalitat
            nationalite nacionalidad nacionalidade nazionalita nationaliteit narodowosc citizenship staatsangehorigkeit
            country pays pais paese birth_place language sprache langue idioma lingua jezyk kieli jazyk""",
    ),
    CodeSign(
        "place of care or service",
        r"""\w*hosp(ital)? hospid facility clinic provider oshpd ward site store branch krankenhaus klinik hopital
            etablissement ospedale ziekenhuis szpital sjukhus sygehus sairaala nemocnice filiale physician surgeon""",
    ),
    CodeSign(
        "diagnosis",
        r"""\w*icd(-(9|10|11))?(-cm)? cim-10 cie-10 diag(-p)? diagnos[ei]s dx diagnose diagnostic diagnostico diagnosi
            diagnoza diagnos diagnoosi cause-of-death todesursache cause-de-deces""",
        nests=True,
        points=True,
    ),
    CodeSign(
        "treatment",
        "procedure proc px cpt hcpcs atc ndc opcs icpm ccam prozedur snomed loinc",
        nests=True,
        digits=3,
        points=True,
    ),
    CodeSign("case group", "(ms-)?drg mdc ghm dbc"),
    CodeSign(
        "branch of trade or occupation",
        """nace(-rev)? naics isic i?sic wz ateco cnae pkd sni toimiala industry branche occupation isco soc kldb beruf
            profession ocupacion ocupacao beroep zawod yrke erhverv ammatti povolani professione""",
        nests=True,
        points=True,
    ),
    CodeSign("goods", "cpv hs-code cn-code taric coicop", nests=True, points=True),
    CodeSign("goods", "sku ean gtin upc isbn asin bar_code stock_code (artikel|produkt|material)(nummer|nr)"),
    CodeSign("type", "types? typ tipo tyyppi category kategorie categorie categoria kategoria luokka"),
)  # fmt: skip
_ANY_CODE = CodeSign("code", "")
_NUMBERED = """
    hosp(ital)? facility clinic prov(ider)? ward room store branch shop site school station unit department utility
    prod(uct)? article item goods stock order invoice receipt account policy contract cust(omer)? client pat(ient)?
    pers(on)? member subject case record file visit encounter admission household hh family employee student vehicle
    licen[cs]e batch lot serial device artikel produkt kunden? patienten fall filial krankenhaus klant cliente produit
    hopital dossier articulo producto articolo prodotto artigo produto towar klient vare vara kund tuote asiakas zbozi
    zakaznik
"""
_COUNTS = """
    n num number count nb nbr no anzahl anz aantal liczba antal lukumaara pocet total sum mean avg average median min
    max share rate ratio pct percent prozent nombre quantity qty menge summe somma suma somme soma
"""
_MEASURES = """
    n counts? total sum mean avg average median min max share rate ratio pct percent quantity qty amount price cost
    charge value age score length h?size weight height beds income population density duration betrag preis kosten wert
    alter dauer time date year years yr month months mon quarter qtr week weeks weekday day days hour hours minute jahr
    jahre monat tag tage annee mois jour ano mes dia anno mese giorno rok miesiac
"""


def _any_of(words: str) -> str:
    return "|".join(words.split()).replace("-", " ").replace("_", " ?")


_OF = "of|at|de|du|des|der|di|da|van|av|af"
_CODE_OR_ID, _SAYS_CODE = _any_of(f"{_CODE} {_ID}"), _any_of(f"{_CODE} {_ID} {_NUMBER}")
_TAIL = rf"(?: (?:{_SAYS_CODE}|groups?|grp|category|type|typ|class|\d+|[a-z]|(?:{_OF}) .+))*"
_COUNTED = re.compile(
    rf"(?:{_any_of(_COUNTS)}) .+|(?:.+ )?(?:{_any_of(_MEASURES)})(?: \d+)?|.+ (?:in|since|until|per|after|before) .+"
)
_NAMED_CODE = re.compile(
    rf"(?:.+ )?(?:{_CODE_OR_ID})(?: \d+)?"  # hospital_id, region cd
    rf"|(?:{_any_of(_CODE)}|id) .+"  # codigo_municipio, id_hopital
    rf"|(?:.+ )?(?:{_any_of(_NUMBERED)}) ?(?:{_any_of(f'ids? {_NUMBER}')})"  # product_no, UtilityID
    r"|(?:.* )?\w{3,}(?:nummer|numer|schlussel|kennziffer|kennung|code|kod|kode|koodi|nr)"  # Artikelnummer
)


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:.+ )?(?:{_any_of(words)}){_TAIL}")


def named_number(name: str) -> bool:
    """Whether a column's name says that it counts or measures something, or tells when."""
    return _COUNTED.fullmatch(spelled(name)) is not None


def named_code(name: str, digits: int) -> CodeSign | None:
    """What codes a column's name says it holds; None where it says no such thing.

    `digits` is how many characters the longest value has.
    """
    words = spelled(name)
    if named_number(name):
        return None
    for sign in CODE_SIGNS:
        if digits >= sign.digits and _pattern(sign.words).fullmatch(words):
            return sign
    return _ANY_CODE if _NAMED_CODE.fullmatch(words) else None
