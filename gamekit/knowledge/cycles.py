"""References that run in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Circles in a graph: lists of nodes that each lead to the next, the last one to the first.

    Not every circle there is, but at least one wherever there is any.
    """
    found: list[list[str]] = []
    finished: set[str] = set()
    for start in edges:
        if start in finished:
            continue
        path: list[str] = [start]
        places = {start: 0}
        waiting = [iter(edges.get(start, ()))]
        # A loop and not recursion: a chain of supersessions may be longer than Python's stack.
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                done = path.pop()
                del places[done]
                finished.add(done)
            elif node in places:
                found.append(path[places[node] :])
            elif node not in finished:
                places[node] = len(path)
                path.append(node)
                waiting.append(iter(edges.get(node, ())))
    return found
