"""Order of moves that wait for each other: a best-first search with bounded work (A*).

A move takes VMs that stay together from one host to another. The estimate of the remaining moves is the number of items
away from their target. The estimate is never too high, so the result has the fewest moves among the items given.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST_CHECKS = 200_000
"""Maximum number of moves to check before the search stops, which takes about a second of CPU."""


@dataclass(frozen=True)
class Item:
    """VMs that move together."""

    vms: tuple[int, ...]
    size: tuple[float, ...]
    goal: int
    hosts: tuple[int, ...]
    """Hosts allowed for the VMs."""


def untangle(
    items: Sequence[Item],
    begin: Sequence[int],
    rooms: Sequence[Sequence[float]],
    meets: Callable[[int, int, Sequence[int]], bool],
) -> list[tuple[int, int]] | None:
    """Return moves (item, host) that bring each item from its start to its goal, or None if none were found.

    `rooms` is the capacity of each host. `meets` returns true if an item on a host would meet one that it must be apart
    from, given the hosts of all items.
    """
    start = tuple(begin)
    goal = tuple(item.goal for item in items)
    came: dict[tuple[int, ...], tuple[tuple[int, ...], int, int] | None] = {start: None}
    cost = {start: 0}
    queue = [(_left(start, goal), 0, start)]
    checks, number = 0, 0
    while queue:
        _, _, now = heapq.heappop(queue)
        if now == goal:
            return _way(came, now)
        free = [list(room) for room in rooms]
        for item, host in zip(items, now, strict=True):
            for resource, size in enumerate(item.size):
                free[host][resource] -= size
        for each, item in enumerate(items):
            for host in item.hosts:
                checks += 1
                if host == now[each] or any(size > room for size, room in zip(item.size, free[host], strict=True)):
                    continue
                then = (*now[:each], host, *now[each + 1 :])
                if cost[now] + 1 >= cost.get(then, len(cost) + MOST_CHECKS) or meets(each, host, now):
                    continue
                cost[then] = cost[now] + 1
                came[then] = now, each, host
                number += 1
                # of equals the latest, which goes on with what was begun
                heapq.heappush(queue, (cost[then] + _left(then, goal), -number, then))
        if checks > MOST_CHECKS:
            return None
    return None


def _left(now: tuple[int, ...], goal: tuple[int, ...]) -> int:
    return sum(host != to for host, to in zip(now, goal, strict=True))


def _way(
    came: dict[tuple[int, ...], tuple[tuple[int, ...], int, int] | None], last: tuple[int, ...]
) -> list[tuple[int, int]]:
    moves = []
    step = came[last]
    while step is not None:
        before, item, host = step
        moves.append((item, host))
        step = came[before]
    return moves[::-1]
