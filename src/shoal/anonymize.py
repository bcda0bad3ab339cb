"""`shoal.anonymize`: a frame in, a release out, made by the engine that suits the frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from shoal import events
from shoal.data.frames import Frame
from shoal.draft import draft
from shoal.policy import Policy
from shoal.release import Release, judged

if TYPE_CHECKING:
    from shoal.chunked_release import ChunkedRelease
    from shoal.events import Listener, Stop
    from shoal.releases.ledger import Ledger

Progress = Callable[[str], None]


@overload
def anonymize(
    frame: Frame,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    after: Ledger | None = None,
    engine: Literal["memory"] | None = None,
    listen: Listener | None = None,
    stop: Stop | None = None,
) -> Release[Frame]: ...


@overload
def anonymize(
    frame: Any,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    after: Ledger | None = None,
    engine: Literal["disk", "spark"],
    listen: Listener | None = None,
    stop: Stop | None = None,
) -> ChunkedRelease: ...


def anonymize(
    frame: Any,
    policy: Policy,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    after: Ledger | None = None,
    engine: str | None = None,
    listen: Listener | None = None,
    stop: Stop | None = None,
) -> Any:
    """Masks the frame as the policy says, and hands out the release only if every promise holds.

    Given a ledger, the release goes on from all those recorded there (`shoal.releases.incremental`). A Spark frame is
    worked on by Spark; `disk` is for a lazy frame, a DuckDB relation or a folder that memory
    cannot hold. Both give a `ChunkedRelease`. `listen` is called with each event, `progress` with the name of each
    stage; once `stop` is set, `StoppedError` is raised (`shoal.events`).
    """
    from shoal.data.forms import Forms
    from shoal.engines.opening import engine_of, open_table
    from shoal.releases.ledger import need_ledger

    if after is not None:
        need_ledger(after)
    with events.heard(listen or events.by_stage(progress), stop):
        chosen = engine_of(frame, engine)
        if chosen != "memory":
            from shoal.chunked_release import anonymize_in_chunks

            forms = Forms.under(policy.reading, policy.attributes)
            table = open_table(frame, chosen, forms=forms)
            return anonymize_in_chunks(table, policy, seed=seed, after=after, forms=forms)
        masked = draft(frame, policy, seed=seed, after=after)
        events.stage("judging the result")
        return judged(masked)
