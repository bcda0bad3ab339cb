"""The ledger: what was released, when, of whom and in which classes; the base for judging releases together.

A SQLite file, for the custodian alone. Subjects stand in it as keyed digests (BLAKE2b; the key lives elsewhere), never
by name. Of values it holds what each class showed, and of each subject's own a digest keyed with the key and with her:
so it is known whether a value changed, and nothing else. One release is one transaction before its file gets its name:

    1. lock; insert the release as pending, with the digest of the finished file; commit
    2. the file takes its name
    3. pending becomes done; commit; unlock

A process that ends, well or with an error, settles its own entry: done if the file got its name, otherwise removed. One
that was killed leaves it pending. Whoever opens the ledger next takes it for done if the file of that name has that
digest; if not, the file may have been moved since, and the entry stays pending and counts as released until the
custodian says otherwise (`confirm`, `withdraw`). The lock is held throughout, so nobody takes a release under way for
an abandoned one, and no two releases are judged against the same past.
"""

from __future__ import annotations

import hashlib
import os
import reprlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal import events
from shoal.data.digests import digest
from shoal.data.pseudonym_choices import ShownPseudonyms
from shoal.data.pseudonyms import check_key, fresh_key, read_key
from shoal.data.scratch import Unfinished, make_private
from shoal.errors import InputError, PromiseError, require
from shoal.privacy.households import Households
from shoal.privacy.linked import Linked
from shoal.privacy.t_closeness import TCloseness
from shoal.releases.budget import Budget, budget_of, refuse_spent
from shoal.releases.of_people import (
    Follows,
    record_digests,
    refuse_other_columns,
    refuse_other_follows,
    stated_follows,
    texts_of,
)
from shoal.releases.pieces import Recorded, side_by_side
from shoal.releases.published import Published, own_text, persons_of, subjects_of
from shoal.releases.refusal import Exposure, exposure, known_again, refuse_exposed, refuse_unpooled
from shoal.releases.shown_pseudonyms import joins
from shoal.releases.store import (
    Entry,
    Promised,
    entries_of,
    existing,
    forget,
    insert,
    limit,
    make_ledger,
    opened,
    settle,
    transaction,
)

KEY_VARIABLE = "SHOAL_LEDGER_KEY"
_HARDLY = 0.1  # of a release's people known to the ledger: fewer are worth a word


def _refuse_laxer(earlier: Sequence[dict[str, Any]], promises: Sequence[dict[str, Any]], release: Recorded) -> None:
    """What was promised of an attribute is promised again wherever it is shown again, and no less strictly."""
    for before in earlier:
        attribute = before.get("attribute")
        if attribute is None or attribute not in release.attributes:
            continue
        same = [now["asked"] for now in promises if (now["name"], now.get("attribute")) == (before["name"], attribute)]
        less = before["name"] == TCloseness.name
        if not any(level <= before["asked"] if less else level >= before["asked"] for level in same):
            raise PromiseError(
                f"An earlier release of this ledger promised {before['name']} of {attribute!r} at {before['asked']:g}: "
                "promise at least that again, or leave the column out. Nothing was released."
            )


@dataclass(frozen=True)
class Ledger:
    """A ledger to write to: its file, its key, and the column that tells subjects apart.

    `epsilon_limit` is for a new ledger: the most that private means may cost anybody over all of its releases. With
    `person`, the column of people who may have several records, people are counted; their records are known again by
    the column `subject`, or where that is the person's by all that is shown of them (`shoal.releases.of_people`).
    """

    path: Path
    key: bytes = field(repr=False)
    subject: str
    epsilon_limit: float | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        check_key(self.key, "of the ledger")

    @property
    def follows(self) -> Follows | None:
        """By what records of people are known again; None where every subject has one record."""
        return None if self.person is None else "values" if self.subject == self.person else "records"

    def digests(self, table: pl.DataFrame, *, several: bool = False) -> pl.Series:
        """The digest of whom each record is about: nobody without the key can tell who it is, or try."""
        if self.person is None:
            return self.digested(subjects_of(table, self.subject, several=several))
        return self.digested(subjects_of(table, self.person, several=True))

    def followed(self, table: pl.DataFrame, shown: Sequence[str], *, several: bool = False) -> pl.Series:
        """The digest of each record as it is known again: of its subject, or of a record of people."""
        people = self.digests(table, several=several)
        if self.person is None:
            return people
        own = texts_of(people, table.select(shown)) if self.follows == "values" else subjects_of(table, self.subject)
        return record_digests(self.key, people, own)

    def refuse_person(self, person: str | None, owner: str | None) -> None:
        """Refuses a release that counts other people than the ledger; `owner` is whose whole histories it shows."""
        if owner is not None and (self.person is not None or self.subject != owner):
            raise InputError(
                f"Whole histories are judged over releases by {owner!r}, whose they are: begin a ledger with it "
                f"(--subject {owner})."
            )
        if owner is None and person is not None and person not in (self.person, self.subject):
            raise InputError(
                f"The release counts people by {person!r}, and the ledger subjects by {self.subject!r}: give the "
                "ledger the same person (Ledger(path, key, subject, person=...))."
            )

    def digested(self, names: pl.Series) -> pl.Series:
        """The digests of subjects, by their plain text."""
        key = hashlib.blake2b(self.key).digest()
        digests = [hashlib.blake2b(name.encode(), key=key, digest_size=16).digest() for name in names]
        return pl.Series("subject", digests, dtype=pl.Binary)

    def own(self, subjects: pl.Series, values: pl.DataFrame) -> pl.DataFrame:
        """Digests of the subjects' own values, each keyed with its subject and attribute.

        The same subject's can be compared from release to release; those of two subjects tell nothing.
        """
        key = hashlib.blake2b(self.key, person=b"own values").digest()

        def digest(name: str) -> pl.Series:
            of_column = hashlib.blake2b(key=hashlib.blake2b(name.encode(), key=key).digest(), digest_size=8)
            digests = []
            for text, who in zip(own_text(values[name]).to_list(), subjects.to_list(), strict=True):
                of_value = of_column.copy()
                of_value.update(who if text is None else who + b"=" + text.encode())
                digests.append(of_value.digest())
            return pl.Series(name, digests, dtype=pl.Binary)

        return pl.DataFrame([digest(name) for name in values.columns])

    def releases(self) -> tuple[Published, ...]:
        """All releases so far, in memory; none where there is no ledger yet."""
        with self.earlier() as earlier:
            return tuple(release.whole() for release in earlier)

    @contextmanager
    def earlier(self) -> Iterator[list[Recorded]]:
        """All releases so far, of any size, to be read inside the context; none where there is no ledger yet."""
        if not self.path.exists():
            yield []
            return
        with opened(self.path) as connection:
            self._check_key(connection)
            yield [entry.recorded for entry in entries_of(connection, self.path)]

    def refuse_going_on(self) -> None:
        """Refuses to go on from the classes of records of people: somebody would stand in several of them."""
        if self.person is not None:
            raise InputError(
                "A ledger of people who may have several records is not gone on from class by class: leave out "
                "--incremental, or give one record a person."
            )

    def strangers(self, table: pl.DataFrame, *, several: bool = False) -> tuple[str, ...]:
        """A word of warning where hardly anybody of a table is known to a ledger that is not empty."""
        subjects = self.digests(table, several=several)
        subjects = subjects if self.person is None and not several else subjects.unique(maintain_order=True)
        members = pl.DataFrame({"subject": subjects, "class": pl.zeros(len(subjects), pl.Int32, eager=True)})
        return self.strangers_of(Published("", members, pl.DataFrame(), of_people=self.person is not None))

    def strangers_of(self, release: Recorded) -> tuple[str, ...]:
        """A word of warning where hardly anybody of a release is known to a ledger that is not empty."""
        with self.earlier() as earlier:
            if not earlier:
                return ()
            share = known_again(earlier, release) / max(release.people, 1)
            if share >= _HARDLY:
                return ()
            known = sum(
                pl.concat(
                    [persons_of(piece.members["subject"], of_people=piece.of_people) for piece in side]
                ).n_unique()
                for side in side_by_side(earlier)
            )
        return (
            f"Of the {release.people:,} people of this table only {share:.1%} are known to the ledger, which holds "
            f"{known:,}: if they are the same people, {self.person or self.subject!r} is written otherwise than "
            "before, and nothing is judged together. Compare how it is written.",
        )

    def joined_by(self, shown: Sequence[ShownPseudonyms]) -> tuple[str, ...]:
        """With which releases so far anybody can join one that shows these pseudonyms."""
        return joins(entries(self.path), shown) if shown and self.path.exists() else ()

    @contextmanager
    def entering(self, release: Recorded, what: Promised, target: str | Path, sha256: str) -> Iterator[None]:
        """Records a release whose finished file or folder takes the target's name inside the context; or refuses.

        `sha256` is the digest of what will have that name (`shoal.data.digests`).
        """
        self._create()
        elsewhere = "://" in str(target)  # where nobody here can look whether it has its name
        place = str(target) if elsewhere else os.path.realpath(target)
        with opened(self.path) as connection:
            self._check_key(connection)
            earlier = entries_of(connection, self.path)
            if self.follows == "values":
                refuse_other_columns([entry.recorded for entry in earlier], release)
            self._judge(earlier, release, what, limit(connection))
            number = insert(connection, "pending", release, what, place, sha256)
            named = False
            try:
                yield
                named = True
            finally:
                with transaction(connection):
                    settle(connection)
                    if named:
                        connection.execute("UPDATE release SET state = 'done' WHERE id = ?", (number,))
                    elif not elsewhere:
                        forget(connection, number)

    @staticmethod
    def _judge(earlier: Sequence[Entry], release: Recorded, what: Promised, limit: float | None) -> None:
        alone = [entry.recorded for entry in earlier if not (what.by_classes and entry.by_classes)]
        refuse_unpooled(alone, release)
        promised = max((entry.k for entry in earlier), default=1)
        if what.k < promised:  # it would break what earlier ones promised to the same people
            raise PromiseError(
                f"Earlier releases of this ledger promised k = {promised}, this one only {what.k}: "
                f"ask for at least {promised}. Nothing was released."
            )
        _refuse_laxer([promise for entry in earlier for promise in entry.promises], what.promises, release)
        histories = {promise["name"] for promise in what.promises} & {Linked.name, Households.name}
        goes_on = not (release.of_people or histories)
        refuse_exposed([entry.recorded for entry in earlier], release, what.k, goes_on=goes_on)
        refuse_spent([(entry.recorded, entry.epsilon) for entry in earlier], (release, what.epsilon), limit)

    def add(self, release: Published, what: Promised, file: str | Path) -> Exposure | None:
        """Records a release that was made elsewhere; what it did to the subjects of the pool is said, not prevented."""
        events.check()  # else a new ledger would be left
        self._create()
        with opened(self.path) as connection:
            self._check_key(connection)
            exposed = exposure([entry.recorded for entry in entries_of(connection, self.path)], release, what.k)
            insert(connection, "done", release, what, os.path.realpath(file), digest(file))
        events.named()
        return exposed

    def _create(self) -> None:
        """A new ledger gets its name when it is whole: one that is empty was damaged."""
        if self.path.exists():
            if self.epsilon_limit is not None and limit_of(self.path) != self.epsilon_limit:
                raise InputError(
                    f"The ledger {str(self.path)!r} exists: its limit of epsilon is set by `shoal releases limit`."
                )
            return
        try:
            with Unfinished(self.path) as fresh:
                make_private(fresh)
                make_ledger(fresh, self._check, self.epsilon_limit, self.follows)
                with suppress(FileExistsError):  # another process was first
                    os.link(fresh, self.path)
        except OSError as error:
            raise InputError(f"The ledger {str(self.path)!r} cannot be made: {str(error.strerror).lower()}.") from None

    @property
    def _check(self) -> str:
        return hashlib.blake2b(b"shoal ledger", key=hashlib.blake2b(self.key).digest()).hexdigest()

    def _check_key(self, connection: sqlite3.Connection) -> None:
        """With another key nobody would be known again, and everything would seem safe."""
        known = connection.execute("SELECT digest FROM key_check").fetchone()
        if known is None or known[0] != self._check:
            raise InputError(f"The key is not that of the ledger {str(self.path)!r}: give the one it was begun with.")
        refuse_other_follows(self.path, stated_follows(connection), self.follows)


def need_ledger(given: object) -> None:
    """Refuses what is not a ledger, such as the path of one."""
    if not isinstance(given, Ledger):
        raise InputError(f"after= takes a ledger, Ledger(path, key, subject). Got {reprlib.repr(given)} instead.")


def ledger_key(path: str | Path | None, ledger: str | Path) -> bytes:
    """The secret key of a file or of the environment; a new ledger's key file is made where it is missing."""
    if path is None:
        if not os.environ.get(KEY_VARIABLE):
            raise InputError(f"A ledger needs its key: name its file (--ledger FILE,key=FILE), or set {KEY_VARIABLE}.")
        return check_key(os.environ[KEY_VARIABLE].strip().encode(), f"in {KEY_VARIABLE}")
    if not Path(path).exists() and not Path(ledger).exists():
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InputError(f"The key {str(path)!r} cannot be made: {str(error.strerror).lower()}.") from None
        with os.fdopen(handle, "w") as file:
            file.write(fresh_key().hex())
    return read_key(path)


# ---- without the key


def follows_of(path: str | Path) -> str | None:
    """By what a ledger of people knows their records again; None where every subject has one record."""
    with existing(path) as connection:
        return stated_follows(connection)


def entries(path: str | Path) -> list[Entry]:
    """Everything in the ledger, the first release first; no key is needed."""
    with existing(path) as connection:
        return entries_of(connection, Path(path))


def confirm(path: str | Path, number: int) -> None:
    """The pending release of that number did get out, wherever its file is now."""
    with existing(path) as connection:
        _need_pending(connection, number)
        connection.execute("UPDATE release SET state = 'done' WHERE id = ?", (number,))


def withdraw(path: str | Path, number: int) -> None:
    """The pending release of that number never got out, and is forgotten."""
    with existing(path) as connection:
        _need_pending(connection, number)
        forget(connection, number)


def limit_of(path: str | Path) -> float | None:
    """The most that private means may cost anybody over all releases; None where nothing was said."""
    with existing(path) as connection:
        return limit(connection)


def set_limit(path: str | Path, epsilon: float) -> None:
    """Sets what private means may cost anybody over all releases."""
    require("the ledger", "limit", epsilon, "an epsilon above 0", holds=0 < epsilon < float("inf"))
    with existing(path) as connection, transaction(connection):
        connection.execute("DELETE FROM epsilon_limit")
        connection.execute("INSERT INTO epsilon_limit VALUES (?)", (epsilon,))


def budget(path: str | Path) -> Budget:
    """What private means cost so far, all together and whom they cost most."""
    with existing(path) as connection:
        costs = [(entry.recorded, entry.epsilon) for entry in entries_of(connection, Path(path))]
        return budget_of(costs, limit(connection))


def _need_pending(connection: sqlite3.Connection, number: int) -> None:
    row = connection.execute("SELECT state FROM release WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise InputError(f"The ledger holds no release {number}: see `shoal releases list`.")
    if row[0] != "pending":
        raise InputError(
            f"Release {number} got its name: it is out, and what is out cannot be taken back. Only a pending release "
            "can be settled."
        )
