"""The story of a release: read, de-identify, mask, judge, write; or refuse.

A release is handed out only after an independent check of the finished output; it is written to a temporary file, the
check is made again on what stands there, and only then does the file get its name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import in_whole_numbers, with_one_zero
from shoal.data.clean_copy import made_anew
from shoal.data.microdata import Coded, Microdata
from shoal.data.people import Repeating, classes_below, likely_identifiers, repeating
from shoal.data.schema import Role, Schema
from shoal.errors import InputError, PromiseError
from shoal.masking.collapse import few_classes, refuse_single_class
from shoal.masking.grouped import class_size
from shoal.masking.method import Masked, Method, with_cells
from shoal.masking.publishing.confidential import check_promises, grouped_by, publish_confidential, shown_alike
from shoal.masking.publishing.private_mean import budget
from shoal.policy import Policy
from shoal.privacy.check import judge, refuse_broken, released_classes
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Source, Verdict
from shoal.sheet import Chart, Sheet, as_figure, for_notebook, for_terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

    from shoal.data.notation import Spelling
    from shoal.parted.release import PartedRelease
    from shoal.releases.ledger import Ledger
    from shoal.releases.published import Published
    from shoal.releases.store import Promised
    from shoal.report.certificate import Checked
    from shoal.risk.measure import Risk

Progress = Callable[[str], None]

_COUNTED = ("records", "suppressed", "classes", "smallest_class")


@dataclass(frozen=True)
class Draft:
    """A masked table that nobody has judged yet. It gets out only as a release: by `judged`, or written by `write`."""

    shown: pl.DataFrame = field(repr=False)  # in the order of the input; texts that many records share, as codes
    schema: Schema
    policy: Policy
    promises: tuple[PrivacyModel, ...]
    original: Microdata = field(repr=False)
    masked: Masked = field(repr=False)
    notes: tuple[str, ...]
    restore: Callable[..., Any] = field(repr=False)
    repeating: tuple[Repeating, ...]  # identifiers of fewer people than records
    spelling: Spelling | None = field(repr=False)  # how the text file spelled it from which the table was read

    def judged(self) -> Release:
        """The release, if every promise holds of what is shown."""
        return self._released(released_classes(self.shown, self.schema, Source(self.original, self.masked.kept)))

    def write(
        self,
        path: str | Path,
        *,
        keep_order: bool = False,
        certificate: str | Path | None = None,
        seed: int | None = None,
        ledger: Ledger | None = None,
        disarm: bool = False,
        overwrite: bool = False,
    ) -> Release:
        """Writes the release, shuffled unless told otherwise, if every promise holds of the written file.

        Files that are there already are refused, or with `overwrite` replaced: the release and its certificate
        together, or neither. With a ledger it is recorded there, and refused where it would expose somebody beside
        earlier releases. With `disarm`, texts that a spreadsheet would take for formulas are written to a text file
        after an apostrophe.
        """
        from shoal.data.outputs import Outputs
        from shoal.data.paths import is_sql
        from shoal.report.certificate import refuse_uncertified

        # Beside a ledger values are told apart, not spellings: one that changed would be seen, and not judged.
        made = self if ledger is None else replace(self, spelling=None)
        refuse_uncertified(path, [certificate], overwrite=overwrite)
        with Outputs(None if is_sql(path) else Path(path), [certificate], overwrite=overwrite) as outputs:
            return made.write_file(
                path, keep_order=keep_order, certificate=certificate, seed=seed, ledger=ledger, disarm=disarm,
                overwrite=overwrite, together=outputs.make_way,
            )  # fmt: skip

    def write_file(
        self,
        path: str | Path,
        *,
        keep_order: bool,
        certificate: str | Path | None,
        seed: int | None,
        ledger: Ledger | None,
        overwrite: bool,
        together: Callable[[], None],
        disarm: bool = False,
        epsilon: float | None = None,
        shown_beside: Sequence[str] = (),
    ) -> Release:
        """Writes it as one of several files, perhaps.

        `together` is called once it is judged and before it gets its name: by raising it withholds the name. For the
        ledger, `epsilon` is what it costs together with the files that go with it, where that is more, and
        `shown_beside` are the columns that these show.
        """
        from shoal.data.csv_files import disarmed
        from shoal.data.digests import digest
        from shoal.data.files import is_delimited, write_table
        from shoal.data.paths import atomic_write, is_sql
        from shoal.report.certificate import Shown, certify

        if disarm and (is_sql(path) or not is_delimited(Path(path))):
            raise InputError(
                "Formulas are disarmed in text files, elsewhere they are texts: write .csv, or leave it out."
            )

        if certificate is not None and is_sql(path):
            raise InputError("A certificate names a file by its digest: write the release to a file, or do without.")
        if ledger is not None and is_sql(path):
            raise InputError("A ledger knows a release by its file's digest: write the release to a file.")
        order = np.arange(self.shown.height, dtype=np.uint32)
        if not keep_order:  # position alone can re-identify: records leave in random order
            order = np.random.default_rng(seed).permutation(order)
        table = self.shown if keep_order else self.shown[order]
        if Path(path).suffix.lower() != ".csv":  # elsewhere the codes would show
            table = self._plain(table)
        rows = order.astype(np.int64) if self.masked.kept is None else self.masked.kept[order]
        spelled, copied = self._as_it_came(table, rows, path)
        judged: list[Release] = []
        with ExitStack() as beside:

            def judge_file(written: Path) -> None:
                values, shown = _read_back(written, spelled, self.schema.quasi_identifiers, copied)
                source = Source(self.original, rows)
                classes = released_classes(values, self.schema, source, written=shown)
                release = self._released(classes)
                judged.append(release if ledger is None else release.noted(ledger))
                if ledger is not None:  # settled last, by whether the release got its name
                    subjects = ledger.digests(self.original.frame)[rows]
                    values = ledger.own(subjects, self._own(shown_beside)[rows])
                    entry = release.entry(subjects, values, classes, table, seed, epsilon)
                    beside.enter_context(ledger.entering(*entry, path, digest(written)))
                if certificate is not None:  # it gets its name after the release, and only if that got its own
                    content = certify(Shown.of(table, release.sizes), self.schema, self.promises, release.verdicts)
                    content["record_order"] = "as in the source" if keep_order else "shuffled"
                    content["sha256"] = digest(written)
                    partial = beside.enter_context(atomic_write(certificate, private=False, overwrite=overwrite))
                    partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
                together()

            shown_table = disarmed(spelled) if disarm else spelled
            write_table(shown_table, path, overwrite=overwrite, before_commit=judge_file)
        return judged[0]

    def _as_it_came(
        self, table: pl.DataFrame, rows: npt.NDArray[np.int64], target: str | Path
    ) -> tuple[pl.DataFrame, dict[str, pl.DataType]]:
        """The table in the text of the file that it was read from, and the types of the columns copied from there."""
        from shoal.data.files import is_delimited
        from shoal.data.notation import respelled

        if self.spelling is None or not is_delimited(target):
            return table, {}
        source = self.original.frame
        spelled, copied = respelled(
            table, source, list(self.schema), list(self.masked.columns), self.spelling.texts, pl.Series(rows)
        )
        return spelled, {name: source[name].dtype for name in copied}

    def noted(self, ledger: Ledger) -> Self:
        """With a note where hardly anybody is known to the ledger."""
        notes = [note for note in ledger.strangers(self.original.frame) if note not in self.notes]
        return replace(self, notes=(*self.notes, *notes))

    def _own(self, shown_beside: Sequence[str] = ()) -> pl.DataFrame:
        """The original values of what is shown."""
        return self.original.frame.select(list(dict.fromkeys((*self.shown.columns, *shown_beside))))

    def _plain(self, table: pl.DataFrame) -> pl.DataFrame:
        """With every text as text."""
        coded = [name for name in self.masked.columns if table[name].dtype == pl.Enum]
        return table.with_columns(pl.col(coded).cast(pl.String))

    def _people(self, classes: EquivalenceClasses) -> list[str]:
        """How many classes hold fewer than k people, where an identifier tells people from records."""
        k = class_size(self.original, self.promises)
        rows = None if classes.source is None else classes.source.rows
        notes = []
        for one in self.repeating if k > 1 else ():
            who = self.original.frame[one.name]
            below, fewest = classes_below(who if rows is None else who[rows], *classes.members, k)
            if below:
                notes.append(
                    f"By {one.name!r} {below:,} of {len(classes.sizes):,} classes hold fewer than {k} people, the "
                    f"least {fewest:,}: they are not protected as one of {k}."
                )
        return notes

    def _released(self, classes: EquivalenceClasses) -> Release:
        verdicts = judge(classes, self.promises)
        refuse_broken(verdicts)
        made = {item.name: getattr(self, item.name) for item in fields(Draft)}
        told = (verdict.note for verdict in verdicts if verdict.note)
        few = few_classes(len(classes.sizes), int(classes.sizes.max(initial=0)), self.original, self.promises)
        made["notes"] = (*self.notes, *told, *few, *self._people(classes))
        return Release(**made, verdicts=verdicts, sizes=classes.sizes)


@dataclass(frozen=True)
class Release(Draft):
    """A masked table that keeps its promises, and how it was made. Only its table is for the public."""

    verdicts: tuple[Verdict, ...]
    sizes: npt.NDArray[np.int64] = field(repr=False)  # of the classes, as found again in what is released

    @cached_property
    def table(self) -> pl.DataFrame:
        """What is released, in the order of the input and in memory of its own: nothing else is in its buffers."""
        return made_anew(self._plain(self.shown))

    @cached_property
    def frame(self) -> Any:
        """The released columns as the kind of frame that came in, in the same order; without index and notes."""
        return self.restore(self.table)

    @property
    def records(self) -> int:
        return self.shown.height

    @property
    def suppressed(self) -> int:
        return len(self.original) - self.records

    @cached_property
    def information_loss(self) -> float:
        """How far released values may lie from the original ones, in standard deviations (Sánchez et al. 2016, Eq. 3).

        Suppressed records count as wildcards.
        """
        from shoal.utility.information_loss import information_loss

        return information_loss(self.original, self.masked.columns, self.masked.kept)

    @cached_property
    def attribute_losses(self) -> dict[str, float]:
        """What each quasi-identifier lost, in its own standard deviations."""
        from shoal.utility.information_loss import attribute_loss

        columns, kept = self.masked.columns, self.masked.kept
        quasi = self.schema.quasi_identifiers
        return {name: attribute_loss(self.original[name], columns[name], kept) for name in quasi}

    @property
    def certificate(self) -> dict[str, Any]:
        """What the public may know: nothing that the release does not show by itself."""
        from shoal.report.certificate import Shown, certify

        return certify(Shown.of(self.table, self.sizes), self.schema, self.promises, self.verdicts)

    def entry(
        self,
        subjects: pl.Series,
        values: pl.DataFrame,
        classes: EquivalenceClasses,
        table: pl.DataFrame,
        seed: int | None,
        epsilon: float | None = None,
    ) -> tuple[Published, Promised]:
        """What a ledger records of the written table; `subjects` says whom each of its records is about.

        `values` are what stands for their own values.
        """
        from shoal.releases.published import from_classes
        from shoal.releases.store import Promised

        promises = tuple(verdict.to_dict() for verdict in self.verdicts)
        if epsilon is None:
            epsilon = sum(mean.epsilon for mean in self.policy.private_means().values())
        what = Promised(class_size(self.original, self.promises), promises, seed, epsilon)
        return replace(from_classes("The release", subjects, classes, table), values=values), what

    def to_dict(self) -> dict[str, Any]:
        """What is known of the release, ready for JSON: for the custodian."""
        return {
            "records": self.records,
            "suppressed": self.suppressed,
            "classes": len(self.sizes),
            "smallest_class": int(self.sizes.min()),
            "models": [verdict.to_dict() for verdict in self.verdicts],
            "information_loss": self.information_loss,
            **self.masked.facts,
            "notes": list(self.notes),
        }

    def __rich__(self) -> Group:
        return for_terminal(self.sheets("Released"))

    def _repr_html_(self) -> str:
        return for_notebook(self.sheets("Released"), self.notes)

    def sheets(self, title: str) -> list[Sheet]:
        """As tables: what was released, and how it was judged."""
        more = [(name.replace("_", " "), str(fact)) for name, fact in self.masked.facts.items() if name != "levels"]
        return released_sheets(title, self.to_dict(), more, self.verdicts)

    def plot(self) -> Figure:
        """How large the classes are before and after, and what each attribute lost."""
        from shoal.risk.classes import by_class_size
        from shoal.risk.disclosure import expose

        original = expose(self.original.frame, self.schema.quasi_identifiers)
        labels, (after, before) = by_class_size(self.sizes, original.sizes)
        losses = self.attribute_losses
        worst = sorted(losses, key=lambda name: -losses[name])
        return as_figure(
            [
                Chart("Records by the size of their class", labels, {"released": after, "original": before}),
                Chart(
                    "Loss by attribute, in standard deviations",
                    worst,
                    {"loss": [losses[name] for name in worst]},
                    shares=False,
                ),
            ]
        )

    def report(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the custodian's report, one self-contained page."""
        from shoal.report.page import write_report

        write_report(self, path, overwrite=overwrite)

    def risk(self, *, when: Sequence[str] = ()) -> Risk:
        """What an intruder could still do; `when` are conditions on confidential attributes."""
        from shoal.risk.measure import assess_risk

        return assess_risk(self.table, self.schema, when=when, groups=self.policy.groups)


@overload
def anonymize(
    frame: Any,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    after: Ledger | None = None,
    engine: Literal["memory"] | None = None,
) -> Release: ...


@overload
def anonymize(
    frame: Any,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    engine: Literal["disk", "spark"],
) -> PartedRelease: ...


def anonymize(
    frame: Any,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    after: Ledger | None = None,
    engine: str | None = None,
) -> Any:
    """Masks the frame as the policy says, and hands out the release only if every promise holds.

    Given a ledger, the release goes on from all those recorded there (`shoal.releases.incremental`). A Spark frame is
    worked on by Spark; `disk` is for a lazy frame, a DuckDB relation or a folder that memory
    cannot hold. Both give a `PartedRelease`.
    """
    from shoal.engines.opening import engine_of, open_table

    chosen = engine_of(frame, engine)
    if chosen != "memory":
        from shoal.parted.release import anonymize as anonymize_parts

        if after is not None:
            raise InputError(f"The engine {chosen!r} cannot go on from a ledger: use 'memory'.")
        return anonymize_parts(open_table(frame, chosen), policy, seed=seed, progress=progress)
    made = draft(frame, policy, seed=seed, progress=progress, after=after)
    if progress:
        progress("judging the result")
    return made.judged()


def draft(
    frame: Any,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    after: Ledger | None = None,
    spelling: Spelling | None = None,
) -> Draft:
    """Masks the frame as the policy says. Nothing has been judged yet.

    Where the frame was read from a text file, its `spelling` lets what nothing masks leave in the same text.
    """
    from shoal.data.frames import to_polars
    from shoal.data.scratch import sweep

    say = progress or (lambda stage: None)
    sweep()
    table, restore = to_polars(frame)
    say("checking the table")
    policy.refuse_suppression()
    original, notes = prepare(table, policy)
    unnamed = [name for name in table.columns if name not in original.schema.names]
    identifiers = [*original.schema.with_role(Role.IDENTIFIER), *likely_identifiers(table, unnamed)]
    again = tuple(repeating(table, identifiers))
    notes += tuple(one.sentence() for one in again)
    promises = policy.promises(original.schema)
    k = class_size(original, promises)  # whatever the method, a class needs k records
    method = policy.method if after is None else _incremental(policy.method, after, original)
    promises = with_cells(promises, method, original.schema, k)
    refuse_single_class(len(original), original.schema, lambda name: _counts(original[name]), promises)
    means = policy.private_means()
    if policy.show:
        check_promises(original.schema, policy.method, means, promises)
        original = Microdata(table, grouped_by(original.schema, policy.show))
    say("masking")
    masked = method.mask(original, promises, suppression=policy.suppression, seed=seed)
    say("publishing")
    if policy.show:
        masked = publish_confidential(original, masked, policy.show, means)
        original = Microdata(table, shown_alike(original.schema, policy.show))
    types = original.frame.schema
    masked = replace(
        masked, columns={name: in_whole_numbers(column, types[name]) for name, column in masked.columns.items()}
    )
    shown = assemble(original, masked)
    notes += budget(means, k) + masked.notes
    return Draft(shown, original.schema, policy, promises, original, masked, notes, restore, again, spelling)


def _counts(coded: Coded) -> npt.NDArray[np.int64]:
    """Records of each value, missing one of them."""
    return np.append(coded.counts, coded.missing)


def _incremental(method: Method, ledger: Ledger, original: Microdata) -> Method:
    from shoal.releases.incremental import Incremental

    subjects = ledger.digests(original.frame)
    shown = original.frame.select(
        attribute.name for attribute in original.schema if Role.IDENTIFIER not in attribute.roles
    )
    return Incremental(method, ledger.releases(), subjects, ledger.own(subjects, shown))


def prepare(table: pl.DataFrame, policy: Policy) -> tuple[Microdata, tuple[str, ...]]:
    """The table with its schema, refused where it cannot be worked on; and what will be left out."""
    if table.width == 0 or table.height == 0:
        raise InputError("The table has no records: nothing can be released.")
    schema = policy.schema(table)
    if not schema.quasi_identifiers:
        raise InputError("No quasi-identifier is named: name the columns an intruder may know (--quasi a,b).")
    for name in schema.confidential:
        if table[name].null_count() == table.height:
            raise InputError(f"The confidential column {name!r} is missing in every record: leave it out.")
    return Microdata(table, schema), left_out(table.columns, schema.names) + in_order_of_type(policy, table.schema)


def in_order_of_type(policy: Policy, types: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Which columns are ordinal because their type states an order, and which; what else a policy says, it knows."""
    asked = [name for name in (*policy.quasi_identifiers, *policy.confidential) if name not in policy.attributes]
    stated = {name: dtype for name in asked if isinstance(dtype := types[name], pl.Enum)}
    return tuple(
        f"Column {name!r} is taken as ordinal, in the order that its type states: {_rising(dtype.categories)}."
        for name, dtype in stated.items()
    )


def _rising(categories: pl.Series) -> str:
    few = categories if len(categories) <= 8 else [*categories.head(4), "...", *categories.tail(3)]
    return " < ".join(few)


def left_out(columns: Sequence[str], named: Sequence[str]) -> tuple[str, ...]:
    """What the custodian should know of columns that have no role."""
    unnamed = [name for name in columns if name not in named]
    if not unnamed:
        return ()
    return (
        f"No role names {_listed(unnamed)}: left out of the release "
        "(--insensitive releases columns as they are, --rest insensitive all that are left).",
    )


def assemble(original: Microdata, masked: Masked) -> pl.DataFrame:
    """The released table: masked quasi-identifiers, other columns as they are, identifiers left out."""
    kept = original.frame if masked.kept is None else original.frame[masked.kept]
    shown = [attribute.name for attribute in original.schema if Role.IDENTIFIER not in attribute.roles]

    def column(name: str) -> pl.Series:
        shown = masked.columns[name].values() if name in masked.columns else kept[name]
        return with_one_zero(shown) if shown.dtype.is_float() else shown

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return pl.DataFrame(list(pool.map(column, shown)))


def check(
    frame: Any, policy: Policy, *, original: Any = None, paired: bool = False, engine: str | None = None
) -> tuple[Verdict, ...]:
    """Judges a table, released by whomever, against a policy's models; a measured risk needs the original beside it.

    Of a frame its rows are judged. Of a file or folder, by name, all that `shoal check --policy` looks at: what stands
    there of each value, columns that the policy would not release, and whatever is in it besides the rows. `paired`
    says that row i of release and original is the same person: a release is shuffled unless told otherwise.
    """
    from shoal.data.frames import to_polars
    from shoal.data.released import read_released
    from shoal.engines.opening import engine_of, open_table
    from shoal.report.inspection import inspect_released

    if (chosen := engine_of(frame, engine)) != "memory":
        from shoal.parted.check import check as check_parts

        if original is not None or paired:
            raise InputError(f"The engine {chosen!r} judges a release by itself: leave the original out.")
        found = check_parts(open_table(frame, chosen, as_written=policy.quasi_identifiers), policy)
        if isinstance(frame, str | Path):
            inspect_released(frame)
            refuse_unnamed(list(found.shown.columns), policy)
        return found.verdicts
    if isinstance(frame, str | Path):
        released = read_released(frame, policy.quasi_identifiers)
        found = check_table(*released, policy, original=original, paired=paired)
        inspect_released(frame)
        refuse_unnamed(released.table.columns, policy)
        return found.verdicts
    table, _ = to_polars(frame, as_it_stands=policy.quasi_identifiers)
    return check_table(table, None, policy, original=original, paired=paired).verdicts


def refuse_unnamed(columns: Sequence[str], policy: Policy) -> None:
    """Refuses a file that shows a column which the policy would not release."""
    roles = policy.roles(columns, released=True)
    if unnamed := ", ".join(repr(name) for name in columns if name not in roles):
        raise PromiseError(f"The file shows {unnamed}, which the policy names no role for and would not release.")


def check_table(
    table: pl.DataFrame,
    written: pl.DataFrame | None,
    policy: Policy,
    *,
    original: Any = None,
    paired: bool = False,
) -> Checked:
    """Judges a table in memory; of a file, `written` is what stands there of the quasi-identifiers."""
    from shoal.data.frames import to_polars
    from shoal.report.certificate import Checked, Shown

    if not policy.models:
        raise InputError("Nothing is promised: name a model, such as k-anonymity (--k 5).")
    schema = shown_alike(policy.schema(table, released=True), policy.show)
    if not schema.quasi_identifiers:
        raise InputError("No quasi-identifier is named: name the columns an intruder may know (--quasi a,b).")
    for name in schema.with_role(Role.IDENTIFIER):
        raise PromiseError(
            f"The table shows {name!r}, which the policy names as an identifier: it must not be released."
        )
    source = None if original is None else Source(prepare(to_polars(original)[0], policy)[0], None, paired)
    if paired and source is not None and len(source.original) != table.height:
        counts = f"the original has {len(source.original):,} records, the release {table.height:,}"
        raise InputError(f"The tables cannot be paired: {counts}.")
    classes = released_classes(table, schema, source, written=written)
    return Checked(judge(classes, policy.promises(schema)), Shown.of(table, classes.sizes))


def released_sheets(
    title: str, found: Mapping[str, Any], more: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]
) -> list[Sheet]:
    """What was released, by any engine, and how it was judged; `found` is the release for machines."""
    counts = [(name.replace("_", " "), f"{found[name]:,}") for name in _COUNTED]
    facts = [*counts, ("information loss", f"{found['information_loss']:.4f}"), *more]
    return [Sheet(title, ("", "value"), facts), judgement(verdicts)]


def judgement(verdicts: Sequence[Verdict]) -> Sheet:
    """Promise by promise, as a table."""
    rows = [
        (
            verdict.model + (f" of {verdict.attribute}" if verdict.attribute else ""),
            f"{verdict.asked:g}",
            f"{verdict.achieved:.4g}",
            "holds" if verdict.holds else "does not hold",
        )
        for verdict in verdicts
    ]
    return Sheet("Judged on what is shown", ("promise", "asked", "reached", ""), rows, numbers=2)


def _read_back(
    path: Path, table: pl.DataFrame, quasi: Sequence[str], copied: Mapping[str, pl.DataType]
) -> tuple[pl.DataFrame | pl.LazyFrame, pl.DataFrame | pl.LazyFrame]:
    """What stands in the written file, and of the quasi-identifiers what a reader can tell apart.

    Of a text file only what will be asked for is read; `copied` are columns in the text of the original's file, with
    the types that they have.
    """
    from shoal.data.csv_files import scan_written
    from shoal.data.files import is_delimited
    from shoal.data.released import read_released

    if not is_delimited(path):
        return read_released(path, quasi)
    text = (pl.Null, pl.Enum, pl.Categorical)  # otherwise the types are known: no need to guess them again
    types = [pl.String() if isinstance(dtype, text) else dtype for dtype in table.dtypes]
    values = scan_written(path, dict(zip(table.columns, types, strict=True)), empty_is_missing=True)
    values = values.with_columns(_retyped(name, dtype) for name, dtype in copied.items())
    texts = scan_written(path, dict.fromkeys(table.columns, pl.String()))
    return values, texts.select(quasi)


def _retyped(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column of text as the values it was read as before."""
    from shoal.data.text_types import known_words, values_as

    if dtype in (pl.String, pl.Null):
        return pl.col(name)
    return pl.col(name).map_batches(lambda text: values_as(known_words(text), dtype), return_dtype=dtype)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
