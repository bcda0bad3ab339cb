"""What a column probably is: the kind of its values and the role it should play in a release.

The kind follows from the column's type alone. The role is a suggestion, made from signs: a table of what
people's identifiers and attributes are called and look like. Its rows carry the letter of the identifier in
HIPAA's Safe Harbor list (45 CFR 164.514(b)(2)(i), items A to R) where they belong to one. To recognise
something new, add a row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address

import polars as pl

from shoal.data.schema import Kind, Role
from shoal.errors import InputError

FEW_RECORDS = 20  # below this, values differ by chance and say nothing about keys
ALMOST_ALL = 0.95  # of the records have a value of their own: the rest are slips


def infer_kind(column: pl.Series) -> Kind:
    """Numbers are numeric; dates, times and durations are dates; an Enum, whose categories have an order, is
    ordinal; other categories, texts and yes/no are nominal, as is a column of nothing but missing values.
    """
    dtype = column.dtype
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype.is_temporal():
        return Kind.DATE
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL
    if isinstance(dtype, (pl.Boolean, pl.String, pl.Categorical, pl.Null)):
        return Kind.NOMINAL
    raise InputError(
        f"Column {column.name!r} holds values of type {dtype}, which have no kind: "
        "leave the column out, or turn it into columns of numbers, dates or text."
    )


@dataclass(frozen=True)
class Suggestion:
    """The role a column should have, and why, in plain words. `hipaa` is the item's letter, or empty."""

    role: Role
    reason: str
    hipaa: str = ""


@dataclass(frozen=True)
class Sign:
    """How one sort of attribute is recognised.

    `name` lists, parted by blanks, patterns of whole words in the column's name: lower case, without accents,
    `patZip5` read as `pat zip 5`; in a pattern `-` is a blank and `_` an optional one. `shape` and `fits` are
    patterns of whole values. Values of the `shape` that pass the `check` give the attribute away whatever the
    column is called; where the name speaks, values need only `fits`.
    """

    what: str
    role: Role
    hipaa: str = ""
    name: str = ""
    shape: str = ""
    check: Callable[[str], bool] | None = None
    fits: str = ""
    share: float = 0.8  # of the values must match
    hint: bool = False  # the shape is common: it counts only where no other sign speaks, and only in text


# Check digits ---------------------------------------------------------------------------------------------


def _digits(value: str) -> list[int]:
    return [int(c) for c in value if c.isdigit()]


def _enough_digits(value: str) -> bool:
    """Phone numbers have 9 to 15 digits with the area code (ITU E.164), dates at most 8."""
    return 9 <= len(_digits(value)) <= 15


def _ssn(value: str) -> bool:
    """The Social Security Administration never issued areas 000, 666 and 900-999, group 00, serial 0000."""
    area, group, serial = value.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _luhn(value: str) -> bool:
    """ISO/IEC 7812: every second digit from the right doubled, digits summed, divisible by 10."""
    digits = _digits(value)[::-1]
    return (sum(digits[::2]) + sum(sum(divmod(2 * d, 10)) for d in digits[1::2])) % 10 == 0


def _iban(value: str) -> bool:
    """ISO 13616: country and check digits moved to the end, letters as 10 to 35, remainder 1 by 97."""
    text = value.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def _nhs(value: str) -> bool:
    """Britain's NHS number: nine digits weighted 10 to 2, the tenth is 11 less the remainder by 11."""
    *digits, last = _digits(value)
    return (-sum(w * d for w, d in zip(range(10, 1, -1), digits, strict=True))) % 11 == last


def _dea(value: str) -> bool:
    """American prescriber's number: digits 1, 3, 5 and twice 2, 4, 6 sum to a number ending in digit 7."""
    digits = _digits(value)
    return (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def _vin(value: str) -> bool:
    """ISO 3779, North America: the ninth character is the weighted sum's remainder by 11 (X is 10)."""
    worth = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(w * worth.get(c, 0 if c.isalpha() else int(c, 36)) for w, c in zip(weights, value, strict=True))
    return value[8] == "0123456789X"[total % 11]


def _nir(value: str) -> bool:
    """France's social security number: 13 digits and a key of 97 less their remainder by 97."""
    digits = "".join(map(str, _digits(value)))
    return int(digits[13:]) == 97 - int(digits[:13]) % 97


def _dni(value: str) -> bool:
    """Spain's identity number: the remainder by 23 chooses the letter; a leading X, Y, Z is 0, 1, 2."""
    number = value[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == value[-1]


def _ip(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


_GIVEN = """
    aaron abigail adam ahmed aisha alan albert alejandro alex alexander alexandra alice amanda amy ana
    andrea andreas andrew angela ann anna anne anthony antonio arthur ashley barbara benjamin bernd betty
    brandon brian bruce camille carl carlos carmen carol carolyn catherine charles cheryl christian
    christina christine christopher claire claudia cynthia daniel david deborah dennis diane diego dieter
    donald donna dorothy douglas edward elena elizabeth emily emma eric ethan eugene eva evelyn fatima felix
    fernando francisco francois frank frances franz gary george gerald gloria grace gregory hannah hans
    harold heather heinz helen helga henry ines ingrid isabel isabelle jack jacob jacqueline james jan jane
    janet janice jason javier jean jeffrey jennifer jeremy jerry jessica joan joe johannes john jonathan
    jorge jose joseph joshua joyce juan juana judith judy julia julie justin jurgen karen karin karl
    katherine kathleen keith kelly kenneth kevin klaus larry laura lauren lawrence lena leon leonie linda
    lisa logan louis lucas lucia luis lukas madison manfred manuel margaret maria marie marilyn mark markus
    martha martin mary matthew maximilian megan mehmet melissa mia michael michel michelle miguel mohamed
    mohammed monika nancy natalie nathalie nathan nicholas nicole noah nora olivia pablo pamela patricia
    patrick paul paula peggy peter petra philip philippe pierre rachel ralph ramon raymond rebecca renate
    richard robert roger ronald rosa roy russell ruth ryan sabine samantha samuel sandra sara sarah scott
    sean sergio sharon shirley sofia sophia sophie stefan stephanie stephen steven susan susanne teresa
    terry theresa thomas timothy tyler ursula ute vincent virginia walter wayne werner william wolfgang
    zachary
"""
GIVEN_NAMES = frozenset(_GIVEN.split())


def _given_name(value: str) -> bool:
    return any(word in GIVEN_NAMES for word in spelled(value).split())


# The signs ------------------------------------------------------------------------------------------------

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
)
_STREET = (
    r"(?i)\d+[a-z]?,? [\p{L}\d.' ]+ (street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court)\b.*"
    r"|\p{L}[\p{L}. -]*(stra(ss|ß)e|str\.|weg|gasse|platz) \d+ ?[a-z]?"
    r"|\d+,? (rue|avenue|boulevard) .*|(calle|avenida) .*\d.*"
)
_CARD = r"(4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|3[0478]\d{2}|6\d{3})([ -]?\d){9,15}"
_MBI = "[AC-HJKMNP-RT-Y]"  # the letters of Medicare's beneficiary numbers
_DIGITS = r".*\d.*"  # a number with a name: `phone type` with "home" and "work" is none
_LETTERS = r".*\p{L}.*"
_PHONE_DIGITS = r"\D*(\d\D{0,3}){6,15}"

_PERSON = "(patient|pat|customer|cust|client|person|member|subject|user|employee|emp|student|participant)"
_RELATED = "(doctor|physician|nurse|mother|father|spouse|contact|holder)"
_NUMBER = "(ids?|numbers?|num|nr|no|nbr|keys?|codes?|uuid|guid)"

_ID, _QI, _CONFIDENTIAL = Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL

SIGNS = (
    # HIPAA's items A to R. Areas and dates can be coarsened, so they are quasi-identifiers.
    Sign(
        "personal names", _ID, "A",
        name=rf"""^names?(-\d+)?$ (first|last|middle|given|family|full|maiden|birth)_names?
            {_PERSON}(-s)?_names? {_RELATED}(-s)?_names? (sur|fore|nick|user|f|l|p)names?
            (nach|vor|familien)name nom(-de-famille)? prenom nombres? apellidos? cognome initials
            next-of-kin""",
        shape=r"\p{Lu}[\p{L}'’.-]*(,? \p{L}[\p{L}'’.-]*){0,4}", check=_given_name,
        fits=r"\p{L}[\p{L}'’., -]*", share=0.3,
    ),
    Sign(
        "street addresses", _ID, "B",
        name="""((street|home|mailing|postal|residence)-)?addr(ess)?(-line)?(-\\d)? street(-name)? strasse
            anschrift adresse direccion domicilio calle rue""",
        shape=_STREET, fits=_LETTERS,
    ),
    Sign(
        "codes of small areas", _QI, "B",
        name=r"\w*zip(_code)?(-\d)? post(al)?_codes? plz postleitzahl code-postal codigo-postal cp pin_code",
        shape=_POSTCODE, fits=r"[\dA-Za-z*. -]{2,10}",
    ),
    Sign("codes of small areas, perhaps ZIP codes", _QI, "B", shape=r"\d{5}", hint=True),
    Sign(
        "areas smaller than a state", _QI, "B",
        name=r"""city town village municipality \w*(county|cnty) parish district (census-)?tract census-block
            fips neighbou?rhood ort wohnort stadt gemeinde landkreis ville commune departement ciudad
            municipio provincia""",
    ),
    Sign(
        "places on the map", _QI, "B",
        name="lat latitude lon lng longitude gps coordinates? geohash geo_location",
        shape=r"\(?-?\d{1,3}\.\d{3,}[,; ]+-?\d{1,3}\.\d{3,}\)?",
    ),
    Sign(
        "full dates", _QI, "C",
        name=r"""date(-(of|de)-\w+)? datum fecha(-de-\w+)? day time_stamp dob dod birth birthday born
            geburtsdatum geburtstag naissance nacimiento death died deces admission admitted discharged?""",
        shape=_DATE, fits=r"\d{1,2}[-/.]\d{1,2}[-/.]?|\d{1,2}[-/.]\d{4}|\d{4}[-/.]\d{1,2}",
    ),
    Sign(
        "age, some over 89", _QI, "C",
        name="i?age(-(yrs?|years?|in-years))? alter edad years-old",
        fits=r"(9\d|1[0-2]\d)([.,]\d+)?\+?", share=1e-9,  # one is enough
    ),
    # stands before phone numbers, which look alike but for the check digit
    Sign("medical record numbers (NHS)", _ID, "H", shape=r"\d{3}[ -]\d{3}[ -]\d{4}", check=_nhs),
    Sign(
        "phone numbers", _ID, "D",
        name=rf"""(tele|cell|mobile|home|work|day)?_phones?(_{_NUMBER})? tel telefon(nummer)? telefono handy
            mobile movil msisdn contact-number""",
        shape=_PHONE, check=_enough_digits, fits=_PHONE_DIGITS,
    ),
    Sign(
        "fax numbers", _ID, "E",
        name=rf"(tele)?fax(_{_NUMBER})? telecopie(ur)? (tele)?faxnummer",
        shape=_PHONE, check=_enough_digits, fits=_PHONE_DIGITS,
    ),
    Sign(
        "e-mail addresses", _ID, "F",
        name="e_mails?(_addr(ess)?)? mail correo(-electronico)? courriel",
        shape=r"[^\s@,;]+@[^\s@,;]+\.[\p{L}]{2,}", fits=r"\S{5,}",
    ),
    Sign(
        "social security numbers", _ID, "G",
        name=rf"""ssn ss_n(o|um|umber) social_security(_{_NUMBER})? soc_sec(_{_NUMBER})? itin nir insee nino
            svnr sozialversicherungsnummer seguridad-social securite-sociale""",
        shape=r"\d{3}-\d{2}-\d{4}", check=_ssn, fits=_DIGITS,
    ),
    Sign(
        "medical record numbers", _ID, "H",
        name=rf"""mrn medical_record(_{_NUMBER})? med_rec(_{_NUMBER})? nhs(_{_NUMBER})? fallnummer
            (chart|encounter|case|record)_{_NUMBER} (visit|admission)_id patientennummer ipp
            historia-clinica""",
        shape=r"(?i)(mrn|mr|med|chart)[-#: ]{0,2}\d{4,12}", fits=_DIGITS,
    ),
    Sign(
        "health plan numbers", _ID, "I",
        name=rf"""(medicare|medicaid|beneficiary|subscriber|policy|insurance|insured|health_plan|plan|member)_{_NUMBER}
            mbi hicn? beneficiary versichertennummer (kranken)?versicherungsnummer""",
        shape=rf"[1-9]{_MBI}(\d|{_MBI})\d-?{_MBI}(\d|{_MBI})\d-?{_MBI}{{2}}\d{{2}}", fits=_DIGITS,
    ),
    Sign(
        "bank account numbers", _ID, "J",
        name=rf"iban(_{_NUMBER})?",
        shape=r"[A-Z]{2}\d{2}( ?[A-Z\d]{4}){2,7}( ?[A-Z\d]{1,3})?", check=_iban, fits=_DIGITS,
    ),
    Sign(
        "payment card numbers", _ID, "J",
        name=rf"""(credit|debit|payment|bank)_card(_{_NUMBER})? card_{_NUMBER} cc_{_NUMBER}
            kreditkarte(nnummer)? tarjeta""",
        shape=_CARD, check=_luhn, fits=r"([ -]?[\dxX*]){12,19}",
    ),
    Sign(
        "account numbers", _ID, "J",
        name=rf"(bank-)?(account|acct)(_{_NUMBER})? routing-number kontonummer konto cuenta compte",
        fits=_DIGITS,
    ),
    Sign(
        "certificate or licence numbers", _ID, "K",
        name=rf"""(licen[cs]e|certificate|certification|cert|permit|passport|registration)(_{_NUMBER})?
            dl_{_NUMBER} npi dea passeport pasaporte fuhrerschein(nummer)? reisepass(nummer)?""",
        shape=r"[ABCDEFGHJKLMPRSTUX][A-Z9]\d{7}", check=_dea, fits=_DIGITS,
    ),
    Sign(
        "certificate or licence numbers (driving)", _ID, "K",
        shape=r"[A-Z9]{5}\d[0156]\d[0-3]\d\d[A-Z9]{2}\d[A-Z]{2}",  # United Kingdom
    ),
    Sign(
        "vehicle numbers", _ID, "L",
        name=rf"""vin (vehicle|car)(_identification)?_{_NUMBER}
            (licen[cs]e|number|vehicle)?_plates?(_{_NUMBER})? kennzeichen immatriculation matricula""",
        shape=r"[A-HJ-NPR-Z\d]{8}[\dX][A-HJ-NPR-Z\d]{8}", check=_vin, fits=_DIGITS,
    ),
    Sign(
        "device numbers", _ID, "M",
        name=rf"""(device|serial|implant|pacemaker|equipment|android|advertising)(-serial)?_{_NUMBER} imei
            imsi meid udi idfa mac(_addr(ess)?)? seriennummer geratenummer numero-de-serie""",
        shape=r"(?i)([\da-f]{2}[:-]){5}[\da-f]{2}|([\da-f]{4}\.){2}[\da-f]{4}|\(01\)\d{14}.*", fits=_DIGITS,
    ),
    Sign("device numbers (IMEI)", _ID, "M", shape=r"(01|35|86|98|99)\d{13}", check=_luhn),
    Sign(
        "web addresses", _ID, "N",
        name="urls? uri web_(site|page|address|log) home_page link",
        shape=r"(?i)((https?|ftp)://|www\.)\S+", fits=r"\S*[./]\S*",
    ),
    Sign(
        "IP addresses", _ID, "O",
        name="ip(_addr(ess)?)? i_pv_[46](_addr(ess)?)? adresse-ip direccion-ip",
        shape=r"(\d{1,3}\.){3}\d{1,3}|[\da-fA-F.]*:[\da-fA-F.]*:[\da-fA-F:.]*", check=_ip,
        fits=r"[\da-fA-F:.*/xX]{3,}",
    ),
    Sign(
        "biometric identifiers", _ID, "P",
        name="""biometrics? finger_prints? voice_prints? iris(_(scan|code))? retina(_scan)? face_(id|print)
            palm_print dna(_profile)? genome fingerabdruck huella(-dactilar)? empreinte(-digitale)?""",
        shape=r"(?i).*(finger|thumb|palm|voice|iris|retina).*\.\w{2,5}|.*\.(wsq|fmr|fir|wav|mp3|flac|vcf|fastq|bam)",
    ),
    Sign(
        "photographs", _ID, "Q",
        name="""photos? photographs? pictures? portraits? selfie (face_)?images? avatar x_ray mugshot scan
            foto bild""",
        shape=r"(?i).*\.(jpe?g|png|gif|bmp|tiff?|heic|webp|dcm)|data:image/.*", fits=r".*[./\\].*",
    ),
    Sign(
        "other numbers of a person", _ID, "R",
        name=rf"""{_PERSON}(-s)?_{_NUMBER} ^{_PERSON}$
            ^(id|key|uid|uuid|guid|pid|index|row|record|nr|no|number)$
            (row|national|personal|identity|tax|voter|household|family|study|screening|loyalty)_{_NUMBER}
            tin nin bsn ahv dni nie steuer_id personalnummer kundennummer login user cookie(-id)?
            session(-id)? barcode""",
        shape=r"(?i)\{?[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}\}?",  # UUID
        fits=r".*\d.*|.{6,}",
    ),
    Sign("national numbers (France)", _ID, "R", shape=r"[12] ?\d{2} ?\d{2}( ?\d){10}", check=_nir),
    Sign("national numbers (Spain)", _ID, "R", shape=r"[XYZ\d]\d{7}[A-Z]", check=_dni),
    Sign(
        "national numbers (United Kingdom)", _ID, "R",
        shape=r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]",
    ),
    Sign(
        "free text, which may hold names", _ID,
        name="""notes? comments? remarks? narrative free_text memo bemerkung(en)? kommentar observaciones
            remarques?""",
        fits=r"(?s).{40,}", share=0.3,
    ),
    Sign("free text, which may hold names", _ID, shape=r"(?s).{100,}|(\S+\s+){9,}.*", share=0.3, hint=True),
    # What others may know of a person.
    Sign("age", _QI, name="i?age alter edad years-old altersgruppe"),
    Sign("sex or gender", _QI, name="i?sex gender geschlecht sexe sexo genre genero sesso"),
    Sign(
        "race or ethnic group", _QI,
        name="i?race ethnic(ity)? ethncty i?hispanic latino ancestry tribe raza etnia skin-colou?r",
    ),
    Sign(
        "origin or language", _QI,
        name=r"""nationality citizen(ship)? country(-of-\w+)? immigra\w+ place-of-birth birth_place language
            tongue nationalitat staatsangehorigkeit nationalite nacionalidad geburtsort lieu-de-naissance
            land pays pais sprache langue idioma""",
    ),
    Sign(
        "family", _QI,
        name="""marital(-status)? married relationship (household|family|hh)(-(size|type|status))? children
            dependents widowed tenure housing familienstand kinder etat-civil enfants estado-civil hijos""",
    ),
    Sign(
        "schooling", _QI,
        name="""education educ degree school(ing)? qualification literacy university college bildung abschluss
            schule diplome ecole etudes educacion estudios escuela""",
    ),
    Sign(
        "work", _QI,
        name="""occupation job profession employ(er|ment|ed) industry work_class department military veteran
            beruf arbeitgeber emploi metier employeur ocupacion profesion empleo""",
    ),
    Sign(
        "region", _QI,
        name="""region i?state(_(code|num))? province territory location residence urban rural area bundesland
            kreis estado""",
    ),
    Sign(
        "place of care or service", _QI,
        name="""hospital(-(id|name))? hosp facility clinic provider oshpd(-id)? ward practice branch store
            site (n-)?beds physician doctor surgeon krankenhaus klinik hopital arzt medecin medico""",
    ),
    Sign(
        "time or circumstance of an event", _QI,
        name="""years? yr months? mon quarter qtr weeks? weekday day-of-week hour time season los
            length-of-stay (care|hospital)-days same-day newborn adm(ission)?-(type|origin|source)
            birth-(year|order|weight) jahr jahrgang geburtsjahr yob monat liegezeit annee mois ano mes""",
    ),
    Sign(
        "looks of the body", _QI,
        name="""(body-)?height body-weight ^weight$ weight-(kg|lbs?) bmi (eye|hair)-colou?r grosse gewicht
            taille poids altura peso""",
    ),
    # What must not be learnt of a person.
    Sign(
        "diagnoses or diseases", _CONFIDENTIAL,
        name="""diagnos[ei]s diag(-p)? dx icd diseases? disorder condition illness i?injury cancer hiv aids
            diabetes symptoms? comorbidit(y|ies) allerg(y|ies) disability pregnan(t|cy) smok(er|ing)
            alcohol depression complaint cause-of-death drg mdc severity diagnose krankheit maladie
            enfermedad diagnostico?""",
        shape=r"[A-TV-Z]\d[\dA-Z]\.[\dA-Z]{1,4}",  # ICD-10 with its point
    ),
    Sign(
        "treatments", _CONFIDENTIAL,
        name=r"""procedures? proc px pc-\d+ cpt hcpcs surgery operation treatment therapy medications?
            medicines? drugs? prescription ndc dose dosage vaccin\w* medikament behandlung traitement
            medicament tratamiento medicamento""",
    ),
    Sign(
        "results or outcomes", _CONFIDENTIAL,
        name="""results? outcomes? scores? grades? rating lab test findings? glucose cholesterol
            blood-pressure hba_1_c (dc|discharge|vital|survival)-status disposition died dead deceased
            mortality survived relapse genotype mutation ergebnis resultat resultado""",
    ),
    Sign(
        "money", _CONFIDENTIAL,
        name="""charges? costs? income salary wages? earnings pay payments? paid prices? amounts? amt balance
            debt loan credit mortgage rent tax(es)? wealth assets? savings capital pension benefits? bonus
            expenses? spending revenue profit donations? premium einkommen gehalt lohn kosten steuer
            vermogen revenu salaire cout impot prix ingresos? salario sueldo coste? costo precio""",
    ),
    Sign(
        "insurance", _CONFIDENTIAL,
        name="""pay[eo]r insurance insurer coverage medicaid medicare welfare versicherung krankenkasse
            assurance mutuelle seguro""",
    ),
    Sign(
        "beliefs, orientation or convictions", _CONFIDENTIAL,
        name="""religion religious faith denomination church political party vote[ds]? union
            sexual-orientation criminal convict(ed|ions?) offen[cs]es? arrests? crimes? konfession partei
            croyance partido delito""",
    ),
)  # fmt: skip

# A column named for a property of an identifier, such as `phone type` or `email verified`, is not it.
_ABOUT = re.compile(
    r"\b(types?|kind|class|category|status|flag|counts?|balance|provided|known|verified|valid|consent|opt|preferred"
    r"|available|has|is|days|age|score|length|issued|changed|level)\b"
)
_YES_NO = {"y", "n", "yes", "no", "true", "false", "t", "f", "0", "1", "j", "ja", "nein", "oui", "non", "si"}
_NAME_AND_VALUES, _VALUES, _NAME, _HINT, _SILENT = 4, 3, 2, 1, 0
_EVIDENCE = {
    _NAME_AND_VALUES: "by name and values",
    _VALUES: "by values",
    _NAME: "by name",
    _HINT: "by values",
}


# Reading the signs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    words: str  # of its name
    texts: pl.Series  # its sampled values as text
    is_text: bool
    yes_no: bool


def suggest_role(values: pl.Series, *, present: int, distinct: int, uniques: int) -> Suggestion:
    """The role that a column's name and (a sample of) its distinct values suggest; where no sign speaks, what
    its counts suggest: records with a value `present`, `distinct` values with missing as one of them, and
    `uniques`, the records alone with their value.
    """
    suggestion = _by_signs(_column(values)) or _by_counts(values, present, uniques)
    if distinct <= 1 and suggestion.role is Role.QUASI_IDENTIFIER:
        return Suggestion(Role.INSENSITIVE, "One value only: it tells nobody apart.")
    return suggestion


def spelled(name: str) -> str:
    """A name as plain lower-case words: `PatientZIP5` and `patient-zip 5` are both `patient zip 5`."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", plain)
    return re.sub(r"[\W_]+", " ", parts.casefold()).strip()


def _column(values: pl.Series) -> _Column:
    if values.dtype.is_float() and values.round().equals(values):
        values = values.cast(pl.Int64, strict=False)  # whole numbers that stand beside missing ones
    texts = values.cast(pl.String).str.strip_chars().str.slice(0, 300).drop_nulls()
    texts = texts.filter(texts != "")
    yes_no = set(texts.head(len(_YES_NO) + 1).str.to_lowercase()) <= _YES_NO
    is_text = isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum))
    return _Column(spelled(values.name), texts, is_text, yes_no)


def _by_signs(column: _Column) -> Suggestion | None:
    """The sign with the most evidence; among equals the one that explains the end of the name, where English
    keeps its head (a hospital charge is a charge), then most of the name, then the first in the table."""
    evidence = [_evidence(sign, column) for sign in SIGNS]
    strongest = max(evidence)
    if strongest[0] == _SILENT:
        return None
    sign = SIGNS[evidence.index(strongest)]
    item = f" (HIPAA item {sign.hipaa})" if sign.hipaa else ""
    reason = f"{sign.what[0].upper()}{sign.what[1:]}, {_EVIDENCE[strongest[0]]}{item}."
    return Suggestion(sign.role, reason, sign.hipaa)


def _evidence(sign: Sign, column: _Column) -> tuple[int, int, int]:
    """How strongly a sign speaks, where its words end in the column's name, and how long they are."""
    named = _named(sign, column)
    shaped = _most(column.texts, sign.shape, sign.share, sign.check)
    if sign.hint:
        return (_HINT if shaped and column.is_text else _SILENT, 0, 0)
    if shaped:
        return (_NAME_AND_VALUES, *named) if named else (_VALUES, 0, 0)
    if named and (not sign.fits or _most(column.texts, sign.fits, sign.share)):
        return (_NAME, *named)
    return (_SILENT, 0, 0)


def _named(sign: Sign, column: _Column) -> tuple[int, int] | None:
    if not sign.name or (sign.role is Role.IDENTIFIER and (column.yes_no or _ABOUT.search(column.words))):
        return None
    matches = _words_of(sign.name).finditer(column.words)
    return max(((m.end(), m.end() - m.start()) for m in matches), default=None)


@cache
def _words_of(names: str) -> re.Pattern[str]:
    either = "|".join(names.split()).replace("-", " ").replace("_", " ?")
    return re.compile(rf"\b(?:{either})\b")


def _most(texts: pl.Series, pattern: str, share: float, check: Callable[[str], bool] | None = None) -> bool:
    """Whether at least the share of the values match the pattern and pass the check."""
    if not pattern or texts.is_empty():
        return False
    least = max(1, share * len(texts))
    matching = texts.filter(texts.str.contains(f"^(?:{pattern})$"))
    if check is None or len(matching) < least:
        return len(matching) >= least
    return sum(map(check, matching)) >= least


def _by_counts(values: pl.Series, present: int, uniques: int) -> Suggestion:
    if present >= FEW_RECORDS and uniques >= ALMOST_ALL * present and _numbered(values, present):
        reason = "Each record has a value of its own, like a record number (HIPAA item R)."
        return Suggestion(Role.IDENTIFIER, reason, "R")
    if uniques:
        some = "Most" if 2 * uniques > present else "Some"
        return Suggestion(Role.QUASI_IDENTIFIER, f"{some} records have a value of their own: it singles them out.")
    return Suggestion(Role.QUASI_IDENTIFIER, "No sign of what it is: held to be known to others, to be safe.")


def _numbered(values: pl.Series, present: int) -> bool:
    """Texts, and whole numbers given out like keys: all of one length, or close to a run of numbers."""
    if not values.dtype.is_integer():
        return isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum))
    lengths = values.cast(pl.String).str.len_chars()
    width = int(values.max()) - int(values.min())  # type: ignore[arg-type]
    return lengths.n_unique() == 1 or width < 2 * present
