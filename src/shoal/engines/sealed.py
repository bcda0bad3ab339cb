"""What the tasks of a cluster send to its driver, under the seal of one run.

Results travel as bytes, and errors as text among other text: Spark quotes malformed rows in its messages, so that a
cell of the data can say there whatever it likes. Only what bears the run's seal is taken for a task's: a keyed digest
(BLAKE2b) whose key the driver draws and gives to its tasks alone. An error is JSON: its kind, one of a fixed table, and
its sentence; nothing in it is imported, unpickled or evaluated.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from secrets import token_bytes

from shoal.errors import InputError, PromiseError, ShoalError

MARK = 32  # bytes before what is sealed
KINDS: dict[str, type[ShoalError]] = {kind.__name__: kind for kind in (PromiseError, InputError, ShoalError)}
_ERROR = re.compile(r"shoal-error\(([A-Za-z0-9+/=]+)\)")


@dataclass(frozen=True)
class Seal:
    """The seal of one run."""

    key: bytes = field(default_factory=lambda: token_bytes(MARK), repr=False)

    def sealed(self, content: bytes) -> bytes:
        """The content with its mark before it: a keyed hash, by which this run knows its own results again."""
        return self._mark(content) + content

    def opened(self, sealed: bytes | memoryview) -> memoryview | None:
        """What was sealed; None if it does not bear this seal."""
        content = memoryview(sealed)[MARK:]
        return content if compare_digest(memoryview(sealed)[:MARK], self._mark(content)) else None

    def _mark(self, content: bytes | memoryview) -> bytes:
        return blake2b(content, key=self.key, digest_size=MARK).digest()

    def as_text(self, error: ShoalError) -> str:
        """The error, to be found again in any text by `error_in`."""
        kind = next(name for name, kind in KINDS.items() if isinstance(error, kind))
        content = json.dumps({"kind": kind, "message": str(error)}).encode()
        return f"shoal-error({base64.b64encode(self.sealed(content)).decode()})"

    def error_in(self, text: str) -> ShoalError | None:
        """The first error that a task of this run put into the text; what only looks like one is passed over."""
        for match in _ERROR.finditer(text):
            try:
                content = self.opened(base64.b64decode(match[1], validate=True))
            except binascii.Error:
                continue
            if content is not None:
                fields = json.loads(bytes(content))
                return KINDS[fields["kind"]](fields["message"])
        return None
