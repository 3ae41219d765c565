"""Any platform, hostfile or program is read, or refused at once in a line or two."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import pytest

from smpy.emulate.run.run import run
from smpy.errors import PlatformError, SmpyError, UsageError
from smpy.options import RunConfig
from smpy.platforms import default_cluster, place, read_hostfile, read_machine, read_simgrid_xml
from smpy.platforms.inspection.checks import findings
from smpy.platforms.inspection.drawing import draw_svg
from smpy.platforms.inspection.inspection import overview
from smpy.platforms.own_format.writing import write_toml
from tests.platforms.mutations import mutate

PEER = Path(__file__).parents[1] / "peer" / "platforms"
HOSTS = b"# hosts\nnode-0\nnode-1:2\n\nnode-2 : 3  # three\n"
RANKS = b"# ranks\nrank 1=node-2 slot=0\nrank 0=node-1 slot=1:2\n\nrank 2=node-1\n"
CLUSTER = "<cluster id='c' prefix='n' suffix='' radical='{}' speed='1Gf' bw='1GBps' lat='1us' {}/>"

pytestmark = pytest.mark.timeout(60)


def refusal(read: Callable[[], object]) -> str:
    """Refusal of a file; empty when it is read. Any other error fails the test."""
    try:
        read()
    except SmpyError as error:
        return str(error)
    return ""


TOML = b"""# ours
name = "nova"
include = ["costs.toml"]
[host]
count = 48
names = "nova-[1-48].site"
cores = "64 cores"
sockets = 2
speed = "40Gf"
loopback_bandwidth = "10GB/s"
[nic]
bandwidth = "100 Gb/s"
latency = "1us"
duplex = "full"
limit = "300Gb/s"
[topology]
kind = "fat-tree"
ports = 36
oversubscription = 2.5
[network]
envelope = "50B"
latency_factor = {"0" = 1.5, "8KiB" = 3}
bandwidth_factor = "0:0.9;64KiB:0.8"
[mpi]
eager_limit = "16KiB"
send_overhead = {"0" = "1us", "8KiB" = ["2us", "0.5ns"]}
polls = "notice"
algorithms = {alltoall = "ring"}
[power]
idle = "200W"
busy = "700W"
"""


GROUPS = b"""fills_hosts = false
[host]
cores = 48
memory_bandwidth = "400GB/s"
core_memory_bandwidth = "25GB/s"
caches = {"32KiB" = "100GB/s", "1MiB" = "60GB/s"}
properties = {colour = "red"}
[group.fat]
count = 2
cores = 128
nic = {bandwidth = "400Gb/s", latency = "1us"}
power = {idle = "10W", busy = "900W"}
[group.thin]
names = "t[1-3].site"
price.host_eur = 3
[group.one]
names = "mars"
[topology]
kind = "fat-tree"
children = [3, 2]
parents = [1, 2]
switch_bandwidth = "400Gb/s"
level2_latency = "1us"
"""
LISTED_EDGES = b"""[topology]
kind = "graph"
edges = [
  {a = "h0", b = "s", cables = 2},
  {a = "h1", b = "s", bandwidth = "1GB/s", latency = "1us"},
]
host_pattern = ["h0", "h*"]
[group.a]
names = "h[0-1]"
"""


def _built(machine: str | Path, options: list[tuple[str, str]]) -> None:
    place(read_machine(machine, 1, options).build(), 1)


TOMLS = (
    TOML,
    GROUPS,
    LISTED_EDGES,
    b"""[host]
cores = 8
names = 't-[0-7]'
memory_bandwidth = '100GB/s'
[topology]
kind = 'torus'
dimensions = [2, 2, 2]
[nic]
rails = 2
[network]
model = 'smpi'
[mpi]
costs = 'smpi'
""",
    b"""include = 'hdr'
[topology]
kind = 'dragonfly'
groups = 2
routers_per_chassis = 2
hosts_per_router = 4
routing = 'valiant'
""",
    b"""[topology]
kind = 'graph'
edges = 'edges.csv'
host_pattern = 'h*'
[price]
host_eur = 5000
host_hour_eur = 1.5
cable_eur = 90
lifetime_years = 5
""",
    b"""[topology]
kind = 'hyperx'
dimensions = '3x3'
hosts_per_switch = 2
cables = [1, 2]
[mpi]
recv_overhead = '0:1us:1ns;1KiB:2us:2ns'
wtime = '20ns'
[host]
loopback_bandwidth = 0
loopback_latency = 0
""",
)
LINES = (
    b"fat-tree hosts=1000 cores=64 nic=200Gb/s latency=1us oversubscription=2 speed=3Gf names=n-*.x",
    b"fat-tree 4x4 parents=1,2 cables=1x2 mpi.eager_limit=8KiB mpi.send_overhead=0:1us;8KiB:2us:1ns",
    b"flat hosts=16 sockets=2 host.cores=24 backbone_bandwidth=100GB/s backbone_latency=1us network=smpi",
    b"torus 4x4x2 cores=4 nic=100Gb/s latency=1us rails=2 speed=40Gf",
    b"dragonfly groups=3 chassis_per_group=2 routers_per_chassis=2 hosts_per_router=2 blue=2 routing=valiant seed=3",
    b"hyperx 4x3 hosts=20 cables=2,1 routing=valiant network.model=lv08 host.loopback_bandwidth=5GB/s",
)
EDGES = (
    b'a,b,bandwidth,latency,cables\nh1,s1,100Gbps,1us,1\nh2,s1,,,2\nh3,"s,2",25GB/s,500ns,\ns1,"s,2",400Gbps,2us,3\n'
)
PROFILE = b"0.0 1.0\n0.5 0.25\n2.0 0.5\nLOOPAFTER 1.0\n"
PROFILED = """<platform version='4.1'><zone id='z' routing='Full'><host id='a' speed='1Gf' speed_file='profile'/>
<host id='b' speed='1Gf' state_file='profile'/></zone></platform>"""


def look(what: str | Path) -> None:
    """All that `smpy platform` does with a machine."""
    machine = read_machine(what, 1)
    platform = machine.build()
    assert machine.fingerprint
    findings(overview(machine, platform))
    place(platform, 1)
    refusal(lambda: draw_svg(platform))
    refusal(lambda: write_toml(machine))


class Mutated:
    """Each kind of input, one mutation of it for a seed, read as far as it can be without a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = default_cluster(300).build()
        (folder / "costs.toml").write_bytes(b"[mpi]\noverhead = '0.3us'\n")
        (folder / "edges.csv").write_bytes(EDGES)

    def xml(self, seed: int) -> None:
        sources = sorted(PEER.glob("*.xml"))
        look(self._file("machine.xml", sources[seed // 2 % len(sources)].read_bytes(), seed))

    def toml(self, seed: int) -> None:
        look(self._file("machine.toml", TOMLS[seed // 2 % len(TOMLS)], seed))

    def line(self, seed: int) -> None:
        look(mutate(LINES[seed // 2 % len(LINES)], seed).decode("utf-8", "surrogateescape"))

    def edge_list(self, seed: int) -> None:
        look(f"graph {self._file('mutated.csv', EDGES, seed)}")

    def profile(self, seed: int) -> None:
        self._file("profile", PROFILE, seed)
        (self._folder / "profiled.xml").write_text(PROFILED)
        look(self._folder / "profiled.xml")

    def hostfile(self, seed: int) -> None:
        place(self._cluster, 3, self._file("hosts", HOSTS, seed), map_by=(None, "host", "random")[seed % 3])

    def rank_file(self, seed: int) -> None:
        place(self._cluster, 3, self._file("ranks", RANKS, seed), map_by="file")

    def _file(self, name: str, source: bytes, seed: int) -> Path:
        path = self._folder / name
        path.write_bytes(mutate(source, seed))
        return path


KINDS = [name for name in vars(Mutated) if not name.startswith("_")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seeds", [range(50), pytest.param(range(50, 620), marks=pytest.mark.campaign)], ids=["few", "many"]
)
@pytest.mark.timeout(300)
def test_mutated_input_is_read_or_refused_in_a_few_words(tmp_path: Path, kind: str, seeds: range) -> None:
    read = getattr(Mutated(tmp_path), kind)
    n_refused = 0
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began_s = process_time()
            told = refusal(partial(read, seed))
            took_s = process_time() - began_s
        assert len(told) < 3000, f"seed {seed}"
        assert took_s < 3 or len(seeds) < 500, f"seed {seed}"
        n_refused += bool(told)
    assert 0.1 * len(seeds) < n_refused < 0.9 * len(seeds)  # else mutations are too mild, or break the syntax only


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_a_mutated_change_is_made_or_refused_in_a_few_words(seed: int) -> None:
    options = b"host.cores=x2 nic.latency=500ns network.bandwidth=x0.5 topology.ports=64 smpi/os=0:1us host.speed=x2"
    for number in range(seed, seed + 10):
        words = mutate(options, number).decode("utf-8", "surrogateescape").split()
        pairs = [(key, value) for key, _, value in (word.partition("=") for word in words)]
        for machine in ("default", PEER / "two_clusters.xml"):
            told = refusal(partial(_built, machine, pairs))
            assert len(told) < 3000, f"seed {number}"


def _platform(folder: Path, body: str) -> Path:
    path = folder / "machine.xml"
    path.write_text(f"<platform version='4.1'>{body}</platform>")
    return path


TREE = "topology='FAT_TREE' topo_parameters='{}'"
TOO_LARGE = {
    "one range": CLUSTER.format("0-1000000000", ""),
    "several ranges": CLUSTER.format(",".join(f"{i}00000000-{i}99999999" for i in range(1, 10)), ""),
    "a range of no computer": CLUSTER.format("0-99999999999999999", ""),
    "several clusters": "<zone id='z' routing='Full'>"
    + "".join(CLUSTER.format("0-9999999", "").replace("'c'", f"'c{i}'").replace("'n'", f"'n{i}-'") for i in range(999))
    + "</zone>",
    "switches": CLUSTER.format("0-7", TREE.format("3;2,2,2;10000,10000,10000;1,1,1")),
    "cables": CLUSTER.format("0-7", TREE.format("3;2,2,2;1,1,1;1000000000,1000000000,1")),
}


@pytest.mark.parametrize("body", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_machine_that_no_memory_holds_is_refused_with_an_estimate(tmp_path: Path, body: str) -> None:
    with pytest.raises(PlatformError, match=r"would take [\d.e+]+ [TEP]?G?B of memory"):
        read_simgrid_xml(_platform(tmp_path, body)).build()


def test_more_ranks_than_memory_holds_are_refused_with_an_estimate(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("")
    with pytest.raises(
        UsageError, match=r"1,000,000,000 ranks would take 10 TB of memory at least, and there are .* GB"
    ):
        run(RunConfig(n_ranks=10**9, program=str(program)))


def test_a_hostfile_that_adds_up_to_billions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("node-0:9000000\n" * 1000)
    with pytest.raises(PlatformError, match=r"hosts:2: .* 18,000,000 ranks: at most 10,000,000"):
        read_hostfile(path, default_cluster(1).build())


MISTAKES = {
    "<?xml version='1.0' encoding='klingon'?><platform version='4.1'/>": r"xml:1: cannot read its encoding: .*klingon",
    "<platform version='4.1'>" + "<zone id='z' routing='Full'>" * 3000: r"elements are nested more than 200 deep",
    "<platform version='4.1'><zone id='z' routing='Full'><host id='h' speed='1e400f'/>": r"larger than any number",
    "<platform version='4.1'><zone id='z' routing='Full'><host id='h' speed='nanf'/>": r"'nanf' is not a speed",
    "<platform version='4.1'><zone id='z' routing='Full'><host id='h' speed='1Gf' core='3000000000'/>": r"has 3000",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_numbers_and_names_that_nobody_meant_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(text if "</" in text or "klingon" in text else text + _closing(text))
    with pytest.raises(PlatformError, match=MISTAKES[text]):
        read_simgrid_xml(path).build()


OUT_OF_RANGE = {
    "flat hosts=2 nic=1e-320Gb/s": r"nic: it is 1.2.*e-312, and must be from 1e-30 to 1e\+30",
    "flat hosts=2 latency=1e300s": r"latency: it is 1e\+300",
    "flat hosts=2 speed=1e-300f": r"speed: it is 1e-300",
    "flat hosts=2 mpi.copy_bandwidth=1e-310B/s": r"copy_bandwidth: it is 1e-310",
    "flat hosts=2 mpi.eager_limit=0 mpi.copy_bandwidth=1e-310B/s": r"copy_bandwidth: it is 1e-310",
    "flat hosts=2 mpi.send_overhead=0:1us:1e300s": r"send_overhead: .* is too long",
    "flat hosts=2 network.crosstraffic=1e308": r"crosstraffic: it is 1e\+308",
    "flat hosts=2 network.latency_factor=1e308": r"latency_factor must be finite everywhere",
    "flat hosts=2 network.bandwidth_factor=1e-308": r"bandwidth_factor must be above 0",
    "hyperx 2x2 hosts=4 nic.limit=1e-320B/s": r"limit: it is .*e-321",
}


@pytest.mark.parametrize("line", OUT_OF_RANGE)
def test_a_number_that_leads_beyond_all_numbers_is_refused(line: str) -> None:
    """With an endless date or an idle link, a run would end as a deadlock that nobody made."""
    with pytest.raises(PlatformError, match=OUT_OF_RANGE[line]):
        read_machine(line, 2).build()


ATTRIBUTES_OUT_OF_RANGE = {
    ("bw='1GBps'", "bw='1e-320GBps'"): "link 'c_link' has a bandwidth of .* at least 1e-30",
    ("lat='1us'", "lat='1e300s'"): "link 'c_link' has a latency of 1e\\+300 s: it can be 1e\\+30 s",
    ("lat='1us'", "lat='-1us'"): "link 'c_link' has a latency of -1e-06 s: it cannot be negative",
    ("lat='1us'", "lat='1us' loopback_bw='-1Bps'"): "link 'c_loopback' has a bandwidth of -1 bytes/s",
    ("lat='1us'", "lat='1us' loopback_bw='1Bps' loopback_lat='-1s'"): "link 'c_loopback' has a latency of -1 s",
    ("lat='1us'", "lat='1us' limiter_link='-1Bps'"): "link 'c_limiter' has a bandwidth of -1 bytes/s",
    ("lat='1us'", "lat='1us' bb_bw='1Bps' bb_lat='-1s'"): "link 'c_backbone' has a latency of -1 s",
    ("speed='1Gf'", "speed='1e-300f'"): "has a speed of 1e-300 flop/s: it must be at least 1e-30",
}


@pytest.mark.parametrize(("usual", "odd"), ATTRIBUTES_OUT_OF_RANGE)
def test_a_number_of_a_cluster_that_cannot_be_is_named(tmp_path: Path, usual: str, odd: str) -> None:
    path = _platform(tmp_path, CLUSTER.format("0-3", "").replace(usual, odd))
    with pytest.raises(PlatformError, match=ATTRIBUTES_OUT_OF_RANGE[usual, odd]):
        read_simgrid_xml(path).build()


LOOSELY_WRITTEN = {
    "<host id='h' speed='1Gf' core='1_0'/>": "core",
    "<host id='h' speed='1Gf' core='\u0663'/>": "core",
    "<host id='h' speed='\u0663Gf'/>": "speed",
    "<host id='h' speed='1Gf' coordinates='1_0 0 0'/>": "coordinates",
    "<host id='h' speed='1Gf'/></zone><trace id='t' periodicity='nan'>0 1</trace><zone>": "periodicity",
}


@pytest.mark.parametrize("inside", LOOSELY_WRITTEN)
def test_a_number_is_written_in_plain_digits(tmp_path: Path, inside: str) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(f"<platform version='4.1'><zone id='z' routing='Full'>{inside}</zone></platform>", "utf-8")
    with pytest.raises(PlatformError, match=LOOSELY_WRITTEN[inside]):
        read_simgrid_xml(path).build()


def test_what_cannot_stand_beside_a_zone_is_named_as_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"<actor> is not supported"):
        read_simgrid_xml(_platform(tmp_path, CLUSTER.format("0-3", "") + "<actor host='n0' function='f'/>"))


def test_a_profile_that_cannot_be_is_told_with_its_line(tmp_path: Path) -> None:
    trace = "\n<trace id='t' periodicity='1e-20'>0 1</trace><trace_connect kind='SPEED' trace='t' element='n0'/>"
    with pytest.raises(PlatformError, match=r"machine.xml:2: <trace id='t'>: it repeats every 1e-20 s"):
        read_simgrid_xml(_platform(tmp_path, CLUSTER.format("0-3", "") + trace)).build()


@pytest.mark.parametrize("name", ["machine.toml", "hosts"])
def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + (b"[host]\ncount = 7\n" if name == "machine.toml" else b"node-0\nnode-1\n"))
    if name == "machine.toml":
        assert read_machine(path, 1).n_hosts == 7
    else:
        assert read_hostfile(path, default_cluster(256).build()) == [0, 1]


def _closing(text: str) -> str:
    return "</zone>" * text.count("<zone") + "</platform>"


def test_a_name_that_no_screen_has_room_for_is_cut(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"^.{100,700}$"):
        read_simgrid_xml(_platform(tmp_path, f"<{'x' * 100_000}/>"))


def _endless(folder: Path) -> str:
    return "/dev/zero"


def _pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


def _large(folder: Path) -> str:
    with (folder / "large").open("wb") as file:
        file.truncate(10 << 30)
    return str(folder / "large")


def _null(folder: Path) -> str:
    return "a\0b"


NO_FILES = {
    _endless: "it is a device",
    _pipe: "it is a pipe, and nobody writes into it",
    _large: "it is larger than 256 MiB",
    str: "directory",
    _null: "null character|there is no program",
}


@pytest.mark.parametrize("role", ["program", "platform", "hostfile"])
@pytest.mark.parametrize("make", NO_FILES)
def test_what_is_no_file_is_refused_in_any_role(tmp_path: Path, role: str, make: Callable[[Path], str]) -> None:
    (tmp_path / "program.py").write_text("")
    path = make(tmp_path)
    config: dict[str, object] = {"program": str(tmp_path / "program.py")}
    config |= {role: path if role == "program" else Path(path)}
    with pytest.raises(UsageError, match=NO_FILES[make]):
        run(RunConfig(n_ranks=2, **config))  # type: ignore[arg-type]


def test_a_pipe_into_which_somebody_writes_is_read(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"node-0:3\n")
    os.close(writer)
    assert read_hostfile(f"/dev/fd/{reader}", default_cluster(4).build()) == [0, 0, 0]
    os.close(reader)


@pytest.mark.parametrize("source", ["(" * 5000 + ")" * 5000, "x=" + "-" * 200_000 + "1", "x" + ".x" * 200_000])
def test_a_program_too_deep_for_the_compiler_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "program.py").write_text(source)
    with pytest.raises(SmpyError, match=r"nested too deep|too many nested|too complex"):
        run(RunConfig(n_ranks=2, program=str(tmp_path / "program.py")))


@pytest.mark.parametrize("launcher", ["python", "python3", "python3.12", "mpiexec", "/usr/bin/mpirun", "srun"])
def test_a_launcher_before_the_program_is_to_be_left_out(launcher: str) -> None:
    with pytest.raises(UsageError, match=f"leave '{launcher}' and its options out"):
        run(RunConfig(n_ranks=2, program=launcher, args=("program.py",)))
