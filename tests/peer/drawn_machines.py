"""Kinds of machines of one zone."""

from __future__ import annotations

from itertools import combinations, permutations
from math import prod

from tests.peer.machines import Draw, Machine, element, kind, names_of, route


@kind
def full(draw: Draw) -> Machine:
    """Routes of links drawn from few, some of them one way only, some hosts with a loopback of their own."""
    hosts = [f"h{i}" for i in range(draw.randint(2, 7))]
    body = "".join(draw.host(host) for host in hosts)
    links, names = draw.links(draw.randint(2, 8))
    body += links
    for one, other in combinations(hosts, 2):
        ways = ((one, other), (other, one)) if draw.random() < 0.3 else ((one, other),)
        for src, dst in ways:
            picked = draw.sample(names, draw.randint(1, min(4, len(names))))
            body += route("route", f'src="{src}" dst="{dst}"', picked, symmetrical=len(ways) == 1)
    for host in hosts:
        if draw.random() < 0.3:
            body += route("route", f'src="{host}" dst="{host}"', draw.sample(names, 1), symmetrical=False)
    return Machine(element("zone", 'id="z" routing="Full"', body), tuple(hosts))


@kind
def rails(draw: Draw) -> Machine:
    """Several network cards a host: a pair takes the one of its number, through a switch of that number."""
    hosts, n_rails = [f"h{i}" for i in range(draw.randint(3, 9))], draw.randint(2, 4)
    body, speed = "", f'bandwidth="{draw.bandwidth()}" latency="{draw.latency()}"'
    for host in hosts:
        body += draw.host(host)
        for rail in range(n_rails):
            body += element("link", f'id="{host}-{rail}" {speed} sharing_policy="SPLITDUPLEX"')
    for rail in range(n_rails):
        speed = f'bandwidth="{draw.bandwidth()}" latency="0"'
        body += element("link", f'id="switch{rail}" {speed} sharing_policy="FATPIPE"')
    for i, j in combinations(range(len(hosts)), 2):
        rail = (i + j) % n_rails
        up, down = (f'<link_ctn id="h{k}-{rail}" direction="{way}"/>' for k, way in ((i, "UP"), (j, "DOWN")))
        body += route("route", f'src="h{i}" dst="h{j}"', [up, f'<link_ctn id="switch{rail}"/>', down])
    return Machine(element("zone", 'id="z" routing="Full"', body), tuple(hosts))


def _radical(draw: Draw, n: int) -> tuple[str, list[int]]:
    """Numbers of n hosts, as a cluster writes them: in a row, or with gaps."""
    first = draw.choice((0, 0, 1, 8, 97))
    if n < 3 or draw.random() < 0.7:
        return (f"{first}-{first + n - 1}" if n > 1 else f"{first}"), list(range(first, first + n))
    cut = draw.randint(1, n - 1)
    numbers = [*range(first, first + cut), *range(first + cut + 3, first + n + 3)]
    return f"{first}-{first + cut - 1},{first + cut + 3}-{first + n + 2}", numbers


@kind
def flat(draw: Draw) -> Machine:
    """A star, with and without all it can have."""
    radical, numbers = _radical(draw, draw.randint(2, 19))
    backbone = f'bb_bw="{draw.bandwidth()}" bb_lat="{draw.latency()}"' + draw.maybe(' bb_sharing_policy="FATPIPE"', 0.3)
    cluster = draw.cluster("c", radical, draw.maybe(backbone, 0.6))
    return Machine(element("cluster", cluster), names_of(cluster, numbers))


@kind
def fat_tree(draw: Draw) -> Machine:
    """One to three levels, with any number of parents and parallel cables."""
    levels = draw.randint(1, 3)
    down = [draw.randint(2, (16, 5, 3)[levels - 1]) for _ in range(levels)]
    up = [1, *(draw.randint(1, 3) for _ in down[1:])]
    cables = [draw.randint(1, 3) for _ in down]
    shape = ";".join([str(levels), *(",".join(map(str, numbers)) for numbers in (down, up, cables))])
    radical, numbers = _radical(draw, prod(down))
    cluster = draw.cluster("f", radical, f'topology="FAT_TREE" topo_parameters="{shape}"')
    return Machine(element("cluster", cluster), names_of(cluster, numbers))


@kind
def torus(draw: Draw) -> Machine:
    """One to four dimensions, even, odd and of one host."""
    dimensions = [draw.randint(2, 13)] if draw.random() < 0.2 else []
    # links of two dimensions of one host would have one name: the peer refuses them
    while not 3 <= prod(dimensions) <= 60 or dimensions.count(1) > 1:
        dimensions = [draw.randint(1, 5) for _ in range(draw.randint(2, 4))]
    radical, numbers = _radical(draw, prod(dimensions))
    cluster = draw.cluster("t", radical, f'topology="TORUS" topo_parameters="{",".join(map(str, dimensions))}"')
    return Machine(element("cluster", cluster), names_of(cluster, numbers), has_self_routes="loopback" in cluster)


@kind
def dragonfly(draw: Draw) -> Machine:
    """Two to four groups; bundles of every width."""
    groups, chassis, nodes = draw.randint(2, 4), draw.randint(1, 3), draw.randint(1, 3)
    routers = draw.randint(groups, 5)
    green, black, blue = (draw.randint(1, 3) for _ in range(3))
    shape = f"{groups},{blue};{chassis},{black};{routers},{green};{nodes}"
    radical, numbers = _radical(draw, groups * chassis * routers * nodes)
    cluster = draw.cluster("d", radical, f'topology="DRAGONFLY" topo_parameters="{shape}"')
    return Machine(element("cluster", cluster), names_of(cluster, numbers))


def graph(draw: Draw, members: list[str]) -> str:
    """Links, and routes of one to three links between members, all of them connected; more than one way for many."""
    links, routes, joined = "", "", {(draw.randrange(i), i) for i in range(1, len(members))}
    for _ in range(draw.randint(0, len(members))):
        one, other = sorted(draw.sample(range(len(members)), 2))
        joined.add((one, other))
    for one, other in sorted(joined):
        more, names = draw.links(draw.randint(1, 3))
        links += more
        ways = ((one, other), (other, one)) if draw.random() < 0.15 else ((one, other),)
        for src, dst in ways:
            ends = f'src="{members[src]}" dst="{members[dst]}"'
            routes += route("route", ends, names[:: 1 if src < dst else -1], symmetrical=len(ways) == 1)
    return links + routes


def _graph_zone(draw: Draw, routing: str) -> Machine:
    hosts = [f"h{i}" for i in range(draw.randint(3, 9))]
    routers = [f"r{i}" for i in range(draw.randint(0, 4))]
    body = "".join(draw.host(host) for host in hosts)
    body += "".join(element("router", f'id="{router}"') for router in routers)
    members = [*hosts, *routers]
    draw.shuffle(members)
    return Machine(element("zone", f'id="z" routing="{routing}"', body + graph(draw, members)), tuple(hosts))


@kind
def floyd(draw: Draw) -> Machine:
    """A graph of hosts and routers."""
    return _graph_zone(draw, "Floyd")


@kind
def dijkstra(draw: Draw) -> Machine:
    """A graph of hosts and routers."""
    return _graph_zone(draw, draw.choice(("Dijkstra", "DijkstraCache")))


def peers(draw: Draw, prefix: str, n: int) -> tuple[str, list[str]]:
    """Peers of a Vivaldi zone, in three dimensions."""
    names, body = [f"{prefix}{i}" for i in range(n)], ""
    for name in names:
        at = f"{draw.uniform(-30, 30):.3g} {draw.uniform(-30, 30):.3g} {draw.uniform(0, 3):.2g}"
        rates = f'bw_in="{draw.bandwidth()}" bw_out="{draw.bandwidth()}"'
        body += element("peer", f'id="{name}" speed="{draw.speed()}" {rates} coordinates="{at}"')
    return body, names


@kind
def vivaldi(draw: Draw) -> Machine:
    """Peers whose distance is their latency."""
    body, names = peers(draw, "p", draw.randint(2, 9))
    return Machine(element("zone", 'id="z" routing="Vivaldi"', body), tuple(names), has_self_routes=False)


def cluster_zone(draw: Draw, name: str) -> tuple[str, list[str], str]:
    """A zone with Cluster routing: hosts with links of their own, or cabinets; its hosts and its router."""
    body, hosts, router = element("router", f'id="{name}-router"'), [], f"{name}-router"
    if draw.random() < 0.5:
        for cabinet in range(draw.randint(1, 3)):
            n = draw.randint(2, 4)
            attributes = f'speed="{draw.speed()}" bw="{draw.bandwidth()}" lat="{draw.latency()}"'
            names = f'prefix="{name}-" suffix="" radical="{cabinet * 10}-{cabinet * 10 + n - 1}"'
            body += element("cabinet", f'id="{name}-k{cabinet}" {names} {attributes}')
            hosts += [f"{name}-{cabinet * 10 + i}" for i in range(n)]
    else:
        for i in range(draw.randint(2, 6)):
            hosts.append(f"{name}-{i}")
            link, ctn = draw.link(("SHARED", "SPLITDUPLEX", "SPLITDUPLEX"))
            link_name = ctn.split('"')[1]
            up, down = (f"{link_name}_UP", f"{link_name}_DOWN") if "SPLITDUPLEX" in link else (link_name, link_name)
            body += draw.host(hosts[-1]) + link + element("host_link", f'id="{hosts[-1]}" up="{up}" down="{down}"')
    if draw.random() < 0.6:
        body += element("backbone", f'id="{name}-backbone" bandwidth="{draw.bandwidth()}" latency="{draw.latency()}"')
    return element("zone", f'id="{name}" routing="Cluster"', body), hosts, router


@kind
def cabinets(draw: Draw) -> Machine:
    """Two zones with Cluster routing, of cabinets or of hosts with links of their own, in a Full one."""
    one, hosts, router = cluster_zone(draw, "a")
    other, more, second = cluster_zone(draw, "b")
    links, names = draw.links(draw.randint(1, 2))
    between = route("zoneRoute", f'src="a" dst="b" gw_src="{router}" gw_dst="{second}"', names)
    return Machine(element("zone", 'id="z" routing="Full"', one + other + links + between), (*hosts, *more))


@kind
def pstates(draw: Draw) -> Machine:
    """Hosts with several speeds, which begin with any of them."""
    hosts = [f"h{i}" for i in range(draw.randint(2, 5))]
    links, names = draw.links(2)
    body = links
    for host in hosts:
        n = draw.randint(1, 4)
        speeds = ",".join(draw.speed() for _ in range(n))
        core = draw.maybe(f' core="{draw.randint(2, 4)}"')
        body += element("host", f'id="{host}" speed="{speeds}" pstate="{draw.randrange(n)}"{core}')
    for src, dst in combinations(hosts, 2):
        body += route("route", f'src="{src}" dst="{dst}"', names)
    return Machine(element("zone", 'id="z" routing="Full"', body), tuple(hosts))


@kind
def properties(draw: Draw) -> Machine:
    """Hosts, or clusters, whose ranks have overheads of their own, and properties that mean nothing to messages."""
    hosts = [f"h{i}" for i in range(draw.randint(2, 5))]
    links, names = draw.links(2)
    body = links
    for host in hosts:
        inside = element("prop", f'id="rack" value="{draw.randint(1, 9)}"')
        for name in draw.sample(("smpi/os", "smpi/ois", "smpi/or"), draw.randint(0, 3)):
            below, above = (f"{draw.of(1e-6, 1e-3):g}:{rate:g}" for rate in (draw.of(1e-11, 1e-8), 0))
            steps = f"0:{below};{draw.randint(100, 70_000)}:{above}"
            inside += element("prop", f'id="{name}" value="{steps}"')
        body += draw.host(host, inside)
    for src, dst in combinations(hosts, 2):
        body += route("route", f'src="{src}" dst="{dst}"', names)
    return Machine(element("zone", 'id="z" routing="Full"', body), tuple(hosts))


def _profiled(draw: Draw, *, of_hosts: bool, of_links: bool) -> Machine:
    hosts, files = [f"h{i}" for i in range(draw.randint(2, 5))], {}
    body, names = "", []
    for host in hosts:
        more = ""
        if of_hosts and draw.random() < 0.8:
            files[f"{host}.speed"] = draw.profile(0.1, 1.0)
            more = f' speed_file="{host}.speed"'
        body += draw.host(host, more=more)
    for _ in range(draw.randint(1, 4)):
        more, number = "", draw.n_links + 1
        if of_links and draw.random() < 0.7:
            files[f"l{number}.bandwidth"] = draw.profile(20e6, 9e9)
            more += f' bandwidth_file="l{number}.bandwidth"'
        if of_links and draw.random() < 0.5:
            files[f"l{number}.latency"] = draw.profile(1e-6, 4e-4)
            more += f' latency_file="l{number}.latency"'
        link, name = draw.link(("SHARED", "SHARED", "FATPIPE") if more else ("SHARED", "SPLITDUPLEX"), more)
        body += link
        names.append(name)
    for src, dst in combinations(hosts, 2):
        body += route("route", f'src="{src}" dst="{dst}"', draw.sample(names, draw.randint(1, len(names))))
    return Machine(element("zone", 'id="z" routing="Full"', body), tuple(hosts), files)


@kind
def speed_profiles(draw: Draw) -> Machine:
    """Hosts whose speed changes during the run."""
    return _profiled(draw, of_hosts=True, of_links=False)


@kind
def link_profiles(draw: Draw) -> Machine:
    """Links whose bandwidth and latency change during the run."""
    return _profiled(draw, of_hosts=False, of_links=True)


@kind
def profiles(draw: Draw) -> Machine:
    """Hosts and links that change during the run."""
    return _profiled(draw, of_hosts=True, of_links=True)


@kind
def traces(draw: Draw) -> Machine:
    """Speeds that change by a <trace> in the file, connected to its hosts."""
    hosts = [f"h{i}" for i in range(draw.randint(2, 5))]
    links, names = draw.links(2)
    body = "".join(draw.host(host) for host in hosts) + links
    for src, dst in combinations(hosts, 2):
        body += route("route", f'src="{src}" dst="{dst}"', names)
    for host in draw.sample(hosts, draw.randint(1, len(hosts))):
        lines = sorted({draw.of(1e-5, 0.02) for _ in range(3)})
        text = "".join(f"\n{date:g} {draw.of(0.1, 1):g}" for date in lines)
        body += f'<trace id="t-{host}" periodicity="{draw.of(0.05, 0.2):g}">{text}\n</trace>\n'
        body += element("trace_connect", f'kind="SPEED" trace="t-{host}" element="{host}"')
    return Machine(element("zone", 'id="z" routing="Full"', body), tuple(hosts))


@kind
def constant(draw: Draw) -> Machine:
    """Hosts without any link: messages take the time that an option says."""
    hosts = [f"h{i}" for i in range(draw.randint(2, 6))]
    body = "".join(draw.host(host) for host in hosts)
    # powers of two, whose sums are exact: a message that rounding ends 1e-20 s early is a deadlock to the peer
    settings = (("network/model", "Constant"), ("network/latency-factor", f"{2.0 ** -draw.randint(-2, 19)}"))
    return Machine(
        element("zone", 'id="z" routing="None"', body),
        tuple(hosts),
        left_out=("mixed", "compute", "poll"),
        settings=settings,
    )


@kind
def bypasses(draw: Draw) -> Machine:
    """A zone of hosts where some pairs, one way, do not take their route."""
    hosts, routing = [f"h{i}" for i in range(draw.randint(3, 7))], draw.choice(("Full", "Floyd", "Dijkstra"))
    body = "".join(draw.host(host) for host in hosts)
    links, names = draw.links(4)
    body += links
    if routing == "Full":
        for src, dst in combinations(hosts, 2):
            body += route("route", f'src="{src}" dst="{dst}"', draw.sample(names, 2))
    else:
        body += graph(draw, hosts)
    for src, dst in draw.sample(list(permutations(hosts, 2)), draw.randint(1, 4)):
        body += route("bypassRoute", f'src="{src}" dst="{dst}"', draw.sample(names, draw.randint(1, 3)))
    return Machine(element("zone", f'id="z" routing="{routing}"', body), tuple(hosts))
