"""The secret key of pseudonyms: a file of lines `version hex`, of which the last is used.

Of a key nothing is ever shown but its id, 8 hexadecimal digits that tell keys apart. What it is used for has a key of
its own, derived from it (docs/spec.md#pseudonyms), so that neither two purposes nor two domains share one.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from shoal.data.paths import check_readable
from shoal.data.pseudonyms import check_key, fresh_key
from shoal.errors import InputError

KEY_VARIABLE = "SHOAL_PSEUDONYM_KEY"
_LINE = re.compile(r"(\d{1,9})[ \t]+([0-9a-fA-F]+)")
_PRIVATE, _OTHERS = 0o600, 0o077


@dataclass(frozen=True)
class Key:
    """One version of a secret key."""

    version: int
    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """By what the key is known, and nothing of it is learnt."""
        return hmac.digest(self.secret, b"shoal/1 id", "sha256").hex()[:8]

    def derived(self, purpose: str, domain: str) -> bytes:
        """The key of one purpose in one domain."""
        parts = (part.encode() for part in (purpose, domain))
        content = b"".join(len(part).to_bytes(4) + part for part in parts)
        return hmac.digest(self.secret, b"shoal/1" + content, "sha256")


@dataclass(frozen=True)
class Keys:
    """All versions of a key, the one in use last, and where they were read."""

    versions: tuple[Key, ...]
    where: str
    fresh: bool = False  # whether its file was made just now

    @property
    def current(self) -> Key:
        """The version that new pseudonyms are made with."""
        return self.versions[-1]

    def version(self, number: int | None) -> Key:
        """The key of that version; None: the one in use."""
        if number is None:
            return self.current
        for key in self.versions:
            if key.version == number:
                return key
        known = ", ".join(str(key.version) for key in self.versions)
        raise InputError(f"The key {self.where} has no version {number}: it has {known}.")

    @classmethod
    def of(cls, secret: bytes) -> Keys:
        """One key, of version 1, that Python code has at hand."""
        return cls((Key(1, check_key(secret, "of the pseudonyms")),), "given")


def parse_keys(text: str, where: str) -> Keys:
    """The keys of lines `version hex`, with versions rising; a line alone may be the hex by itself."""
    lines = [line.strip() for line in text.splitlines()]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
    if not numbered:
        raise InputError(f"The key {where} is empty: give the file that was made with the first pseudonyms.")
    versions: list[Key] = []
    for number, line in numbered:
        match = _LINE.fullmatch(line)
        if match is None or len(match[2]) % 2:
            raise InputError(f"The key {where} is damaged: line {number} is not a version and a key in hexadecimal.")
        if versions and int(match[1]) <= versions[-1].version:
            raise InputError(
                f"The key {where} is damaged: the version in line {number} does not follow the one before."
            )
        versions.append(Key(int(match[1]), check_key(bytes.fromhex(match[2]), where)))
    return Keys(tuple(versions), where)


def read_keys(path: str | Path | None) -> Keys:
    """The keys of a file, or without one of the environment."""
    if path is None:
        text = os.environ.get(KEY_VARIABLE, "").strip()
        if not text:
            raise InputError(
                f"Pseudonyms need a secret key: name its file (--pseudonym COLUMN=person:code,key=FILE; it is made "
                f"where there is none), or set {KEY_VARIABLE}."
            )
        return parse_keys(text if " " in text or "\t" in text else f"1 {text}", f"in {KEY_VARIABLE}")
    if not os.path.exists(path):
        raise InputError(
            f"There is no key {str(path)!r}, and without it what it made is neither opened nor made again: check its "
            "name and its folder, or bring it back from a copy."
        )
    check_readable(Path(path))
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError as error:
        raise InputError(f"The key {str(path)!r} cannot be read: {str(error.strerror).lower()}.") from None
    except UnicodeDecodeError:
        raise InputError(f"The key {str(path)!r} is damaged: it holds more than versions and hexadecimal.") from None
    keys = parse_keys(text, repr(str(path)))
    if os.name == "posix" and os.stat(path).st_mode & _OTHERS:
        raise InputError(
            f"The key {str(path)!r} can be read by others than its owner, and whoever reads it undoes the pseudonyms: "
            f"take it from them (chmod 600 {path})."
        )
    return keys


@contextmanager
def keys_in(path: str | Path | None) -> Iterator[Keys]:
    """The keys of a file, which is made where there is none; one made here goes again if what it was for fails."""
    fresh = path is not None and not Path(path).exists()
    if fresh:
        assert path is not None
        _write_new(Path(path), Keys((Key(1, fresh_key()),), ""))
    try:
        yield replace(read_keys(path), fresh=fresh)
    except BaseException:
        if fresh and path is not None:
            Path(path).unlink(missing_ok=True)
        raise


def add_version(path: str | Path) -> Keys:
    """A further key in the file, which is in use from now on; the file is replaced as a whole."""
    keys = read_keys(path)
    more = Keys((*keys.versions, Key(keys.current.version + 1, fresh_key())), keys.where)
    place = Path(os.path.realpath(path))
    partial = place.with_name(f".{place.name}.new")
    partial.unlink(missing_ok=True)
    _write_new(partial, more)
    partial.replace(place)
    return more


def _write_new(path: Path, keys: Keys) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    except OSError as error:
        raise InputError(f"The key {str(path)!r} cannot be made: {str(error.strerror).lower()}.") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.writelines(f"{key.version} {key.secret.hex()}\n" for key in keys.versions)
        file.flush()
        os.fsync(file.fileno())
