"""Outputs of message benchmarks are read, and other text is refused with its line."""

import tomllib

import pytest
from click.testing import CliRunner

from smpy.calibrate.network.model import fit_costs
from smpy.calibrate.network.recorded import read_recorded
from smpy.cli.main import main
from smpy.errors import UsageError

LATENCY_US, MB_PER_S = 1.5, 10_000.0  # parameters of all tables below
SIZES = [2**k for k in range(21)]


def _us(size: int) -> float:
    return LATENCY_US + size / MB_PER_S


OSU_LATENCY = "\n# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size          Latency (us)\n" + "".join(
    f"{size:<10d}{_us(size):18.4f}\n" for size in SIZES
)
OSU_BW = "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{size:<10d}{MB_PER_S * size / (size + 5000):18.2f}\n" for size in SIZES
)
OSU_OTHER = "# OSU MPI Bi-Directional Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1     7.00\n\n"
IMB = (
    """#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#------------------------------------------------------------
# Date                  : Wed Mar  2 10:00:00 2022

# PingPong
# Sendrecv

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
"""
    + "".join(f"{size:13d} {1000:12d} {_us(size):12.4f} {size / _us(size):12.2f}\n" for size in [0, *SIZES])
    + """

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
"""
    + "".join(
        f"{size:13d} {1000:12d} {_us(size) - 1:12.4f} {_us(size) + 1:12.4f} {_us(size):12.4f} {0:12.2f}\n"
        for size in SIZES
    )
    + """
#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 4
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            1         1000         90.0         90.0         90.0         0.00


# All processes entering MPI_Finalize

"""
)
BENCH = "# MPI PingPong Test\n# Size [B]  Bandwidth [MB/s] | Time Mean [s] ± StdDev [s]  Samples\n" + "".join(
    f"{size:10d}{size / _us(size):18.2f} | {_us(size) * 1e-6:.7e} ± 1.4878e-08    10000\n" for size in SIZES
)


def _read(tmp_path, text: str):
    path = tmp_path / "printed.txt"
    path.write_text(text, encoding="utf-8")
    return read_recorded(path)


@pytest.mark.parametrize(
    "text",
    [
        OSU_LATENCY,
        IMB,
        BENCH,
        "\ufeff" + OSU_LATENCY.replace("\n", "\r\n").lstrip(),
        "[0] mpiexec says hello\n" + OSU_LATENCY + OSU_OTHER,
    ],
)
def test_a_recorded_ping_pong_gives_its_latency_and_bandwidth(tmp_path, text):
    costs = fit_costs(_read(tmp_path, text))
    (line,) = costs.transfer
    assert (line.constant_s, line.per_byte_s) == pytest.approx((LATENCY_US * 1e-6 - 34e-10, 1e-10), rel=1e-3)
    assert costs.eager_limit_bytes is None
    assert "eager limit was not measured" in costs.warnings[0]


@pytest.mark.parametrize("build", ["MPI", "MPI-CUDA", "MPI-OPENACC", "MPI-ROCM"])
def test_a_build_for_accelerators_prints_the_same_tables(tmp_path, build):
    assert _read(tmp_path, OSU_LATENCY.replace("MPI", build, 1)).about["benchmarks"] == ["osu_latency"]
    assert _read(tmp_path, OSU_BW.replace("MPI", build, 1)).about["benchmarks"] == ["osu_bw"]


@pytest.mark.parametrize(
    "benchmark",
    [
        *("MPI_Put Latency", "MPI_Get Latency", "MPI_Put-CUDA Latency", "MPI_Accumulate latency"),
        *("MPI_Put Bandwidth", "MPI_Get Bandwidth", "MPI_Put Bi-directional Bandwidth", "One Sided MPI_Put latency"),
        *("MPI Multi-threaded Latency", "MPI Multi-process Latency", "MPI Multi Latency", "MPI-CUDA Multi Latency"),
        *("MPI Bi-Directional Bandwidth", "MPI-CUDA Bi-Directional Bandwidth", "MPI Persistent Latency"),
        *("MPI Multiple Bandwidth / Message Rate", "MPI Allreduce Latency", "OpenSHMEM Put"),
    ],
)
def test_other_benchmarks_of_osu_are_no_ping_pong_and_no_stream(tmp_path, benchmark):
    other = f"# OSU {benchmark} Test v5.9\n# Window creation: MPI_Win_create\n# Size  Latency (us)\n8     7.00\n"
    with pytest.raises(UsageError, match=f"txt: OSU {benchmark} is no benchmark that smpy knows"):
        _read(tmp_path, other)
    for plain in (OSU_LATENCY, OSU_BW):
        alone = _read(tmp_path, plain).rows
        assert _read(tmp_path, other + plain).rows == _read(tmp_path, plain + other).rows == alone


def test_messages_in_the_memory_of_devices_are_none_of_the_network_alone(tmp_path):
    there = OSU_LATENCY.replace("MPI", "MPI-CUDA", 1).replace(
        "# Datatype", "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n# Datatype"
    )
    with pytest.raises(UsageError, match="osu_latency in the memory of a device is no benchmark that smpy knows"):
        _read(tmp_path, there)
    assert _read(tmp_path, OSU_LATENCY + there).rows == _read(tmp_path, OSU_LATENCY).rows
    on_hosts = there.replace("DEVICE (D)", "HOST (H)")
    assert _read(tmp_path, there + on_hosts).rows == _read(tmp_path, OSU_LATENCY).rows


def test_imbs_sendrecv_is_its_mean_for_a_pair(tmp_path):
    sizes, times = _read(tmp_path, IMB).medians("exchange")
    assert sizes.tolist() == SIZES
    assert times == pytest.approx([_us(size) * 1e-6 for size in SIZES], rel=1e-3)


def test_mpi4pys_ping_pong_without_times_is_read_from_its_rates(tmp_path):
    rates = "# MPI PingPong Test\n# Size [B]  Bandwidth [MB/s]\n       1024   500.00\n"
    assert _read(tmp_path, rates).medians("pingpong")[1] == pytest.approx([1024 / 500e6])


def test_what_osu_bw_printed_is_the_time_of_a_message_in_a_stream(tmp_path):
    sizes, times = _read(tmp_path, OSU_BW).medians("stream")
    assert times == pytest.approx((sizes + 5000) / 1e10, rel=1e-2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OSU_LATENCY + "4194304     nan\n", "line 26 is no row of osu_latency: '4194304     nan'"),
        (OSU_LATENCY + "4194304\n", "line 26 is no row of osu_latency: '4194304'"),
        (OSU_LATENCY + "-1   3.0\n", "line 26 is no row of osu_latency"),
        (OSU_LATENCY + "1.5   3.0\n", "line 26 is no row of osu_latency"),
        (OSU_BW + "2097152   0.00\n", "line 24 is no row of osu_bw"),
        (BENCH + "2097152\n", "line 24 is no row of mpi4py.bench pingpong"),
        ("hello\n", "no benchmark that smpy knows"),
        ("", "no benchmark that smpy knows"),
        ("# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n", "osu_latency without a row"),
        (OSU_OTHER, "no benchmark that smpy knows"),
        ("# smpy calibrate network {}\nkind,bytes\n", "line 1 and 2 are not those"),
        ("# smpy calibrate network {}\nkind,bytes,repetition,time_s\npingpong,8,0\n", "line 3 is no measurement"),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        _read(tmp_path, text)


def test_a_machine_that_includes_a_recorded_latency_predicts_it(emulated, tmp_path):
    (tmp_path / "osu.txt").write_text(OSU_LATENCY)
    (tmp_path / "bw.txt").write_text(OSU_BW)
    result = tmp_path / "found.toml"
    done = CliRunner().invoke(
        main,
        ["calibrate", "network", str(result), "--from", str(tmp_path / "osu.txt"), "--from", str(tmp_path / "bw.txt")],
    )
    assert done.exit_code == 0, done.output
    assert tomllib.loads(result.read_text())["calibration"]["benchmarks"] == ["osu_latency", "osu_bw"]
    (tmp_path / "machine.toml").write_text(
        'include = ["found.toml"]\nfills_hosts = true\nhost.count = 2\ntopology.kind = "flat"\nmpi.wtime = "0s"'
    )
    source = """
        from mpi4py import MPI
        import numpy as np
        comm, out = MPI.COMM_WORLD, np.zeros(1 << 20, np.uint8)
        for size in (1, 1000, 8192, 8193, 1 << 20):
            began_s = MPI.Wtime()
            for _ in range(10):
                if comm.rank == 0:
                    comm.Send(out[:size], 1); comm.Recv(out[:size], 1)
                else:
                    comm.Recv(out[:size], 0); comm.Send(out[:size], 0)
            if comm.rank == 0:
                print(size, (MPI.Wtime() - began_s) / 20 * 1e6)
    """
    ran = emulated(source, platform=tmp_path / "machine.toml", ranks_per_host=1)
    for row in ran.out.splitlines():
        size, one_way_us = row.split()
        assert float(one_way_us) == pytest.approx(_us(int(size)), rel=0.01)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--from", "missing.txt"], "cannot read missing.txt: No such file"),
        (["--from", "{folder}"], "it is a directory"),
        (["--mpiexec", "no-such-mpiexec"], "'no-such-mpiexec': there is no such command"),
        (["--latency", "5"], "'5' has no unit"),
        (["--bandwidth", "100Gp"], "is not a bandwidth"),
        (["--latency", "-1us"], "not above 0"),
        (["--largest", "3B"], "not between 1KiB and 1GiB"),
    ],
)
def test_bad_arguments_are_told_in_a_line(tmp_path, args, message):
    words = [arg.format(folder=tmp_path) for arg in args]
    done = CliRunner().invoke(main, ["calibrate", "network", str(tmp_path / "n.toml"), *words])
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "n.toml").exists()
