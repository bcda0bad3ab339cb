"""Signs of what a column is: how people's identifiers and attributes are called and what they look like.

What they are called, in sixteen languages, stands in `sign_words.toml`; what they look like stands below. Rows carry
the letter of the identifier in HIPAA's Safe Harbor list (45 CFR 164.514(b)(2)(i), items A to R) where they belong to
one. To recognise something new, add a row.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shoal.data.check_digits import dea, dni, enough_digits, iban, ip, luhn, nhs, nir, ssn, vin
from shoal.data.national_numbers import NATIONAL
from shoal.data.person_names import GIVEN_NAMES
from shoal.data.schema import Role


@dataclass(frozen=True)
class Sign:
    """How one sort of attribute is recognised.

    The words of its name are those of `sign_words.toml` under `what`, up to a comma. `shape` and `fits` are patterns of
    whole values. Values of the `shape` that pass the `check` give the attribute away whatever the column is called;
    where the name speaks, values need only `fits`.
    """

    what: str
    role: Role
    hipaa: str = ""
    shape: str = ""
    check: Callable[[str], bool] | None = None
    fits: str = ""
    share: float = 0.8  # of the values must match
    least: int = 1  # values that must match: more, where one may do so by chance
    hint: bool = False  # the shape is common: it counts only where no other sign speaks, and only in text

    @property
    def words(self) -> re.Pattern[str] | None:
        """The words of its name, in all languages; None where only values tell."""
        return None if self.hint else _words().get(self.what.partition(",")[0])


@cache
def word_table() -> dict[str, dict[str, str]]:
    """What columns are called: for each sort of attribute and each language its words."""
    table: dict[str, dict[str, str]]
    table = tomllib.loads(files("shoal.data").joinpath("sign_words.toml").read_text(encoding="utf-8"))
    return table


@cache
def _words() -> dict[str, re.Pattern[str]]:
    table = dict(word_table())
    lists = table.pop("lists")
    return {what: _pattern(" ".join(lines.values()), lists) for what, lines in table.items()}


def _pattern(words: str, lists: Mapping[str, str]) -> re.Pattern[str]:
    either = "|".join(words.split())
    for name, listed in lists.items():
        either = either.replace(name, listed)
    return re.compile(rf"\b(?:{either.replace('-', ' ').replace('_', ' ?')})\b")


def _given_name(value: str) -> bool:
    return any(word in GIVEN_NAMES for word in spelled(value).split())


def _national(value: str) -> bool:
    return any(form.fullmatch(value) and check(value) for form, check in NATIONAL)


_PHONE = (
    r"(\+?\d{1,2}[ .-]?)?(\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}( ?(x|ext\.?) ?\d+)?"  # North America
    r"|\+\d[\d ()./-]{7,18}\d"  # international
    r"|\(?0\d{1,5}\)?[ /.-]{1,3}\d[\d /.-]{4,12}\d"  # Europe, with the trunk prefix
)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|m[aä]r|mai|okt|dez|ene|abr|ago|dic)[\p{L}.]*"
_DATE = (
    r"(?i)(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    rf"|\d{{1,2}}[. -]+{_MONTH}[, -]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})([ T]\d{{1,2}}:\d{{2}}.*)?"
    r"|(18[89]|19\d|20\d)\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
)
_POSTCODE = (
    r"\d{5}-\d{4}"  # United States, ZIP+4
    r"|[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z][ -]?\d[ABCEGHJ-NPRSTV-Z]\d"  # Canada
    r"|[A-Z]{1,2}\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}"  # United Kingdom
    r"|[1-9]\d{3} [A-Z]{2}"  # the Netherlands
)
_STREET = (
    r"(?i)\d+[a-z]?,? [\p{L}\d.' ]+ (street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court)\b.*"
    r"|\p{L}[\p{L}. -]*(stra(ss|ß)e|str\.|weg|gasse|platz) \d+ ?[a-z]?"
    r"|\d+,? (rue|avenue|boulevard) .*|(calle|avenida|via|ulica|ul\.|rua) .*\d.*"
    r"|\p{L}[\p{L}. -]*(straat|laan|gracht|gatan|v[äa]gen|gade|vej|katu|tie) \d+ ?[a-z]?"
)
_CARD = r"(4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|3[0478]\d{2}|6\d{3})([ -]?\d){9,15}"
_MBI = "[AC-HJKMNP-RT-Y]"  # the letters of Medicare's beneficiary numbers
_DIGITS = r".*\d.*"  # a number with a name: `phone type` with "home" and "work" is none
_LETTERS = r".*\p{L}.*"
_PHONE_DIGITS = r"\D*(\d\D{0,3}){6,15}"
_ACCOUNT = r"[A-Z]{0,4}[ -]?\d([ ./-]?[\dX*]){5,}"  # six digits or more: `< 100 DM` is an amount
_SEX = (
    r"(?i)[mfwhk]|male|female|man|woman|mann|frau|m[äa]nnlich|weiblich|homme|femme|hombre|mujer|maschio|femmina|vrouw"
    r"|homem|mulher|masculin[oe]?|f[ée]minin[oe]?|m[ęe][żz]czyzna|kobieta|kvinna|kvinde|mand|mies|nainen|mu[žz]|[žz]ena"
)
_MARITAL = (
    r"(?i)(never[ -])?married.*|single|divorced|widow(ed|er)?|separated|ledig|verheiratet|geschieden|verwitwet"
    r"|c[ée]libataire|mari[ée]e?|divorc[ée]e?|veu(f|ve)|solter[oa]|casad[oa]|divorciad[oa]|viud[oa]"
)
_CURRENCY = r"([€$£¥]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|K[čc]|zł|kr\.?|DM)"
_MONEY = rf"[<>=.≤≥ ]*{_CURRENCY} ?-?[\d.,' ]*\d|[\w.,' <>=≤≥-]*\d ?{_CURRENCY}( .*)?"
_TITLES = (
    r"((dr|prof|mr|mrs|ms|miss|mx|sir|dame|sister|herrn?|frau|mme|mlle|sr|sra|srta|dott|dott\.?ssa|sig|sig\.?ra|dra?"
    r"|drs|ing|mgr|mudr|dhr|mevr|lek|rn|md)[. ] ?)+"
)
_NAMED = r"\p{L}[\p{L}'’-]+"
_TITLED = (
    rf"(?i:{_TITLES}(\p{{L}}\.? ?)*)\p{{Lu}}[\p{{L}}'’. -]+|{_NAMED}([ -]{_NAMED})*, ?(?i:md|do|rn|phd|m\.d\.|dr\.?)"
)
_INITIALLED = rf"(\p{{Lu}}\.[ -]?)+{_NAMED}([ -]{_NAMED})*|{_NAMED},? (\p{{Lu}}\.? ?){{1,3}}|{_NAMED}, {_NAMED}( .*)?"
_ID, _QI, _CONFIDENTIAL = Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL
SIGNS = (
    # HIPAA's items A to R. Areas and dates can be coarsened, so they are quasi-identifiers.
    Sign(
        "personal names", _ID, "A",
        shape=r"\p{L}[\p{L}'’.-]*(,? \p{L}[\p{L}'’.-]*){0,4}", check=_given_name,
        fits=r"\p{L}[\p{L}'’., -]*", share=0.3,
    ),
    Sign("names of persons", _ID, "A", shape=_TITLED, fits=rf"{_TITLED}|{_INITIALLED}", least=2),
    Sign("street addresses", _ID, "B", shape=_STREET, fits=_LETTERS),
    Sign("codes of small areas", _QI, "B", shape=_POSTCODE, fits=r"[\dA-Za-z*. -]{2,10}"),
    Sign("codes of small areas, perhaps ZIP codes", _QI, "B", shape=r"\d{5}", hint=True),
    Sign("areas smaller than a state", _QI, "B"),
    Sign(
        "places on the map", _QI, "B",
        shape=r"\(?-?\d{1,3}\.\d{3,}[,; ]+-?\d{1,3}\.\d{3,}\)?",
        fits=r"-?1?\d{1,2}(\.\d*)?|[0-9b-hjkmnp-z]{1,11}[b-hjkmnp-z][0-9b-hjkmnp-z]{0,10}",  # degrees, or a geohash
    ),
    Sign(
        "full dates", _QI, "C",
        shape=_DATE, fits=r"\d{1,2}[-/.]\d{1,2}[-/.]?|\d{1,2}[-/.]\d{4}|\d{4}[-/.]\d{1,2}",
    ),
    Sign(
        "age, some over 89", _QI, "C",
        fits=r"[\[(]?(9\d|1[0-2]\d)([.,]\d+)?\+?([-–;, ].*)?", share=1e-9,  # one is enough
    ),
    # stands before phone numbers, which look alike but for the check digit
    Sign("medical record numbers (NHS)", _ID, "H", shape=r"\d{3}[ -]\d{3}[ -]\d{4}", check=nhs),
    Sign("phone numbers", _ID, "D", shape=_PHONE, check=enough_digits, fits=_PHONE_DIGITS),
    Sign("fax numbers", _ID, "E", shape=_PHONE, check=enough_digits, fits=_PHONE_DIGITS),
    Sign("e-mail addresses", _ID, "F", shape=r"[^\s@,;]+@[^\s@,;]+\.[\p{L}]{2,}", fits=r"\S{5,}"),
    Sign("social security numbers", _ID, "G", shape=r"\d{3}-\d{2}-\d{4}", check=ssn, fits=_DIGITS),
    Sign(
        "medical record numbers", _ID, "H",
        shape=r"(?i)(mrn|mr|med|chart)[-#: ]{0,2}\d{4,12}", fits=_DIGITS,
    ),
    Sign(
        "health plan numbers", _ID, "I",
        shape=rf"[1-9]{_MBI}(\d|{_MBI})\d-?{_MBI}(\d|{_MBI})\d-?{_MBI}{{2}}\d{{2}}", fits=_DIGITS,
    ),
    Sign(
        "bank account numbers", _ID, "J",
        shape=r"[A-Z]{2}\d{2}( ?[A-Z\d]{4}){2,7}( ?[A-Z\d]{1,3})?", check=iban, fits=_DIGITS,
    ),
    Sign("payment card numbers", _ID, "J", shape=_CARD, check=luhn, fits=r"([ -]?[\dxX*]){12,19}"),
    Sign("account numbers", _ID, "J", fits=_ACCOUNT),
    Sign(
        "certificate or licence numbers", _ID, "K",
        shape=r"[ABCDEFGHJKLMPRSTUX][A-Z9]\d{7}", check=dea, fits=_DIGITS,
    ),
    Sign(
        "certificate or licence numbers (driving)", _ID, "K",
        shape=r"[A-Z9]{5}\d[0156]\d[0-3]\d\d[A-Z9]{2}\d[A-Z]{2}",  # United Kingdom
    ),
    Sign("vehicle numbers", _ID, "L", shape=r"[A-HJ-NPR-Z\d]{8}[\dX][A-HJ-NPR-Z\d]{8}", check=vin, fits=_DIGITS),
    Sign(
        "device numbers", _ID, "M",
        shape=r"(?i)([\da-f]{2}[:-]){5}[\da-f]{2}|([\da-f]{4}\.){2}[\da-f]{4}|\(01\)\d{14}.*", fits=_DIGITS,
    ),
    Sign("device numbers (IMEI)", _ID, "M", shape=r"(01|35|86|98|99)\d{13}", check=luhn),
    Sign("web addresses", _ID, "N", shape=r"(?i)((https?|ftp)://|www\.)\S+", fits=r"\S*[./]\S*"),
    Sign(
        "IP addresses", _ID, "O",
        shape=r"(\d{1,3}\.){3}\d{1,3}|[\da-fA-F.]*:[\da-fA-F.]*:[\da-fA-F:.]*", check=ip,
        fits=r"[\da-fA-F:.*/xX]{3,}",
    ),
    Sign(
        "biometric identifiers", _ID, "P",
        shape=r"(?i).*(finger|thumb|palm|voice|iris|retina).*\.\w{2,5}|.*\.(wsq|fmr|fir|wav|mp3|flac|vcf|fastq|bam)",
    ),
    Sign(
        "photographs", _ID, "Q",
        shape=r"(?i).*\.(jpe?g|png|gif|bmp|tiff?|heic|webp|dcm)|data:image/.*", fits=r".*[./\\].*",
    ),
    Sign(
        "other numbers of a person", _ID, "R",
        shape=r"(?i)\{?[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}\}?",  # UUID
        fits=r".*\d.*|.{6,}",
    ),
    Sign("national numbers (France)", _ID, "R", shape=r"[12] ?\d{2} ?\d{2}( ?\d){10}", check=nir),
    Sign("national numbers (Spain)", _ID, "R", shape=r"[XYZ\d]\d{7}[A-Z]", check=dni),
    Sign(
        "national numbers (United Kingdom)", _ID, "R",
        shape=r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]",
    ),
    Sign("national numbers", _ID, "R", shape=r"[\dA-Za-z .+-]{9,22}", check=_national, fits=_DIGITS, least=5),
    Sign("numbers of households", _ID, "R", fits=_DIGITS),
    Sign("numbers of transactions", _ID, "R", fits=_DIGITS),
    Sign("free text, which may hold names", _ID, fits=r"(?s).{40,}", share=0.3),
    Sign("free text, which may hold names", _ID, shape=r"(?s).{100,}|(\S+\s+){9,}.*", share=0.3, hint=True),
    # What others may know of a person.
    Sign("age", _QI),
    Sign("sex or gender", _QI),
    Sign("sex or gender", _QI, shape=_SEX, share=1.0, least=2, hint=True),
    Sign("race or ethnic group", _QI),
    Sign("origin or language", _QI),
    Sign("family", _QI),
    Sign("family", _QI, shape=_MARITAL, least=3, hint=True),
    Sign("dwelling", _QI),
    Sign("schooling", _QI),
    Sign("work", _QI),
    Sign("region", _QI),
    Sign("place of care or service", _QI),
    Sign("time of an event", _QI),
    Sign("length or circumstance of an event", _QI),
    Sign("looks of the body", _QI),
    Sign("sampling weights, which --weights takes", _QI, fits=_DIGITS),
    # What must not be learnt of a person.
    Sign("diagnoses or diseases", _CONFIDENTIAL, shape=r"[A-TV-Z]\d[\dA-Z]\.[\dA-Z]{1,4}"),  # ICD-10 with its point
    Sign("treatments or drugs", _CONFIDENTIAL),
    Sign("results or outcomes", _CONFIDENTIAL),
    Sign("money", _CONFIDENTIAL, shape=_MONEY),
    Sign("insurance", _CONFIDENTIAL),
    Sign("beliefs or orientation", _CONFIDENTIAL),
    Sign("crimes or punishments", _CONFIDENTIAL),
)  # fmt: skip
_UNDIVIDED = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "đ": "d", "Đ": "D"})


def spelled(name: str) -> str:
    """A name as plain lower-case words: `PatientZIP5` and `patient-zip 5` are both `patient zip 5`."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)).translate(
        _UNDIVIDED
    )
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", plain)
    return re.sub(r"[\W_]+", " ", parts.casefold()).strip()
