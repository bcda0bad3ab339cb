"""The secret key of a job's pseudonyms: named by its file, read when the job begins, and made on first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.policy import Policy


def refuse_key(policy: Policy, file: Path | None) -> None:
    """Raises where a key is named that nothing needs, or needed and not there."""
    from shoal.data.pseudonym_keys import read_keys

    if not policy.identified_by:
        if file is not None:
            raise InputError(
                "A key is of pseudonyms, and none are asked for: name a column (--pseudonym COLUMN=person:code)."
            )
    elif file is None or file.exists():
        read_keys(file)


@contextmanager
def keyed(policy: Policy, file: Path | None) -> Iterator[Policy]:
    """The policy with its secret key; a key file that is made here goes again if the job fails."""
    from shoal.data.pseudonym_keys import keys_in

    if not policy.identified_by:
        yield policy
        return
    with keys_in(file) as keys:
        yield policy.keyed(keys)
