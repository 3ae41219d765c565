"""Zones with shortest routes, against searches that are written as their papers have them."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.platform import Platform
from smpy.engine.platform_builder import PlatformBuilder, ShortestRule
from smpy.errors import PlatformError
from smpy.platforms import Hop

Routes = dict[tuple[int, int], int]
"""Number of links of the declared route between two members, in the order of declaration."""

SMALL = settings(max_examples=80, deadline=None)


@st.composite
def declared(draw: st.DrawFn) -> tuple[int, Routes]:
    """Members, and routes between some of them; few lengths, so that many paths are as long as others."""
    n = draw(st.integers(1, 9))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    routes = draw(st.dictionaries(pairs, st.integers(1, 4), max_size=30))
    return n, routes


def built(n: int, routes: Routes, rule: ShortestRule) -> Platform:
    """A zone of hosts with these routes; link k of the route between i and j is called i-j-k."""
    builder = PlatformBuilder("graph")
    builder.shortest_zone("z", None, rule)
    for i in range(n):
        builder.host(f"h{i}", "z", 1e9)
    for (i, j), length in routes.items():
        names = [f"{i}-{j}-{k}" for k in range(length)]
        for name in names:
            builder.link(name, 1e9, 1e-6)
        builder.route("z", f"h{i}", f"h{j}", [Hop(name) for name in names], is_symmetrical=False)
    return builder.finish()


def links_of(path: list[int], routes: Routes) -> tuple[str, ...]:
    return tuple(f"{i}-{j}-{k}" for i, j in pairwise(path) for k in range(routes[i, j]))


def floyd(n: int, routes: Routes) -> dict[tuple[int, int], list[int]]:
    """The paths of Algorithm 97: a table of costs, one intermediate member after the other."""
    cost = {pair: routes.get(pair, math.inf) for pair in product(range(n), repeat=2)}
    before = {(i, j): i for i, j in routes}
    for i in range(n):
        if (i, i) not in routes:  # the loopback
            cost[i, i], before[i, i] = 1, i
    for via, i, j in product(range(n), repeat=3):
        if cost[i, via] + cost[via, j] < cost[i, j]:
            cost[i, j], before[i, j] = cost[i, via] + cost[via, j], before[via, j]
    paths = {}
    for i, j in before:
        path = [j]
        while len(path) == 1 or path[0] != i:
            path.insert(0, before[i, path[0]])
        paths[i, j] = path
    return paths


def dijkstra(n: int, routes: Routes) -> dict[tuple[int, int], list[int]]:
    """The nearest member is settled first, of equally near ones that which a route mentions first."""
    mentions = list(dict.fromkeys(member for pair in routes for member in pair))
    paths = {}
    for source in mentions:
        distance, path, open_members = {source: 0}, {source: [source]}, {source}
        while open_members:
            v = min(open_members, key=lambda member: (distance[member], mentions.index(member)))
            open_members.remove(v)
            for (i, j), length in routes.items():
                if i == v and distance[v] + length < distance.get(j, math.inf):
                    distance[j], path[j] = distance[v] + length, [*path[v], j]
                    open_members.add(j)
        paths |= {(source, j): found for j, found in path.items()}
    paths |= {(i, i): [i, i] for i in range(n)}
    return paths


@pytest.mark.parametrize(("rule", "search"), [("floyd", floyd), ("dijkstra", dijkstra)])
@SMALL
@given(graph=declared())
def test_of_equally_short_routes_the_one_that_the_search_finds_first_is_taken(  # type: ignore[no-untyped-def]
    rule: ShortestRule, search, graph
) -> None:
    n, routes = graph
    platform, paths = built(n, routes, rule), search(n, routes)
    for i, j in product(range(n), repeat=2):
        if (i, j) not in paths:
            with pytest.raises(PlatformError, match="no route from host"):
                platform.route(i, j)
        elif i == j and (i, i) not in routes:
            assert platform.route(i, i).link_names == ("__loopback__",)
        else:
            assert platform.route(i, j).link_names == links_of(paths[i, j], routes)


def test_floyd_takes_the_member_declared_first_and_dijkstra_the_one_that_a_route_mentions_first() -> None:
    routes = {(0, 2): 1, (0, 1): 1, (1, 3): 1, (2, 3): 1}
    assert built(4, routes, "floyd").route(0, 3).link_names == ("0-1-0", "1-3-0")
    assert built(4, routes, "dijkstra").route(0, 3).link_names == ("0-2-0", "2-3-0")


@pytest.mark.parametrize("rule", ["floyd", "dijkstra"])
def test_more_sources_than_are_remembered_find_their_routes_again(rule: ShortestRule) -> None:
    n = 6000  # members; 64 MiB hold the trees of fewer
    platform = built(n, {(i, (i + 1) % n): 1 for i in range(n)}, rule)
    for source in (0, 2796, 2797, 2800, n - 1, 0, 2797):
        target = (source + 3) % n
        expected = links_of([(source + k) % n for k in range(4)], {(i, (i + 1) % n): 1 for i in range(n)})
        assert platform.route(source, target).link_names == expected


def test_a_route_declared_after_a_search_is_found_too() -> None:
    builder = PlatformBuilder("graph")
    builder.shortest_zone("z", None, "floyd")
    for name in ("a", "b", "c"):
        builder.host(name, "z", 1e9)
        builder.link(f"to {name}", 1e9, 1e-6)
    builder.route("z", "a", "b", [Hop("to b")])
    builder.route("z", "b", "c", [Hop("to c")])
    assert builder.finish().route(0, 2).link_names == ("to b", "to c")
    builder.route("z", "a", "c", [Hop("to a")])
    assert builder.finish().route(0, 2).link_names == ("to a",)
