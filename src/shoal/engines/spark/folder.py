"""A folder in any file system that a session of Spark reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from shoal.data.outputs import refuse_folder
from shoal.data.scratch import ASIDE, Unfinished
from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Folder:
    """A folder in any file system that the session reaches: file:, hdfs:, s3a: ..."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        context: Any = session.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop.fs
        given = self._hadoop.Path(path)
        self._files = given.getFileSystem(context._jsc.hadoopConfiguration())
        self._path = self._files.makeQualified(given)
        self._given = path

    @property
    def path(self) -> str:
        """Its full address, scheme and all, as Hadoop writes it."""
        return str(self._path.toString())

    @property
    def here(self) -> Path | None:
        """Its path on this machine; None: it is in another store."""
        return Path(self._path.toUri().getPath()) if self._files.getScheme() == "file" else None

    def refuse_used(self, *, overwrite: bool, reads: Sequence[str] = ()) -> None:
        """Refuses all but a new folder, an empty one, and a release to be replaced that is not what is read."""
        if not self._files.exists(self._path):
            return
        if self._files.isFile(self._path):
            raise InputError(f"{self._given!r} is a file, and a folder is to be written: name another.")
        held = [status.getPath().getName() for status in self._files.listStatus(self._path)]
        refuse_folder(self._given, held, overwrite=overwrite, certified=True)
        qualified = (self._files.makeQualified(self._hadoop.Path(name)).toString() for name in reads)
        if held and any(name.startswith(f"{self.path}/") for name in qualified):
            raise InputError(f"The output {self._given!r} is what is read: name another folder, it is never changed.")

    def put_aside(self, partial: Folder) -> None:
        """What has this name now, into the hidden folder in which the new one waits."""
        if not self._files.exists(self._path):
            return
        if not len(self._files.listStatus(self._path)):
            self._files.delete(self._path, False)  # else what is renamed to it would come to lie in it
            return
        replaced = self._replaced(partial._path.getParent())
        if not self._files.mkdirs(replaced.getParent()) or not self._files.rename(self._path, replaced):
            raise self._refused("what is there cannot be put aside")

    def _put_back(self, hidden: Folder) -> None:
        """What was put aside, unless the new one has its name."""
        replaced = self._replaced(hidden._path)
        if self._files.exists(replaced) and not self._files.exists(self._path):
            self._files.rename(replaced, self._path)

    def _replaced(self, hidden: Any) -> Any:
        return self._hadoop.Path(hidden, f"{ASIDE}/{self._path.getName()}")

    @contextmanager
    def beside(self) -> Iterator[Folder]:
        """A new one of this name in a hidden folder of the same parent, which goes with all that is left in it.

        Where there are no locks, as in HDFS and object stores, what a killed run leaves has the same kind of name but
        is not swept: nobody could tell it from a run under way.
        """
        parent, name = self._path.getParent(), self._path.getName()
        if not self._files.mkdirs(parent):
            raise self._refused("its folder cannot be made")
        if self.here is not None:
            try:
                with Unfinished(self.here) as partial:
                    yield Folder(self._session, f"file:{partial}")
            except OSError as error:
                raise self._refused(str(error.strerror).lower()) from None
            return
        hidden = Folder(self._session, f"{parent.toString()}/.shoal-{token_hex(4)}.partial")
        self._files.mkdirs(hidden._path, self._hadoop.permission.FsPermission("700"))
        try:
            yield Folder(self._session, f"{hidden.path}/{name}")
        finally:
            self._put_back(hidden)
            hidden.remove()

    def _refused(self, why: str) -> InputError:
        return InputError(f"The release cannot be written to {self._given!r}: {why}.")

    def put(self, name: str, content: bytes) -> None:
        """Writes a file of this name and content into it, in place of one that is there."""
        stream = self._files.create(self._hadoop.Path(self._path, name))
        try:
            stream.write(content)
        finally:
            stream.close()

    def rename(self, target: Folder) -> None:
        """Gives it the target's name, which nothing may have by then."""
        if not self._files.rename(self._path, target._path):
            raise target._refused("it cannot be renamed to that")

    def mark_or_remove(self) -> None:
        """The marker that it is whole, or no folder: only one that has just been given its name is taken back."""
        try:
            self.put("_SUCCESS", b"")
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Deletes it with all that is in it."""
        self._files.delete(self._path, True)
