"""Signs of what a column is: how people's identifiers and attributes are called and what they look like.

Rows carry the letter of the identifier in HIPAA's Safe Harbor list (45 CFR 164.514(b)(2)(i), items A to R) where they
belong to one. To recognise something new, add a row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from shoal.data.check_digits import dea, dni, enough_digits, iban, ip, luhn, nhs, nir, ssn, vin
from shoal.data.schema import Role


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
    Sign("medical record numbers (NHS)", _ID, "H", shape=r"\d{3}[ -]\d{3}[ -]\d{4}", check=nhs),
    Sign(
        "phone numbers", _ID, "D",
        name=rf"""(tele|cell|mobile|home|work|day)?_phones?(_{_NUMBER})? tel telefon(nummer)? telefono handy
            mobile movil msisdn contact-number""",
        shape=_PHONE, check=enough_digits, fits=_PHONE_DIGITS,
    ),
    Sign(
        "fax numbers", _ID, "E",
        name=rf"(tele)?fax(_{_NUMBER})? telecopie(ur)? (tele)?faxnummer",
        shape=_PHONE, check=enough_digits, fits=_PHONE_DIGITS,
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
        shape=r"\d{3}-\d{2}-\d{4}", check=ssn, fits=_DIGITS,
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
        shape=r"[A-Z]{2}\d{2}( ?[A-Z\d]{4}){2,7}( ?[A-Z\d]{1,3})?", check=iban, fits=_DIGITS,
    ),
    Sign(
        "payment card numbers", _ID, "J",
        name=rf"""(credit|debit|payment|bank)_card(_{_NUMBER})? card_{_NUMBER} cc_{_NUMBER}
            kreditkarte(nnummer)? tarjeta""",
        shape=_CARD, check=luhn, fits=r"([ -]?[\dxX*]){12,19}",
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
        shape=r"[ABCDEFGHJKLMPRSTUX][A-Z9]\d{7}", check=dea, fits=_DIGITS,
    ),
    Sign(
        "certificate or licence numbers (driving)", _ID, "K",
        shape=r"[A-Z9]{5}\d[0156]\d[0-3]\d\d[A-Z9]{2}\d[A-Z]{2}",  # United Kingdom
    ),
    Sign(
        "vehicle numbers", _ID, "L",
        name=rf"""vin (vehicle|car)(_identification)?_{_NUMBER}
            (licen[cs]e|number|vehicle)?_plates?(_{_NUMBER})? kennzeichen immatriculation matricula""",
        shape=r"[A-HJ-NPR-Z\d]{8}[\dX][A-HJ-NPR-Z\d]{8}", check=vin, fits=_DIGITS,
    ),
    Sign(
        "device numbers", _ID, "M",
        name=rf"""(device|serial|implant|pacemaker|equipment|android|advertising)(-serial)?_{_NUMBER} imei
            imsi meid udi idfa mac(_addr(ess)?)? seriennummer geratenummer numero-de-serie""",
        shape=r"(?i)([\da-f]{2}[:-]){5}[\da-f]{2}|([\da-f]{4}\.){2}[\da-f]{4}|\(01\)\d{14}.*", fits=_DIGITS,
    ),
    Sign("device numbers (IMEI)", _ID, "M", shape=r"(01|35|86|98|99)\d{13}", check=luhn),
    Sign(
        "web addresses", _ID, "N",
        name="urls? uri web_(site|page|address|log) home_page link",
        shape=r"(?i)((https?|ftp)://|www\.)\S+", fits=r"\S*[./]\S*",
    ),
    Sign(
        "IP addresses", _ID, "O",
        name="ip(_addr(ess)?)? i_pv_[46](_addr(ess)?)? adresse-ip direccion-ip",
        shape=r"(\d{1,3}\.){3}\d{1,3}|[\da-fA-F.]*:[\da-fA-F.]*:[\da-fA-F:.]*", check=ip,
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
    Sign("national numbers (France)", _ID, "R", shape=r"[12] ?\d{2} ?\d{2}( ?\d){10}", check=nir),
    Sign("national numbers (Spain)", _ID, "R", shape=r"[XYZ\d]\d{7}[A-Z]", check=dni),
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


def spelled(name: str) -> str:
    """A name as plain lower-case words: `PatientZIP5` and `patient-zip 5` are both `patient zip 5`."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", plain)
    return re.sub(r"[\W_]+", " ", parts.casefold()).strip()
