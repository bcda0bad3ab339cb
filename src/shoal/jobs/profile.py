"""Profile: what the columns of a table are and how identifying, and a policy to start from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal import events
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.paths import check_paths

if TYPE_CHECKING:
    from shoal.profile import Profile as Profiled


@dataclass(frozen=True)
class Profile(Job["Profiled"]):
    """Looks at a table, and writes a starting policy to `write_policy` where that is named."""

    source: str | Path
    write_policy: Path | None = None
    overwrite: bool = False
    layout: Layout = field(default_factory=Layout)

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        check_paths([self.source], None, [self.write_policy], overwrite=self.overwrite)

    def work(self) -> Profiled:
        """Reads and examines the table, and writes the policy that it suggests where a file is named."""
        from shoal.data.missing_marks import marks_in, offered
        from shoal.data.paths import atomic_write
        from shoal.profile import profile

        events.stage("reading")
        forms = self.layout.forms(lenient=True)
        table = self.layout.read(self.source, forms=forms)
        events.stage("examining")
        reading = forms.settled(self.layout.settled(self.source))
        offers = [offered(column.name, marks) for column in table if (marks := marks_in(column))]
        assumed = (*self.layout.assumed(self.source), *forms.notes, *offers)
        profiled = replace(profile(table), reading=reading, assumed=assumed)
        events.check()
        if self.write_policy is not None:
            with atomic_write(self.write_policy, private=True, overwrite=self.overwrite) as temporary:
                temporary.write_text(profiled.policy_toml(), encoding="utf-8")
        return profiled
