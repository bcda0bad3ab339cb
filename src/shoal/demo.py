"""`shoal demo`: the story of a release, from a table of synthetic discharges to its certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.show import Sheet

if TYPE_CHECKING:
    from shoal.release import Release
    from shoal.risk.measure import Risk

LEARNT = "charge > 100000"

POLICY = """\
# What an intruder may know of a patient.
quasi_identifiers = [
  "oshpd_id", "age_yrs", "sex", "ethncty", "race", "patzip", "patcnty", "los", "adm_qtr",
]

# What must not be learnt.
confidential = ["charge", "diag_p"]

# Every released record shall look like at least four others.
[[models]]
name = "k-anonymity"
k = 5

# Risk is also measured for intruders who know only some of it.
[groups]
census = ["age_yrs", "sex", "ethncty", "race", "patzip", "patcnty"]
spatial = ["oshpd_id"]
temporal = ["los", "adm_qtr"]

# Numbers that are only names of categories.
[attributes]
sex.kind = "nominal"
ethncty.kind = "nominal"
race.kind = "nominal"
"""


def run(folder: Path, rows: int, progress: Callable[[str], None]) -> Sheet:
    """Fills the folder with table, policy, release, report and certificate, replacing them; gives what to show."""
    from shoal.anonymize import anonymize
    from shoal.data.discharges import discharges
    from shoal.data.files import write_table
    from shoal.policy import Policy
    from shoal.risk.measure import assess_risk

    progress("generating discharges")
    table = discharges(rows, seed=7)
    progress("writing table and policy")
    _make_folder(folder)
    write_table(table, folder / "discharges.csv", overwrite=True)
    (folder / "shoal.toml").write_text(POLICY, encoding="utf-8")
    policy = Policy.read(folder / "shoal.toml")
    progress("anonymizing")
    release = anonymize(table, policy, seed=7)
    progress("writing and judging the release")
    release.write(folder / "release.csv", certificate=folder / "certificate.json", seed=7, overwrite=True)
    progress("writing the report")
    release.report(folder / "report.html", overwrite=True)
    progress("measuring risk before and after")
    before = assess_risk(table, release.schema, when=[LEARNT])
    return _shown(folder, release, before, release.risk(when=[LEARNT]))


def _make_folder(folder: Path) -> None:
    from shoal.errors import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(folder)!r} cannot be made: {error.strerror}. Name another.") from None


def _shown(folder: Path, release: Release, before: Risk, after: Risk) -> Sheet:
    check = f"shoal check {folder / 'release.csv'} --certificate {folder / 'certificate.json'}"
    files = "discharges.csv, shoal.toml, release.csv, certificate.json, report.html"
    return Sheet(
        f"{before.records:,} synthetic discharges",
        ("", "before", "after", "what it means"),
        _rows(release, before, after),
        numbers=2,
        legend=(
            f"Written to {folder}: {files}.",
            f"Open {folder / 'report.html'} in a browser, or check what was released:",
            f"  {check}",
        ),
    )


def _rows(release: Release, before: Risk, after: Risk) -> list[tuple[str, str, str, str]]:
    (known,), (still_known,) = before.attribute_disclosure, after.attribute_disclosure
    return [
        ("unique records", f"{before.uniques:,}", f"{after.uniques:,}", "nobody looks like them"),
        (
            "highest risk",
            f"{before.classes.highest_risk:.1%}",
            f"{after.classes.highest_risk:.1%}",
            "a guess at the worst-off is right",
        ),
        (
            "average risk",
            f"{before.classes.average_risk:.1%}",
            f"{after.classes.average_risk:.1%}",
            "a random guess is right",
        ),
        (LEARNT, f"{known.risk:.1%}", f"{still_known.risk:.1%}", "known of whom it is true"),
        ("information loss", "0", f"{release.information_loss:.3f}", "in standard deviations"),
    ]
