"""The ledger of a job: named by its files, opened when the job begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.releases.ledger import Ledger


def without_subject(policy: Policy, subject: str) -> Policy:
    """The policy with the subject as an identifier; it is refused in any role that would release it."""
    from shoal.errors import InputError

    if subject in (*policy.quasi_identifiers, *policy.confidential, *policy.insensitive):
        raise InputError(f"Column {subject!r} says whom a record is about and must not be released: give it no role.")
    if subject in policy.identifiers or policy.rest == "drop":
        return policy
    return policy.model_copy(update={"identifiers": (*policy.identifiers, subject)})


@dataclass(frozen=True)
class LedgerFile:
    """A ledger, by the names of its file and of its key's, and the column that says whom a record is about.

    Without a key's file the key is that in the environment. `epsilon_limit` is of a new ledger: the most that private
    means may cost anybody over all releases.
    """

    path: Path | None = None
    subject: str | None = None
    key: Path | None = None
    epsilon_limit: float | None = None

    def refuse(self) -> None:
        """Raises where the ledger cannot be opened; a new one's key file is made."""
        self.opened()

    def opened(self) -> Ledger | None:
        """The ledger to write to, None where none is named."""
        return _opened(self.path, self.subject, self.key, self.epsilon_limit)


def _opened(ledger: Path | None, subject: str | None, key: Path | None, epsilon_limit: float | None) -> Ledger | None:
    from shoal.errors import InputError
    from shoal.releases.ledger import Ledger, ledger_key

    if ledger is None:
        if subject is not None or key is not None or epsilon_limit is not None:
            raise InputError("--subject, a key and a limit are about a ledger: give --ledger as well.")
        return None
    if subject is None:
        raise InputError("A ledger must know whom each record is about: name the column (--subject COLUMN).")
    return Ledger(ledger, ledger_key(key, ledger), subject, epsilon_limit)
