"""Groups of k to 2k - 1 records with a small sum of squared distances to their means (SSE).

On a line the least is found by dynamic programming (Hansen and Mukherjee, 2003). In space a given grouping is bettered
by local search: a record goes to a near group, alone or in exchange for one of its members; a group is dissolved among
its neighbours; records that neighbours can spare make a new one. Annealing (Kirkpatrick et al., 1983) also takes
exchanges that cost something, ever less of it as it cools, and so gets out of what is best only nearby.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.cuts import walked_back

_GAIN = 1e-12  # of the SSE of all: less is a rounding error


@kernel
def least_squares_cuts(line, k):  # type: ignore[no-untyped-def]
    """Where each group of the ascending line starts, and at last its length.

    best[j] = least SSE of the first j numbers = min over s of best[j - s] + SSE of the numbers j - s .. j - 1, which is
    kept by Welford's update while s grows: no difference of large sums, so nothing cancels.
    """
    n = line.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(n + 1, np.int64)
    for j in range(k, n + 1):
        mean = 0.0
        squares = 0.0
        for s in range(1, min(2 * k - 1, j) + 1):
            step = line[j - s] - mean
            mean += step / s
            squares += step * (line[j - s] - mean)
            if s >= k and best[j - s] + squares < best[j]:
                best[j] = best[j - s] + squares
                size[j] = s
    return walked_back(size)


# ---- local search


class Groups(NamedTuple):
    """A grouping that can change; group numbers without members are free."""

    rows: npt.NDArray[np.float64]
    group: npt.NDArray[np.int64]  # record -> group
    size: npt.NDArray[np.int64]  # group -> records
    centre: npt.NDArray[np.float64]  # group, attribute
    members: npt.NDArray[np.int64]  # group, slot -> record
    slot: npt.NDArray[np.int64]  # record -> its slot
    k: int


@kernel
def groups_of(rows, label, k):  # type: ignore[no-untyped-def]
    """The groups that a label a record stands for."""
    n, m = rows.shape
    room = n // k + 1
    groups = Groups(
        rows,
        label.copy(),
        np.zeros(room, np.int64),
        np.zeros((room, m), np.float64),
        np.empty((room, 2 * k), np.int64),
        np.empty(n, np.int64),
        k,
    )
    for i in range(n):
        _join(groups, i, label[i])
    return groups


@kernel
def _join(groups, i, to):  # type: ignore[no-untyped-def]
    groups.members[to, groups.size[to]] = i
    groups.slot[i] = groups.size[to]
    groups.group[i] = to
    groups.size[to] += 1
    for a in range(groups.rows.shape[1]):
        groups.centre[to, a] += (groups.rows[i, a] - groups.centre[to, a]) / groups.size[to]


@kernel
def _move(groups, i, to):  # type: ignore[no-untyped-def]
    """Takes record i from its group into another."""
    home = groups.group[i]
    groups.size[home] -= 1
    size = groups.size[home]
    last = groups.members[home, size]
    groups.members[home, groups.slot[i]] = last
    groups.slot[last] = groups.slot[i]
    for a in range(groups.rows.shape[1]):
        if size == 0:
            groups.centre[home, a] = 0.0
        else:
            groups.centre[home, a] -= (groups.rows[i, a] - groups.centre[home, a]) / size
    _join(groups, i, to)


@kernel
def _square(groups, i, group):  # type: ignore[no-untyped-def]
    """Squared distance of record i to the group's centre."""
    square = 0.0
    for a in range(groups.rows.shape[1]):
        step = groups.rows[i, a] - groups.centre[group, a]
        square += step * step
    return square


@kernel
def _joining(groups, i, to):  # type: ignore[no-untyped-def]
    """By what the SSE grows when record i joins the group."""
    return groups.size[to] / (groups.size[to] + 1.0) * _square(groups, i, to)


@kernel
def _leaving(groups, i):  # type: ignore[no-untyped-def]
    """By what the SSE shrinks when record i leaves its group of two or more."""
    home = groups.group[i]
    return groups.size[home] / (groups.size[home] - 1.0) * _square(groups, i, home)


@kernel
def sse(groups):  # type: ignore[no-untyped-def]
    """The sum of squared distances of the records from the centres of their groups."""
    total = 0.0
    for i in range(groups.group.size):
        total += _square(groups, i, groups.group[i])
    return total


@kernel
def _best_exchange(groups, i, to):  # type: ignore[no-untyped-def]
    """The least change of the SSE when record i goes to the group, and who comes for it (-1: nobody).

    For a partner u and d = u - i it is -2 d (i's centre - u's centre) - |d|^2 (1 / size of i's + 1 / size of u's).
    """
    home = groups.group[i]
    least, partner = np.inf, -1
    if groups.size[home] > groups.k and groups.size[to] < 2 * groups.k - 1:
        least = _joining(groups, i, to) - _leaving(groups, i)
    shares = 1.0 / groups.size[home] + 1.0 / groups.size[to]
    for t in range(groups.size[to]):
        u = groups.members[to, t]
        along = 0.0
        square = 0.0
        for a in range(groups.rows.shape[1]):
            step = groups.rows[u, a] - groups.rows[i, a]
            along += step * (groups.centre[home, a] - groups.centre[to, a])
            square += step * step
        change = -2.0 * along - square * shares
        if change < least:
            least, partner = change, u
    return least, partner


@kernel
def _exchange(groups, i, to, partner):  # type: ignore[no-untyped-def]
    home = groups.group[i]
    _move(groups, i, to)
    if partner >= 0:
        _move(groups, partner, home)


@kernel
def settle(groups, near):  # type: ignore[no-untyped-def]
    """One round of changes that lower the SSE; `near` lists each group's neighbours. Says by how much it fell."""
    before = sse(groups)
    worth = _GAIN * before
    for i in range(groups.group.size):
        least, chosen, partner = -worth, -1, -1
        for to in near[groups.group[i]]:
            if groups.size[to] > 0 and to != groups.group[i]:
                change, swapped = _best_exchange(groups, i, to)
                if change < least:
                    least, chosen, partner = change, to, swapped
        if chosen >= 0:
            _exchange(groups, i, chosen, partner)
    for group in range(groups.size.size):
        if groups.size[group] > 0:
            _dissolve(groups, group, near[group], worth)
    for i in range(groups.group.size):
        if groups.size[groups.group[i]] > groups.k:
            _split_off(groups, i, near, worth)
    return before - sse(groups)


@kernel
def _dissolve(groups, group, near, worth):  # type: ignore[no-untyped-def]
    """Each member to the neighbour where it costs least; undone unless that is less than what they cost together."""
    members = groups.members[group, : groups.size[group]].copy()
    change = 0.0
    for i in members:
        change -= _square(groups, i, group)
    for moved in range(members.size):
        i = members[moved]
        least, chosen = np.inf, -1
        for to in near:
            if to != group and 0 < groups.size[to] < 2 * groups.k - 1:
                cost = _joining(groups, i, to)
                if cost < least:
                    least, chosen = cost, to
        change += least
        if change >= -worth:
            for back in members[:moved]:
                _move(groups, back, group)
            return
        _move(groups, i, chosen)


@kernel
def _split_off(groups, seed, near, worth):  # type: ignore[no-untyped-def]
    """Record `seed` and the nearest of those that neighbours can spare as a new group; undone unless it pays."""
    free = np.argmin(groups.size)
    if groups.size[free] > 0:
        return
    home = groups.group[seed]
    near[free] = near[home]
    near[free, 0] = home
    moved = np.empty(groups.k, np.int64)
    origin = np.empty(groups.k, np.int64)
    change = 0.0
    for count in range(groups.k):
        chosen = seed if count == 0 else _nearest_spare(groups, seed, near[free], free)
        if chosen >= 0:
            change -= _leaving(groups, chosen)
            change += _joining(groups, chosen, free)
            moved[count] = chosen
            origin[count] = groups.group[chosen]
            _move(groups, chosen, free)
        if chosen < 0 or (count == groups.k - 1 and change >= -worth):
            for back in range(count + (chosen >= 0)):
                _move(groups, moved[back], origin[back])
            return


@kernel
def _nearest_spare(groups, seed, near, free):  # type: ignore[no-untyped-def]
    """The record nearest to the seed in a neighbour that has more than k; -1 if none has."""
    least, spare = np.inf, -1
    for to in near:
        if to == free or groups.size[to] <= groups.k:
            continue
        for t in range(groups.size[to]):
            u = groups.members[to, t]
            square = 0.0
            for a in range(groups.rows.shape[1]):
                step = groups.rows[u, a] - groups.rows[seed, a]
                square += step * step
            if square < least:
                least, spare = square, u
    return spare


@kernel
def anneal(groups, nearest, proposals, hot, cooling):  # type: ignore[no-untyped-def]
    """Random records propose to join a random neighbour; `nearest` lists the records nearest to each.

    What it costs is taken with probability exp(-cost / temperature), which falls from `hot` by `cooling`. The random
    numbers are the same in every run.
    """
    n, neighbours = nearest.shape
    state = np.uint64(1)
    for proposal in range(proposals):
        state = _next(state)
        i = np.int64((state >> np.uint64(16)) % np.uint64(n))
        state = _next(state)
        to = groups.group[nearest[i, np.int64((state >> np.uint64(16)) % np.uint64(neighbours))]]
        if to == groups.group[i]:
            continue
        change, partner = _best_exchange(groups, i, to)
        if change >= 0.0:
            state = _next(state)
            chance = (np.float64(state >> np.uint64(11)) + 0.5) / 2.0**53
            if change >= -hot * cooling ** (proposal / proposals) * np.log(chance):
                continue
        _exchange(groups, i, to, partner)


@kernel
def _next(state):  # type: ignore[no-untyped-def]
    """Marsaglia's xorshift."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))
