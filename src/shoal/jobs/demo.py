"""Demo: the story of a release, from a table of synthetic discharges to its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.show.result import Result
from shoal.show.sheet import Sheet

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

# Codes are not numbers, though they are written in digits (shoal profile finds them).
[attributes]
oshpd_id.kind = "nominal"
sex.kind = "nominal"
ethncty.kind = "nominal"
race.kind = "nominal"
patcnty.kind = "nominal"
diag_p.kind = "nominal"

# ZIP codes are shown by their beginnings: 9210*, 921**.
[attributes.patzip]
kind = "nominal"
hierarchy = {type = "prefix"}

# Which table this is of, for shoal run and the app.
[project]
source = "discharges.csv"
title = "Synthetic hospital discharges"
"""


@dataclass(frozen=True, repr=False)
class Demonstrated(Result):
    """A first release, and what an intruder could do before and after it."""

    folder: Path
    release: Release
    before: Risk
    after: Risk

    def sheets(self) -> list[Sheet]:
        """Risk before and after, and where all was written."""
        folder = self.folder
        check = f"shoal check {folder / 'release.csv'} --certificate {folder / 'certificate.json'}"
        files = "discharges.csv, shoal.toml, release.csv, certificate.json, report.html"
        legend = (
            f"Written to {folder}: {files}.",
            f"Open {folder / 'report.html'} in a browser, or check what was released:",
            f"  {check}",
            "Go the way yourself, in the app:",
            f"  shoal ui {folder}",
        )
        title = f"{self.before.records:,} synthetic discharges"
        rows = _rows(self.release, self.before, self.after)
        return [Sheet(title, ("", "before", "after", "what it means"), rows, numbers=2, legend=legend)]

    def to_dict(self) -> dict[str, Any]:
        """Risk before and after, and the release, ready for JSON."""
        risks = {"before": self.before.to_dict(), "after": self.after.to_dict()}
        return {"folder": str(self.folder), **risks, "release": self.release.to_dict()}


@dataclass(frozen=True)
class Demo(Job[Demonstrated]):
    """Fills a folder with table, policy, release, report and certificate, replacing those that are there."""

    folder: Path
    rows: int = 50_000

    def work(self) -> Demonstrated:
        """Generates, anonymizes and measures; then all is written, the release and what goes with it first."""
        import tomllib

        from shoal.anonymize import anonymize
        from shoal.data.discharges import discharges
        from shoal.data.files import write_table
        from shoal.policy import Policy
        from shoal.risk.measure import assess_risk

        events.stage("generating discharges")
        table = events.apart(discharges)(self.rows, 7)
        events.stage("anonymizing")
        release = anonymize(table, Policy(**tomllib.loads(POLICY)).of_table("discharges.csv"), seed=7)
        events.stage("measuring risk before and after")
        before = assess_risk(table, release.schema, when=[LEARNT])
        after = release.risk(when=[LEARNT])
        events.check()
        _make_folder(self.folder)
        certificate, report = self.folder / "certificate.json", self.folder / "report.html"
        release.write(self.folder / "release.csv", certificate=certificate, report=report, seed=7, overwrite=True)
        write_table(table, self.folder / "discharges.csv", overwrite=True)
        (self.folder / "shoal.toml").write_text(POLICY, encoding="utf-8")
        return Demonstrated(self.folder, release, before, after)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(folder)!r} cannot be made: {error.strerror}. Name another.") from None


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
