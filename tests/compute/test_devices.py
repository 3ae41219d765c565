"""Devices of hosts in programs: kernels, copies, folded arrays and messages in their memory; records and replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.analysis import bounds
from smpy.analysis.pop_metrics import pop
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.replay import replay

HOSTS = "flat hosts=2 cores=4 speed=1Gf nic=5GB/s network=raw"
DEVICE = (
    "host.gpu.speed_64=1Tf host.gpu.speed_32=2Tf host.gpu.memory=1GB host.gpu.memory_bandwidth=1TB/s "
    "host.gpu.link_bandwidth=10GB/s host.gpu.link_latency=5us"
)
MACHINE = f"{HOSTS} {DEVICE}"
LINK_S, LINK_BYTES_PER_S = 5e-6, 10e9
HEAD = "import smpy\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrank = comm.rank\n"
PING_PONG = """
array = smpy.folded({n_bytes} // 8, device={device!r})
for _ in range(3):
    if rank == 0:
        comm.Send(array, 1)
        comm.Recv(array, 1)
    else:
        comm.Recv(array, 0)
        comm.Send(array, 0)
"""


@pytest.fixture
def makespan_s(emulated: Callable) -> Callable[..., float]:
    def run(source: str, n_ranks: int = 1, platform: str = MACHINE, **config: object) -> float:
        ran = emulated(HEAD + source, n_ranks, platform=platform, **{"compute": "models", **config})
        assert ran.error == ""
        return float(ran.outcome.summary.makespan_s)

    return run


@pytest.fixture
def failure(emulated: Callable) -> Callable[..., str]:
    def run(source: str, platform: str = MACHINE, n_ranks: int = 1) -> str:
        ran = emulated(HEAD + source, n_ranks, platform=platform, compute="models")
        return str(ran.error)

    return run


# ---- kernels and copies ----


@pytest.mark.parametrize(("dtype", "bound_by_speed_s"), [("float64", 0.1), ("complex128", 0.1), ("float32", 0.05)])
def test_a_kernel_takes_the_longer_of_its_operations_by_type_and_its_bytes(
    makespan_s: Callable, dtype: str, bound_by_speed_s: float
):
    for gigabytes in (0, 40, 200):
        source = f"smpy.execute(1e11, {gigabytes}e9, device='gpu', dtype={dtype!r})\nsmpy.synchronize()"
        assert makespan_s(source) == pytest.approx(max(bound_by_speed_s, gigabytes * 1e-3), rel=1e-9)


def test_a_rank_computes_beside_its_device_until_it_synchronises(makespan_s: Callable):
    source = "smpy.execute(2e12, device='gpu')\nsmpy.execute(1e9)\nbefore = MPI.Wtime()\nsmpy.synchronize()"
    assert makespan_s(source) == pytest.approx(2.0, rel=1e-7)  # the clock is read once
    assert makespan_s("smpy.execute(5e11, device='gpu')\nsmpy.execute(1e9)\nsmpy.synchronize()") == pytest.approx(1.0)


def test_the_end_of_a_rank_waits_for_its_device(makespan_s: Callable):
    assert makespan_s("smpy.execute(2e12, device='gpu')") == pytest.approx(2.0, rel=1e-9)


def test_ranks_that_share_a_device_share_its_time(makespan_s: Callable):
    source = "smpy.execute(1e12, device='gpu')\nsmpy.synchronize()"
    for n_devices, takes_s in ((1, 4.0), (2, 2.0), (4, 1.0)):
        machine = f"flat hosts=1 cores=4 {DEVICE} host.gpu.count={n_devices}"
        assert makespan_s(source, 4, machine) == pytest.approx(takes_s, rel=1e-9)


def test_a_copy_overlaps_a_kernel_of_another_stream_and_follows_one_of_its_own(makespan_s: Callable):
    copy_s = LINK_S + 5e9 / LINK_BYTES_PER_S
    source = "smpy.copy_to_device(5 * 10**9)\nsmpy.execute(1e12, device='gpu', stream={})\nsmpy.synchronize()"
    assert makespan_s(source.format(1)) == pytest.approx(1.0, rel=1e-9)
    assert makespan_s(source.format(0)) == pytest.approx(1.0 + copy_s, rel=1e-9)
    both_ways = "smpy.copy_to_device(5 * 10**9)\nsmpy.copy_from_device(5 * 10**9, stream=1)\nsmpy.synchronize()"
    assert makespan_s(both_ways) == pytest.approx(copy_s, rel=1e-9)


def test_each_thread_of_a_rank_that_synchronises_waits_for_the_device(makespan_s: Callable):
    source = (
        "import threading, time\nsmpy.execute(1e12, device='gpu')\nthread = threading.Thread(target=smpy.synchronize)\n"
        "thread.start()\ntime.sleep(0.5)\nsmpy.synchronize()\nassert MPI.Wtime() >= 1\nthread.join()\n"
        "smpy.execute(1e12, device='gpu', stream=3)"
    )
    assert makespan_s(source) == pytest.approx(2.0, rel=1e-6)


def test_work_goes_on_behind_its_iteration_by_one_and_by_no_more(makespan_s: Callable, emulated: Callable):
    loop = "smpy.execute(1e9)\nfor k in smpy.iterations('solve', range(500)):\n    smpy.synchronize(0)\n"
    source = f"{loop}    smpy.execute(1e9, device='gpu')\n"
    assert makespan_s(source, iterations=0.01) == pytest.approx(1.5, rel=2e-3)  # what goes on is over behind a gap
    source = f"{loop}    smpy.execute(1e6)\n    if k == 1:\n        smpy.execute(1e15, device='gpu', stream=1)\n"
    ran = emulated(HEAD + source, 1, platform=MACHINE, compute="models", iterations=0.01)
    assert "iterations 'solve': a request of rank 0" in str(ran.outcome.error)
    assert "outlives its iteration by more than one" in str(ran.outcome.error)


def test_synchronising_one_stream_leaves_the_others_alone(makespan_s: Callable):
    source = (
        "smpy.execute(1e12, device='gpu', stream=1)\nsmpy.copy_to_device(10**9)\nsmpy.synchronize(0)\nsmpy.execute(1e9)"
    )
    assert makespan_s(source) == pytest.approx(1 + LINK_S + 0.1, rel=1e-9)


@pytest.mark.parametrize("mode", ["measured", "models"])
def test_a_kernel_of_a_device_takes_modelled_time_where_computing_is_measured_too(makespan_s: Callable, mode: str):
    source = (
        "@smpy.kernel(flop='1e12 * n', device='gpu', dtype='float32')\ndef work(n):\n    return n + 1\n"
        "assert work(2) == 3\nsmpy.synchronize()"
    )
    assert makespan_s(source, compute=mode) == pytest.approx(1.0, rel=1e-2)


# ---- folded arrays ----


def test_operations_on_arrays_of_a_device_are_its_kernels(makespan_s: Callable):
    source = (
        "a = smpy.folded((1000, 1000), {dtype!r}, device='gpu')\nb = a @ a[:, ::-1]\nassert b.device == 'gpu'\n"
        "smpy.synchronize()"
    )
    assert makespan_s(source.format(dtype="f8")) == pytest.approx(2e-3, rel=1e-9)
    assert makespan_s(source.format(dtype="f4")) == pytest.approx(1e-3, rel=1e-9)
    assert makespan_s(source.format(dtype="c16")) == pytest.approx(8e-3, rel=1e-9)
    assert makespan_s("a = smpy.folded(10**7, device='gpu')\na += 1\nsmpy.synchronize()") == pytest.approx(
        1.6e-4, rel=1e-9
    )


def test_an_operation_on_two_types_computes_with_the_larger_one(makespan_s: Callable):
    arrays = "a, b = smpy.folded((1000, 1000), device='gpu'), smpy.folded((1000, 1000), 'f4', device='gpu')\n"
    for product in ("a @ b", "b @ a"):
        assert makespan_s(f"{arrays}{product}\nsmpy.synchronize()") == pytest.approx(2e-3, rel=1e-9)


def test_parts_of_an_array_of_a_device_are_there_too(makespan_s: Callable):
    source = (
        "a = smpy.folded((10, 6 * 10**6), device='gpu')\nparts = a.view('f4'), a.real, a.imag, a.T, a[2:]\n"
        "assert {part.device for part in parts} == {'gpu'}\n"
        "view = a.view('f4')[1:]\ndel a, parts\ntry:\n    smpy.folded(10**8, device='gpu')\n"
        "except Exception as full:\n    assert '520 MB that are left' in str(full)\nelse:\n    raise AssertionError"
    )
    makespan_s(source)


def test_blas_on_arrays_of_a_device_takes_its_time(makespan_s: Callable):
    pytest.importorskip("scipy")
    source = (
        "a = smpy.folded((1000, 1000), device='gpu')\nc = smpy.blas.dgemm(1.0, a, a)\nassert c.device == 'gpu'\n"
        "smpy.synchronize()"
    )
    assert makespan_s(source) == pytest.approx(2e-3, rel=1e-9)


def test_a_number_is_read_when_the_device_has_computed_it(makespan_s: Callable):
    source = "a = smpy.folded(10**7, device='gpu')\nx = float(a.sum())\nsmpy.execute(1e9)"
    assert makespan_s(source) == pytest.approx(1 + 8e7 / 1e12, rel=1e-9)


def test_arrays_are_copied_over_the_link(makespan_s: Callable):
    source = "a = smpy.folded(10**7)\nb = a.to_device('gpu')\nassert b.to_device('gpu') is b\nc = b.to_device('cpu')"
    assert makespan_s(source) == pytest.approx(2 * (LINK_S + 8e7 / LINK_BYTES_PER_S), rel=1e-9)


def test_an_array_has_its_threads_in_both_memories(makespan_s: Callable):
    times_s = (
        makespan_s(f"a = smpy.folded((1000, 1000), threads=1){copies}\na @ a", platform=f"{MACHINE}", cpus_per_task=2)
        for copies in ("", ".to_device('gpu').to_device('cpu')")
    )
    plain_s, copied_s = times_s
    assert copied_s - plain_s == pytest.approx(2 * (LINK_S + 8e6 / LINK_BYTES_PER_S), rel=1e-9)


def test_memory_of_a_device_is_limited_and_given_back(makespan_s: Callable, failure: Callable):
    source = "for _ in range(3):\n    a = smpy.folded(10**8, device='gpu')\n    view = a[1:]\n    del a{}"
    assert makespan_s(source.format(", view")) == 0
    assert "800 MB on the device of rank 0 are more than the 200 MB that are left of its 1 GB" in failure(
        source.format("")
    )


ONE_DEVICE = f"flat hosts=1 cores=2 {DEVICE}"
TAKE = "a = smpy.folded(75 * 10**6, device='gpu')\n"


def test_memory_that_a_rank_takes_later_is_free_for_another_until_then(makespan_s: Callable):
    source = f"if rank:\n    {TAKE}    smpy.inject_seconds(1)\n    del a\nelse:\n    smpy.inject_seconds(2)\n    {TAKE}"
    assert makespan_s(f"{source}comm.Barrier()", 2, ONE_DEVICE) == pytest.approx(2, rel=1e-3)


def test_memory_that_a_rank_gives_back_later_is_not_free_until_then(failure: Callable):
    source = f"if rank:\n    smpy.inject_seconds(1)\n    {TAKE}else:\n    {TAKE}    smpy.inject_seconds(2)\n    del a"
    assert "600 MB on the device of rank 1 are more than the 400 MB that are left" in failure(source, ONE_DEVICE, 2)


def test_a_spawned_rank_has_a_device_of_its_own_host(makespan_s: Callable, tmp_path: Path):
    child = tmp_path / "child.py"
    child.write_text("import smpy\nfrom mpi4py import MPI\nsmpy.execute(2e12, device='gpu')\n")
    source = f"import sys\ncomm.Spawn(sys.executable, [{str(child)!r}], maxprocs=1)\nsmpy.execute(1e12, device='gpu')"
    own = {"platform": f"flat hosts=2 cores=1 {DEVICE}", "ranks_per_host": 1}
    assert makespan_s(source, 1, **own) == pytest.approx(2.0, rel=1e-3)


# ---- messages ----


@pytest.mark.parametrize("n_bytes", [8, 1 << 20])
def test_ping_pong_between_devices_equals_the_hosts_with_copies_or_latencies(makespan_s: Callable, n_bytes: int):
    def takes_s(device: str, platform: str) -> float:
        return makespan_s(PING_PONG.format(n_bytes=n_bytes, device=device), 2, platform, map_by="host")

    host_s, through_s, direct_s = (
        takes_s(*case) for case in (("cpu", MACHINE), ("gpu", MACHINE), ("gpu", f"{MACHINE} host.gpu.direct=true"))
    )
    assert through_s == pytest.approx(host_s + 12 * (LINK_S + n_bytes / LINK_BYTES_PER_S), rel=1e-9)
    assert direct_s == pytest.approx(host_s + 12 * LINK_S, rel=1e-9)  # the network is slower than the links


def test_peers_exchange_over_their_own_links(makespan_s: Callable):
    machine = f"flat hosts=1 cores=2 {DEVICE} host.gpu.count=2 host.gpu.direct=true"
    peers = f"{machine} host.gpu.peer_bandwidth=100GB/s host.gpu.peer_latency=1us"
    source = PING_PONG.format(n_bytes=10**8, device="gpu")
    links_s, peers_s = makespan_s(source, 2, machine), makespan_s(source, 2, peers)
    assert links_s - peers_s == pytest.approx(6 * (2 * LINK_S + 1e-2 - 1e-6 - 1e-3), rel=1e-7)


def test_buffers_of_a_device_are_replaced_and_sent_to_oneself_as_two_messages_are(makespan_s: Callable):
    n_bytes = 8 * 10**6
    copies_s = 2 * (LINK_S + n_bytes / LINK_BYTES_PER_S)
    for call in ("comm.Sendrecv_replace(a, 1 - rank, 0, 1 - rank)", "comm.Sendrecv(a, 1 - rank, 0, a, 1 - rank)"):
        host_s, device_s = (
            makespan_s(f"a = smpy.folded(10**6, device={device!r})\n{call}", 2, map_by="host")
            for device in ("cpu", "gpu")
        )
        assert device_s == pytest.approx(host_s + copies_s, rel=1e-9)
    alone = "a = smpy.folded(10**6, device='gpu')\ncomm.Sendrecv(a, 0, 0, a, 0)"
    takes_s = makespan_s(alone, platform=f"{MACHINE} host.gpu.direct=true")
    assert takes_s == pytest.approx(2 * n_bytes / 1e12, abs=3e-6)  # and the calls' overheads


def test_a_message_in_parts_takes_memory_of_devices(makespan_s: Callable):
    source = (
        "a = smpy.folded(10**6, device={!r})\n"
        "part = comm.Precv_init(a, 4, 0, 0) if rank else comm.Psend_init(a, 4, 1, 0)\n"
        "part.Start()\nif rank == 0:\n    part.Pready_range(0, 3)\npart.Wait()"
    )
    host_s, device_s = (makespan_s(source.format(device), 2, map_by="host") for device in ("cpu", "gpu"))
    assert device_s == pytest.approx(host_s + 2 * (LINK_S + 8e6 / LINK_BYTES_PER_S), rel=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        *(
            f"comm.{call}(smpy.folded(10), a)"
            for call in ("Scatter", "Gather", "Allgather", "Alltoall", "Scan", "Reduce")
        ),
        "comm.Scatterv([smpy.folded(10), [10]], a)",
        "MPI.SUM.Reduce_local(smpy.folded(10), a)",
        "MPI.Win.Create(a)",
        "w = MPI.Win.Create(smpy.folded(10)); w.Lock(0); w.Get_accumulate(smpy.folded(10), a, 0)",
        "comm.Bcast(a)",
        "comm.Allreduce(a, smpy.folded(10))",
        "comm.Allreduce(smpy.folded(10), a)",
        "comm.Iallgather(a, smpy.folded(10 * comm.size)).Wait()",
        "comm.Alltoallv([a, [10], [0], MPI.DOUBLE], [smpy.folded(10), [10], [0], MPI.DOUBLE])",
        "w = MPI.Win.Create(smpy.folded(10)); w.Fence(); w.Put(a, 0); w.Fence()",
        "w = MPI.Win.Create(a); w.Fence(); w.Get(smpy.folded(10), 0); w.Fence()",
    ],
)
def test_other_calls_than_messages_refuse_memory_of_a_device(failure: Callable, call: str):
    assert 'copy it to the host first, array.to_device("cpu")' in failure(f"a = smpy.folded(10, device='gpu')\n{call}")


def test_an_array_is_pickled_in_the_memory_of_the_host(makespan_s: Callable):
    source = "a = comm.bcast(smpy.folded(10**6, device='gpu'))\nassert a.device == 'cpu'"
    assert makespan_s(source) == pytest.approx(LINK_S + 8e6 / LINK_BYTES_PER_S, rel=1e-2)


# ---- bad input ----


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("smpy.execute(1, device='gpux')", "did you mean 'gpu'?"),
        ("smpy.execute(1, device='gpu', dtype='float16')", "give the machine speed_16 (it has speed_64, speed_32)"),
        ("smpy.execute(1, device='gpu', dtype='flaot64')", "did you mean 'float64'?"),
        ("smpy.execute(1, device='gpu', stream=16)", "a rank has streams 0 to 15"),
        ("smpy.execute(1, device='gpu', threads=2)", "leave out threads"),
        ("smpy.kernel(device='gpu', threads=2)", "leave out threads"),
        ("smpy.execute(0, random_bytes=8, device='gpu')", "leave out random_bytes, and add them to bytes"),
        ("smpy.kernel(device='gpu', random_bytes='8 * n')", "leave out random_bytes, and add them to bytes"),
        ("smpy.copy_to_device(-1)", "give a number of at least 0"),
        ("smpy.folded(2, device='gpu') + smpy.folded(2)", "copy them to one of the two (to_device) before"),
        ("import numpy\nsmpy.folded(2, device='gpu') + numpy.ones(2)", "stands for a real array there"),
        ("import numpy\nnumpy.add(a := smpy.folded(2, device='gpu'), a, out=numpy.ones(2))", "stands for a real array"),
    ],
)
def test_bad_input_is_one_sentence_with_a_suggestion(failure: Callable, source: str, says: str):
    assert says in failure(source)


GPU_GROUP = (
    *(("group.gpu.count", "2"), ("group.gpu.names", "gpu-*")),
    *(("group.gpu.gpu.speed_64", "1Tf"), ("group.gpu.gpu.link_bandwidth", "10GB/s")),
)
TWO_GROUPS = (("group.cpu.count", "1"), *GPU_GROUP)


NONE = "rank 0 runs on node-0, which has no device; no host of flat has one: describe it in the machine's file"
ELSEWHERE = (
    "rank 0 runs on cpu-0, which has no device; 2 of 3 hosts have some (gpu-[0-1]): place the rank on one of them"
)
NO_SPEED = (
    "rank 1 runs on gpu-1, whose device does not compute with numbers of 32 bits: give the machine speed_32 (it has"
)


@pytest.mark.parametrize(
    ("call", "options", "sentence"),
    [
        ("smpy.execute(1, device='gpu')", (), NONE),
        ("smpy.folded(1, device='gpu')", (), NONE),
        ("smpy.copy_to_device(1)", (), NONE),
        ("smpy.kernel(flop=1, device='gpu')(abs)(1)", TWO_GROUPS, ELSEWHERE),
        ("rank == 0 or smpy.execute(1, device='gpu', dtype='float32')", GPU_GROUP, NO_SPEED),
    ],
)
def test_a_device_that_a_host_lacks_is_one_sentence(emulated: Callable, call: str, options: tuple, sentence: str):
    source = f"{HEAD}def work():\n    {call}\nwork()\n"
    ran = emulated(source, 2, platform="flat", options=options, compute="models", map_by="host")
    assert (ran.outcome.exit_code, type(ran.outcome.error)) == (2, UsageError)
    assert str(ran.outcome.error).startswith(f"program.py:6: {sentence}")
    assert "\n" not in str(ran.outcome.error)


def test_a_program_may_look_for_a_device(makespan_s: Callable):
    source = (
        "try:\n    smpy.execute(1e12, device='gpu')\nexcept Exception as lacking:\n"
        "    assert 'has no device' in str(lacking)\n    smpy.execute(1e9)"
    )
    assert makespan_s(source, platform=HOSTS) == pytest.approx(1.0)


# ---- records, replays, bounds ----

MIXED = """
a = smpy.folded((3000, 3000), device='gpu')
for _ in range(4):
    smpy.copy_to_device(10**8, stream=1)
    a @ a
    with smpy.region('wait'):
        smpy.synchronize()
    if rank == 0:
        comm.Send(a, 1)
    else:
        comm.Recv(a, 0)
"""


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Trace:
    folder = tmp_path / "trace"
    ran = emulated(HEAD + MIXED, 2, platform=MACHINE, compute="models", map_by="host", trace=folder)
    assert ran.error == ""
    return Trace(folder)


def test_waiting_for_a_device_is_a_kind_of_time(traced: Trace):
    kinds = dict(zip(traced.info["profile"]["kinds"], map(sum, zip(*_spent(traced), strict=True)), strict=True))
    assert kinds["device"] == pytest.approx(2 * 4 * max(0.054, LINK_S + 0.01), rel=1e-9)
    assert traced.info["device_share"] == pytest.approx(kinds["device"] / sum(kinds.values()), rel=1e-9)


def test_waits_for_devices_count_as_computing_in_efficiencies(traced: Trace):
    waits_s = 4 * max(0.054, LINK_S + 0.01)
    (whole,), (inside,) = pop([traced], replay).runs, pop([traced], region="wait").runs
    assert whole.longest_computing_s == pytest.approx(waits_s, rel=1e-9)
    assert whole.parallel == pytest.approx(waits_s / traced.makespan_s, rel=1e-9)
    assert whole.serialisation * whole.transfer == pytest.approx(whole.communication, rel=1e-9)
    assert inside.parallel == pytest.approx(1.0)


def test_a_summary_tells_how_busy_the_devices_were(emulated: Callable):
    source = "smpy.execute(1e12 * (1 + rank), device='gpu')\nsmpy.synchronize()"
    ran = emulated(HEAD + source, 2, platform=f"flat hosts=1 cores=2 {DEVICE} host.gpu.count=3", compute="models")
    assert ran.error == ""
    (remark,) = (each for each in ran.outcome.summary.remarks if each.topic == "devices")
    assert remark.lines == ("2 with ranks computed 75.0% of the time, the busiest 100.0%",)


def test_the_part_of_devices_leaves_skipped_iterations_out(emulated: Callable):
    source = (
        "for k in smpy.iterations('solve', range(500)):\n    smpy.execute(1e9, device='gpu')\n    smpy.synchronize()"
    )
    ran = emulated(HEAD + source, 1, platform=MACHINE, compute="models", iterations=0.01)
    assert ran.outcome.summary.makespan_s == pytest.approx(0.5)
    (remark,) = (each for each in ran.outcome.summary.remarks if each.topic == "devices")
    assert remark.facts["share"] == pytest.approx(1.0)


def _spent(trace: Trace) -> list[list[float]]:
    return [site["spent_s"] for site in trace.info["profile"]["sites"]]


def test_a_replay_performs_the_work_of_devices_again(traced: Trace):
    assert replay(traced).makespan_s == pytest.approx(traced.makespan_s, rel=1e-12)
    faster = replay(traced, options=[("host.gpu.speed_64", "x2")])
    assert traced.makespan_s - faster.makespan_s == pytest.approx(4 * 0.027, rel=1e-9)
    direct = replay(traced, options=[("host.gpu.direct", "true")])
    assert direct.makespan_s < traced.makespan_s


def test_a_replay_on_hosts_without_devices_says_so(traced: Trace):
    with pytest.raises(UsageError, match=r"rank \d runs on node-\d, which has no device; no host of flat"):
        replay(traced, platform=HOSTS)
    single = f"{HOSTS} host.gpu.speed_32=1Tf host.gpu.link_bandwidth=10GB/s"
    with pytest.raises(UsageError, match=r"rank \d runs on node-\d, whose device .* \(it has speed_32\)"):
        replay(traced, platform=single)


def test_a_replay_changes_the_devices_of_hosts_by_name(traced: Trace):
    faster = replay(traced, options=[("host[node-0].gpu.speed_64", "x2")])
    assert faster.makespan_s == pytest.approx(traced.makespan_s, rel=1e-4)  # the other rank is as slow
    both = replay(traced, options=[("host[node-?].gpu.speed", "x2")])
    assert traced.makespan_s - both.makespan_s == pytest.approx(4 * 0.027, rel=1e-9)


def test_bounds_name_devices_and_their_links(traced: Trace):
    shares = {bound.part: bound.share for bound in bounds(traced, replay).bounds}
    kernels_s, copies_s = 4 * 0.054, 4 * 2 * (LINK_S + 72e6 / LINK_BYTES_PER_S)
    assert shares["device"] == pytest.approx(kernels_s / traced.makespan_s, rel=1e-6)
    assert shares["device_link"] == pytest.approx(copies_s / traced.makespan_s, rel=1e-6)
