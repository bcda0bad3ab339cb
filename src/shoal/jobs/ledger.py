"""The ledger of a job: named by its files, opened when the job begins."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    def refuse(self, policy: Policy | None = None) -> None:
        """Raises where the ledger cannot be opened; a new one's key file is made."""
        self.opened(policy)

    def opened(self, policy: Policy | None = None, *, several: bool = False) -> Ledger | None:
        """The ledger to write to, None where none is named.

        Its subject is, unless another is named, the one whom the policy is about: the household of whole households,
        or the person. With `several`, people may have several records, and people are counted.
        """
        from shoal.errors import InputError
        from shoal.releases.ledger import Ledger, ledger_key

        if self.path is None:
            if self.subject is not None or self.key is not None or self.epsilon_limit is not None:
                raise InputError("--subject, a key and a limit are about a ledger: give --ledger as well.")
            return None
        person = None if policy is None else policy.person
        whole = () if policy is None else [model.together for model in policy.models if model.together]
        home = None if policy is None or "household" not in whole else policy.household_column
        subject = self.subject or home or person
        if subject is None:
            raise InputError("A ledger must know whom each record is about: name the column (--subject COLUMN).")
        of_people = several and person is not None and not whole and not self._one_record_each(subject, person)
        ledger = Ledger(self.path, ledger_key(self.key, self.path), subject, self.epsilon_limit)
        return replace(ledger, person=person) if of_people else ledger

    def _one_record_each(self, subject: str, person: str) -> bool:
        """Whether the ledger is there already, and knows the person by one record."""
        from shoal.releases.ledger import follows_of

        assert self.path is not None
        return self.path.exists() and subject == person and follows_of(self.path) is None
