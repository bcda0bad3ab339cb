"""What the making worker does: a result to look at, a release, the demo's table. It may be killed any time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.web.tasks.look import policy_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.policy import Policy
    from shoal.release import Release

WORK = Path("work")
DEMO, ROWS, SEED = "discharges.csv", 50_000, 7
ROW, SIZE = "@row", "@size"


def demo() -> dict[str, Any]:
    """Writes the demo's table into the folder, unless it is there."""
    from shoal.data.discharges import Discharges
    from shoal.jobs.sample import Sample

    if not Path(DEMO).exists():
        events.stage("generating discharges")
        Sample(Discharges(rows=ROWS), DEMO, SEED).run()
    return {"source": DEMO}


def result(text: str, source: str, stamp: str, seed: int) -> dict[str, Any]:
    """Masks the table and judges what that shows; the records are kept in `work`, to be looked at."""
    from shoal.data.digests import digest_of_list
    from shoal.jobs.anonymize import Anonymize

    key = digest_of_list({"policy": text, "source": source, "stamp": stamp})[:16]
    kept = WORK / f"result-{key}.json"
    if kept.exists() and kept.with_suffix(".arrow").exists():
        finished: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return finished
    policy = policy_of(text)
    release = Anonymize(source, policy, policy.project.release, seed=seed).look()
    events.stage("measuring")
    table = with_sizes(release)
    events.check()
    answer = {"key": key, **seen(release, policy, table)}
    table.write_ipc(WORK / f"result-{key}.arrow")
    kept.write_text(json.dumps(answer, default=lambda value: value.item()), encoding="utf-8")
    return answer


def with_sizes(release: Release) -> pl.DataFrame:
    """What is shown, as text, with the number of the record and with how many show the same."""
    import polars as pl

    table, kept = release.table, release.masked.kept
    rows = pl.Series(ROW, range(table.height) if kept is None else kept, dtype=pl.UInt32)
    quasi = [name for name in release.schema.quasi_identifiers if name in table.columns]
    alike = pl.len().over(quasi) if quasi else pl.lit(table.height)
    texts = table.select(pl.all().cast(pl.String), alike.cast(pl.UInt32).alias(SIZE))
    return texts.with_columns(rows)


def seen(release: Release, policy: Policy, table: pl.DataFrame) -> dict[str, Any]:
    """What the screen shows of a result."""
    from shoal.report import words
    from shoal.risk.disclosure import expose

    quasi = list(release.schema.quasi_identifiers)
    before = expose(release.original.frame, quasi).sizes
    verdicts = [
        {**verdict.to_dict(), "asked_in_words": model.asked_in_words, "in_words": model.in_words}
        for model, verdict in zip(release.promises, release.verdicts, strict=True)
    ]
    return {
        "records": release.records,
        "suppressed": release.suppressed,
        "read": release.read,
        "verdicts": verdicts,
        "holds": all(verdict.holds for verdict in release.verdicts),
        "loss": float(release.information_loss),
        "losses": {name: float(loss) for name, loss in release.attribute_losses.items()},
        "groups": len(release.sizes),
        "before": _risk(before),
        "after": _risk(release.sizes),
        "quasi": quasi,
        "columns": release.table.columns,
        "shared": _shared(table, quasi, release.schema.confidential),
        "limits": [{"title": limit.title, "text": limit.text} for limit in words.limits(release, {})],
        "notes": list(release.notes),
        "method": policy.method.name,
    }


def _risk(sizes: Any) -> dict[str, float]:
    """Who stands alone, and how often a guess is right, by the sizes of groups that look alike."""
    records = int(sizes.sum())
    return {
        "unique": float((sizes == 1).sum()) / records,
        "highest": 1.0 / int(sizes.min()),
        "average": len(sizes) / records,
        "smallest": int(sizes.min()),
    }


def _shared(table: pl.DataFrame, quasi: list[str], confidential: Sequence[str]) -> dict[str, float]:
    """Of each confidential column, the share of records in a group where everybody has the same value."""
    import polars as pl

    names = [name for name in confidential if name in table.columns and name not in quasi]
    if not names or not quasi:
        return {}
    alike = table.select((pl.col(name).n_unique().over(quasi) == 1).mean() for name in names)
    return {name: float(alike[name][0]) for name in names}


def release(text: str, seed: int, number: int) -> dict[str, Any]:
    """Makes the release of the project as its policy stands, and checks what was written as anybody would."""
    from shoal.errors import InputError
    from shoal.jobs.run import Run
    from shoal.web.tasks.check import check

    if Path("shoal.toml").read_bytes().decode("utf-8-sig") != text:
        raise InputError("The policy was changed meanwhile: look at the result again before you release it.")
    ran = Run(Path(), seed=seed).run()
    project = policy_of(text).project
    events.stage("checking what was written")
    name, certificate = str(ran.folder / project.release), str(ran.folder / project.certificate)
    checked = check(name, certificate, "")
    return {
        "folder": str(ran.folder),
        "files": [each._asdict() for each in ran.files],
        "release": project.release,
        "certificate": project.certificate,
        "report": project.report,
        "checked": checked,
        "number": number,
    }
