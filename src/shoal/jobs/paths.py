"""Which files a job may write: never what it reads, never one twice, and nothing that is there unless it may."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def check_paths(
    read: Sequence[str | Path | None],
    table: str | Path | None,
    others: Sequence[str | Path | None] = (),
    *,
    overwrite: bool,
) -> None:
    """Refuses, before any work, to write over what is read, twice to one place, or where nothing can be written.

    Nor over anything else, unless the user says so.
    """
    from shoal.data.files import format_of, same_file
    from shoal.data.outputs import refuse_existing
    from shoal.data.paths import check_writable, is_sql
    from shoal.data.sql import refuse_existing_table
    from shoal.errors import InputError

    if table is not None and not is_sql(table):
        format_of(Path(table))
    taken = [path for path in read if path is not None]
    for target in (path for path in (table, *others) if path is not None):
        for path in taken:
            if same_file(path, target):
                raise InputError(
                    f"The output {str(target)!r} would replace {str(path)!r}, which this command reads or writes too: "
                    "choose another name."
                )
        taken.append(target)
        folder = Path(target).parent
        if not is_sql(target) and not (folder.is_dir() and os.access(folder, os.W_OK)):
            state = "may not be written to" if folder.is_dir() else "does not exist"
            raise InputError(f"{str(target)!r} cannot be written: the folder {str(folder)!r} {state}.")
        if is_sql(target):
            refuse_existing_table(str(target), overwrite=overwrite)
        else:
            check_writable(target)
            refuse_existing(target, overwrite=overwrite)
