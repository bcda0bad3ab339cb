"""A release: a draft that was judged, by what it shows, and keeps its promises; how one is made, and written.

Read, de-identify, mask (`shoal.draft`), judge, write; or refuse. A release is handed out only after an independent
check of the finished output. Written to a file, the check is made again on what stands there, and only then does the
file get its name (`shoal.data.commit`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.clean_copy import made_anew
from shoal.data.commit import Output, commit, papers
from shoal.data.digests import digest
from shoal.data.frames import Frame
from shoal.data.microdata import Microdata
from shoal.data.people import below_k
from shoal.data.schema import Schema
from shoal.draft import Draft
from shoal.engines.memory import MemoryTable
from shoal.errors import InputError
from shoal.masking.collapse import few_classes
from shoal.masking.method import Masked, class_size
from shoal.policy import Policy
from shoal.privacy.check import judge, labelled, refuse_broken, released_classes, released_sheets
from shoal.privacy.consistency import refuse_inconsistent
from shoal.privacy.histories import notes_together, shown_together
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Source, Verdict
from shoal.pseudonymize import pseudonyms_by_key, puts_together
from shoal.report.labels import Labels, labels_note, listed_labels
from shoal.risk.owners import Owners, facts_of, owners_shown
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.show.charts import both
from shoal.utility.losses import Losses

if TYPE_CHECKING:
    from shoal.data.dialects import Dialect
    from shoal.releases.ledger import Ledger
    from shoal.releases.published import Published
    from shoal.releases.store import Promised
    from shoal.report.reported import Tables
    from shoal.risk.measure import Risk


@dataclass(frozen=True)
class Release(Losses, Result, Generic[Frame]):
    """A masked table that keeps its promises, and how it was made. Only its table is for the public."""

    draft: Draft[Frame]
    verdicts: tuple[Verdict, ...]
    sizes: npt.NDArray[np.int64] = field(repr=False)  # of the classes, as found again in what is released
    notes: tuple[str, ...]  # the draft's, and what was noticed when it was judged
    histories: Mapping[str, int] = field(default_factory=dict)  # column -> who show what fewest do (`shown_together`)
    owners: tuple[Owners, ...] = ()  # the people, or households, whose records they are, where these are counted
    labels: Labels = field(default_factory=dict, repr=False)  # shown, that name only some of their values

    @property
    def schema(self) -> Schema:
        """The attributes of the release, with their roles and kinds."""
        return self.draft.schema

    @property
    def policy(self) -> Policy:
        """All choices that it was made by."""
        return self.draft.policy

    @property
    def promises(self) -> tuple[PrivacyModel, ...]:
        """The models that it keeps."""
        return self.draft.promises

    @property
    def original(self) -> Microdata:
        """The table it was made of."""
        return self.draft.original

    @property
    def masked(self) -> Masked:
        """What the method made of the quasi-identifiers, and of which records."""
        return self.draft.masked

    @cached_property
    def table(self) -> pl.DataFrame:
        """What is released, in the order of the input and in memory of its own: nothing else is in its buffers."""
        return made_anew(self.draft.plain(self.draft.table))

    @cached_property
    def frame(self) -> Frame:
        """The released columns as the kind of frame that came in, in the same order; without index and notes."""
        return self.draft.restore(self.table)

    @property
    def records(self) -> int:
        """How many records it shows."""
        return self.draft.table.height

    @property
    def read(self) -> int:
        """How many records the original has."""
        return len(self.original)

    @property
    def drawn(self) -> None:
        """Of all records it is known what became of them: none had to be drawn."""

    def tables(self) -> Tables:
        """All records before and after, to be counted."""
        from shoal.report.reported import Tables

        return Tables(MemoryTable(self.original.frame), MemoryTable(self.table))

    @property
    def suppressed(self) -> int:
        """How many records of the original it leaves out."""
        return len(self.original) - self.records

    @property
    def certificate(self) -> dict[str, Any]:
        """What the public may know: nothing that the release does not show by itself."""
        from shoal.report.certificate import certify
        from shoal.report.shown import Shown

        shown = Shown.of(self.table, self.sizes, self.histories)
        return certify(shown, self.schema, self.promises, self.verdicts, self.policy, labels=self.labels)

    def to_dict(self) -> dict[str, Any]:
        """What is known of the release, ready for JSON: for the custodian."""
        return {
            "records": self.records,
            "suppressed": self.suppressed,
            "classes": len(self.sizes),
            "smallest_class": int(self.sizes.min()),
            "models": [verdict.to_dict() for verdict in self.verdicts],
            "information_loss": self.information_loss,
            "separation_loss": self.separation_loss,
            **self.masked.facts,
            **facts_of(self.owners),
            **({"labels": self.labels} if self.labels else {}),
            "notes": list(self.notes),
        }

    def remarks(self) -> tuple[str, ...]:
        """The notes."""
        return self.notes

    def sheets(self, title: str = "Released") -> list[Sheet]:
        """As tables: what was released, and how it was judged."""
        from shoal.report.words import in_words

        elsewhere = ("levels", "rows_withheld", *facts_of(self.owners))
        facts = ((name, fact) for name, fact in self.masked.facts.items() if name not in elsewhere)
        more = [(name.replace("_", " "), str(fact)) for name, fact in facts]
        owners = [row for each in self.owners for row in each.rows()]
        legend = in_words(self.promises, self.table.columns, self.policy) if self.owners else ()
        verdicts = labelled(self.verdicts, self.policy.label)
        return released_sheets(title, self.to_dict(), more, verdicts, owners=owners, legend=legend)

    def charts(self) -> list[Chart]:
        """How large the classes are before and after, and what each attribute lost."""
        from shoal.risk.classes import by_class_size
        from shoal.risk.disclosure import expose

        original = expose(self.original.frame, self.schema.quasi_identifiers)
        labels, (after, before) = by_class_size(self.sizes, original.sizes)
        losses = self.attribute_losses
        worst = sorted(losses, key=lambda name: -losses[name])
        lost = Series("loss", [losses[name] for name in worst])
        return [
            Bars("Records by the size of their class", labels, both(before, after)),
            Bars("Loss by attribute, in standard deviations", [*map(self.policy.label, worst)], (lost,), "number"),
        ]

    def write(
        self,
        path: str | Path,
        *,
        keep_order: bool = False,
        certificate: str | Path | None = None,
        report: str | Path | None = None,
        seed: int | None = None,
        ledger: Ledger | None = None,
        disarm: bool = False,
        overwrite: bool = False,
    ) -> Release:
        """Writes the release, and what goes with it, once every promise holds of the written file: see `write`."""
        return write(
            self.draft, path, keep_order=keep_order, certificate=certificate, report=report, seed=seed, ledger=ledger,
            disarm=disarm, overwrite=overwrite,
        )  # fmt: skip

    def report(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the custodian's report, one self-contained page."""
        from shoal.report.page import write_report

        write_report(self, path, overwrite=overwrite)

    def risk(self, *, when: Sequence[str] = ()) -> Risk:
        """What an intruder could still do; `when` are conditions on confidential attributes."""
        from shoal.risk.measure import assess_risk

        return assess_risk(self.table, self.schema, when=when, groups=self.policy.groups)


def judged(draft: Draft[Frame]) -> Release[Frame]:
    """The draft as a release, if every promise holds of what it shows."""
    draft.judge_replaced(draft.table, draft.masked.kept)
    return _released(draft, released_classes(draft.table, draft.schema, Source(draft.original, draft.masked.kept)))


@events.apart
def _released(draft: Draft[Frame], classes: EquivalenceClasses, *, certified: bool = False) -> Release[Frame]:
    verdicts = judge(classes, draft.promises)
    refuse_broken(verdicts)
    if draft.policy.consistent:
        refuse_inconsistent(draft.policy.rules, {"": draft.policy.owned(classes.frame)}, released=True)
    remarks = (verdict.note for verdict in verdicts if verdict.note)
    few = few_classes(len(classes.sizes), int(classes.sizes.max(initial=0)), draft.original, draft.promises)
    histories = shown_together(classes, puts_together(draft.policy, draft.table.columns))
    rows = None if classes.source is None else classes.source.rows
    home, key, k = draft.policy.household_column, classes.key.to_numpy(), class_size(draft.original, draft.promises)
    owners = owners_shown(draft.original, home, key, rows, draft.table.columns)
    below = below_k(draft.repeating, draft.original.frame, rows, classes.members, k)
    notes = (*draft.notes, *remarks, *few, *below, *notes_together(histories, k))
    labels = listed_labels(
        MemoryTable(classes.frame.lazy().select(classes.quasi).collect()),
        MemoryTable(draft.original.frame),
        draft.original.schema,
        k,
    )
    notes += labels_note(labels, certified=certified)
    return Release(draft, verdicts, classes.sizes, notes, histories, owners, labels)


def write(
    draft: Draft,
    path: str | Path,
    *,
    keep_order: bool = False,
    certificate: str | Path | None = None,
    report: str | Path | None = None,
    seed: int | None = None,
    ledger: Ledger | None = None,
    disarm: bool = False,
    overwrite: bool = False,
) -> Release:
    """Writes the release, shuffled unless told otherwise, if every promise holds of the written file.

    Files that are there already are refused, or with `overwrite` replaced: the release, its certificate and its report
    together, or none. With a ledger it is recorded there, and refused where it would expose somebody beside earlier
    releases. With `disarm`, texts that a spreadsheet would take for formulas are written to a text file after an
    apostrophe.
    """
    from shoal.report.certificate import refuse_uncertified

    refuse_uncertified(path, [certificate], overwrite=overwrite)
    table = as_file(
        draft, path, keep_order=keep_order, certificate=certificate, report=report, seed=seed, ledger=ledger,
        disarm=disarm, overwrite=overwrite,
    )  # fmt: skip
    [judgement] = commit([table], overwrite=overwrite)
    return judgement.release


class Judgement(NamedTuple):
    """A release as the written file shows it, and the classes that were found there."""

    release: Release
    classes: EquivalenceClasses


@events.apart
def as_file(
    draft: Draft,
    path: str | Path,
    *,
    keep_order: bool,
    certificate: str | Path | None,
    seed: int | None,
    ledger: Ledger | None,
    overwrite: bool,
    report: str | Path | None = None,
    disarm: bool = False,
    epsilon: float | None = None,
    shown_too: Sequence[str] = (),
) -> Output[Path, Judgement]:
    """The draft as a file to be committed, perhaps one of several.

    For the ledger, `epsilon` is what it costs together with the files that go with it, where that is more, and
    `shown_too` are the columns that these show.
    """
    from shoal.data.csv_files import disarmed
    from shoal.data.files import write_table
    from shoal.data.paths import is_sql
    from shoal.data.released import read_own
    from shoal.releases.of_people import by_history

    _refuse_target(path, certificate=certificate is not None, ledger=ledger is not None, disarm=disarm)
    if ledger is not None:  # which tells values apart, not spellings: one that changed would be seen, and not judged
        ledger.refuse_person(draft.policy.person, draft.owner)
        draft = replace(draft, spelling=None)
    # Position alone can re-identify: records leave in random order.
    shuffled = np.random.default_rng(seed).permutation(np.arange(draft.table.height, dtype=np.uint32))
    table, rows, spelled, copied, forms, dialect = draft.in_file(path, None if keep_order else shuffled)

    def write_file(judged: Callable[[Path], Judgement]) -> None:
        output = disarmed(spelled) if disarm else spelled
        write_table(output, path, overwrite=overwrite, before_commit=judged, book=draft.labels(rows), dialect=dialect)

    def judge_file(written: Path) -> Judgement:
        values, texts = read_own(written, spelled, draft.schema.quasi_identifiers, copied, forms, dialect)
        draft.judge_replaced(values, rows)
        classes = released_classes(values, draft.schema, Source(draft.original, rows), written=texts)
        release = _released(draft, classes, certified=certificate is not None)
        return Judgement(release if ledger is None else _beside_earlier(release, ledger), classes)

    def record(written: Path, judgement: Judgement) -> AbstractContextManager[None]:
        assert ledger is not None
        original, whole = draft.original.frame, draft.owner is not None
        shown = [name for name in dict.fromkeys((*draft.table.columns, *shown_too)) if name in original.columns]
        subjects = ledger.followed(draft.source, shown, several=whole)[rows]
        values = ledger.own(subjects, original.select(shown)[rows])
        release, what = _entry(judgement.release, subjects, values, judgement.classes, table, seed, epsilon)
        release = by_history(release) if whole else replace(release, of_people=ledger.person is not None)
        return ledger.entering(release, what, path, digest(written))

    def certify_file(partial: Path, written: Path, judgement: Judgement) -> None:
        partial.write_bytes(_certificate(judgement.release, table, written, dialect, keep_order=keep_order))

    with_it = papers((certificate, certify_file, False), (report, _report, True))
    target = None if is_sql(path) else Path(path)
    return Output(target, write_file, judge_file, with_it, record if ledger is not None else None)


def _beside_earlier(release: Release, ledger: Ledger) -> Release:
    """The release with what the ledger notices about it."""
    draft = release.draft
    strangers = ledger.strangers(draft.source, several=draft.owner is not None)
    noticed = (*strangers, *ledger.joined_by(pseudonyms_by_key(draft.policy)))
    return replace(release, notes=tuple(dict.fromkeys((*release.notes, *noticed))))


def _refuse_target(path: str | Path, *, certificate: bool, ledger: bool, disarm: bool) -> None:
    from shoal.data.files import is_delimited
    from shoal.data.paths import is_sql

    if disarm and (is_sql(path) or not is_delimited(Path(path))):
        raise InputError("Formulas are disarmed in text files, elsewhere they are texts: write .csv, or leave it out.")
    if certificate and is_sql(path):
        raise InputError("A certificate names a file by its digest: write the release to a file, or do without.")
    if ledger and is_sql(path):
        raise InputError("A ledger knows a release by its file's digest: write the release to a file.")


def _certificate(release: Release, table: pl.DataFrame, written: Path, dialect: Dialect, *, keep_order: bool) -> bytes:
    """The certificate of a written file, as JSON."""
    from shoal.report.certificate import certify
    from shoal.report.shown import Shown

    shown = Shown.of(table, release.sizes, release.histories)
    content = certify(
        shown, release.schema, release.promises, release.verdicts, release.policy, dialect, release.labels
    )
    content["record_order"] = "as in the source" if keep_order else "shuffled"
    content["sha256"] = digest(written)
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _report(partial: Path, _: Path, judgement: Judgement) -> None:
    judgement.release.report(partial, overwrite=True)


def _entry(
    release: Release, subjects: pl.Series, values: pl.DataFrame, classes: EquivalenceClasses, table: pl.DataFrame,
    seed: int | None, epsilon: float | None,
) -> tuple[Published, Promised]:  # fmt: skip
    """What a ledger records of the table: whom each record is about, and what stands for these people's own values."""
    from shoal.releases.published import from_classes
    from shoal.releases.store import Promised

    promises = tuple(verdict.to_dict() for verdict in release.verdicts)
    if epsilon is None:
        epsilon = sum(mean.epsilon for mean in release.policy.private_means().values())
    k, keys = class_size(release.original, release.promises), pseudonyms_by_key(release.policy)
    promised = Promised(k, promises, seed, epsilon, keys)
    return replace(from_classes("The release", subjects, classes, table), values=values), promised
