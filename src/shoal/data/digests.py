"""By what a file or a folder is known again: the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from shoal.data.paths import refuse_pipe


def digest(path: str | Path) -> str:
    """The SHA-256 digest of a file; of a folder, that of a list of its files' digests."""
    path = Path(path)
    refuse_pipe(path)
    if path.is_dir():
        return digest_of_list({file.name: digest(file) for file in path.iterdir() if file.name[0] not in "_."})
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_list(files: Mapping[str, str]) -> str:
    """The digest of a folder, from those of its files by name, whatever their order."""
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
