"""The models of a machine: their defaults, the options of a platform file, and what the kernel gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from smpy.engine.kernel import lib
from smpy.engine.model import kernel_calls, kernel_model
from smpy.engine.platform import Platform
from smpy.errors import PlatformError, PlatformWarning, UsageError
from smpy.platforms import default_cluster, read_simgrid_xml
from smpy.platforms.default_cluster import MODELS
from smpy.platforms.machine import read_machine
from smpy.platforms.models.machine_models import (
    SMPI_LATENCY_FACTOR,
    CallCosts,
    CollectiveChoice,
    Models,
    NetworkModel,
    Overhead,
    Penalties,
    Polling,
    Step,
)
from smpy.platforms.models.networks import NETWORKS
from smpy.platforms.simgrid.options import with_options

Read = Callable[[str], Platform]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a platform of one host, with options."""

    def reader(options: str) -> Platform:
        path = tmp_path / "machine.xml"
        path.write_text(
            f"<platform version='4.1'>{options}<zone id='z' routing='Full'><host id='h' speed='1Gf'/></zone></platform>"
        )
        return read_simgrid_xml(path).build()

    return reader


def config(options: dict[str, str]) -> str:
    props = "".join(f"<prop id='{name}' value='{value}'/>" for name, value in options.items())
    return f"<config id='General'>{props}</config>"


def test_options_of_the_network_model_are_honoured(read: Read) -> None:
    platform = read(
        config(
            {
                "network/model": "SMPI",
                "network/TCP-gamma": "1000",
                "network/crosstraffic": "no",
                "network/weight-S": "1",
                "smpi/test": "2e-4",
                "smpi/iprobe": "5e-6",
                "smpi/wtime": "0",
                "smpi/send-is-detached-thresh": "1000",
            }
        )
    )
    assert platform.models == Models(
        NetworkModel(tcp_gamma_bytes=1000, crosstraffic=0, weight_bytes=1),
        CallCosts(wtime_s=0, detached_below_bytes=1000),
        Polling(test_s=2e-4, iprobe_s=5e-6),
    )


def test_factors_and_overheads_are_tables(read: Read) -> None:
    platform = read(
        config(
            {
                "smpi/lat-factor": "1000:3;0:1.5:9",
                "smpi/bw-factor": "0.5",
                "smpi/os": "0:1e-3:1e-6;1000:5e-3:0",
                "smpi/ois": "0:0:0:0:0",
                "smpi/or": "0:3us",
            }
        )
    )
    network, calls = platform.models.network, platform.models.calls
    assert network.latency_factor == (Step(1000, 3), Step(0, 1.5))
    assert network.bandwidth_factor == (Step(0, 0.5),)
    assert calls.send_overhead == (Overhead(0, 1e-3, 1e-6), Overhead(1000, 5e-3, 0))
    assert calls.isend_overhead == ()
    assert calls.recv_overhead == (Overhead(0, 3e-6, 0),)


def test_the_loopback_of_full_zones_is_an_option(read: Read) -> None:
    platform = read(config({"network/loopback-bw": "1e9", "network/loopback-lat": "1us"}))
    assert platform.route(0, 0).latency_s == 1e-6
    assert lib.platform_link_bandwidth_bytes_per_s(platform.handle, 0) == 1e9


def test_options_that_say_what_is_so_anyway_are_accepted(read: Read) -> None:
    assert read(config({"network/optim": "Full", "smpi/coll-selector": "default"})).models == Models()
    assert read(config({"cpu/optim": "TI"})).models == Models()
    assert read(config({"surf/precision": "1e-09", "smpi/iprobe-cpu-usage": "1.0"})).models == Models()


def test_an_option_that_smpy_does_not_have_is_ignored_with_a_warning(read: Read) -> None:
    with pytest.warns(PlatformWarning, match=r"smpi/coll-selector=automatic is ignored: smpy does not have it: .*ompi"):
        read(config({"smpi/coll-selector": "automatic"}))
    with pytest.warns(
        PlatformWarning, match=r"smpi/iprobes=1 is ignored: smpy does not have it: did you mean 'smpi/iprobe'"
    ):
        read(config({"smpi/iprobes": "1"}))


@pytest.mark.parametrize(
    ("name", "instead"), [("network/latency-factor", "smpi/lat-factor"), ("network/bandwidth-factor", "smpi/bw-factor")]
)
def test_factors_of_other_models_change_nothing_as_under_smpirun(read: Read, name: str, instead: str) -> None:
    with pytest.warns(PlatformWarning, match=rf"{name}=0.5 is ignored: it has no effect .* whose option is {instead}"):
        assert read(config({name: "0.5"})).models == Models()


@pytest.mark.parametrize(
    ("model", "name", "instead"),
    [
        ("smpi", "network/latency-factor", ", whose option is smpi/lat-factor"),
        ("smpi", "network/bandwidth-factor", ", whose option is smpi/bw-factor"),
        ("smpi", "smpi/IB-penalty-factors", ""),
        ("lv08", "smpi/bw-factor", ", whose option is network/bandwidth-factor"),
        ("constant", "network/weight-S", ""),
    ],
)
def test_an_option_of_another_network_model_is_ignored_with_a_warning_as_under_smpirun(
    model: str, name: str, instead: str
) -> None:
    message = rf"^--set {name}=5 is ignored, as smpirun does: it has no effect on the network model {model}{instead}$"
    with pytest.warns(PlatformWarning, match=message):
        models = with_options(Models(), [("network/model", model), (name, "5")])
    assert models.network == NETWORKS[model]


def test_a_network_model_changes_the_defaults_alone_in_whatever_order() -> None:
    given = [("network/weight-S", "1"), ("network/model", "LV08"), ("network/latency-factor", "2")]
    expected = replace(NETWORKS["lv08"], weight_bytes=1, latency_factor=(Step(0, 2),))
    for options in (given, given[::-1]):
        assert with_options(Models(), options).network == expected


def test_a_network_model_leaves_what_the_file_sets(tmp_path: Path) -> None:
    path = tmp_path / "machine.xml"
    zone = "<zone id='z' routing='Full'><host id='h' speed='1Gf'/></zone>"
    path.write_text(f"<platform version='4.1'>{config({'network/TCP-gamma': '7'})}{zone}</platform>")
    read = read_simgrid_xml(path, [("network/model", "cm02")])
    assert read.models.network == replace(NETWORKS["cm02"], tcp_gamma_bytes=7)


def test_the_last_name_of_a_network_model_counts() -> None:
    named = [("network/model", name) for name in ("lv08", "ideal:latency", "CM02")]
    assert with_options(Models(), named).network == NETWORKS["cm02"]
    assert with_options(Models(), named[:2]).network == replace(NETWORKS["lv08"], ideal=("latency",))


def test_a_network_model_stays_on_the_loopback_of_the_machine() -> None:
    machine = Models(NetworkModel(loopback_bandwidth_bytes_per_s=5, loopback_latency_s=7, factor_caps=True))
    network = with_options(machine, [("network/model", "raw")]).network
    assert (network.loopback_bandwidth_bytes_per_s, network.loopback_latency_s, network.factor_caps) == (5, 7, True)


def test_the_network_model_of_a_file_is_ignored_as_smpirun_does(read: Read) -> None:
    with pytest.warns(
        PlatformWarning, match="network/model=CM02 is ignored, as smpirun does.*: .* say --network cm02$"
    ):
        assert read(config({"network/model": "CM02"})).models == Models()


def test_the_default_host_model_brings_lv08_as_under_smpirun(read: Read) -> None:
    assert read(config({"host/model": "default"})).models == Models(NETWORKS["lv08"])
    assert read(config({"host/model": "compound"})).models == Models()
    assert with_options(Models(), [("host/model", "default")]) == Models(NETWORKS["lv08"])


def test_messages_that_travel_early_are_eager() -> None:
    early = with_options(Models(), [("smpi/async-small-thresh", "65536")])
    assert early.calls == CallCosts(early_below_bytes=65536)
    assert kernel_calls(early).early_below_bytes == 65536
    beyond = with_options(early, [("smpi/send-is-detached-thresh", "65535")])
    with pytest.raises(
        UsageError, match=r"smpi/async-small-thresh \(65536\) is above smpi/send-is-detached-thresh \(65535"
    ):
        kernel_calls(beyond)


def test_ideal_overhead_leaves_the_polls_and_the_clock() -> None:
    machine = Models(calls=CallCosts(send_overhead=(Overhead(0, 1, 1),), recv_overhead=(Overhead(0, 1, 1),)))
    model = with_options(machine, [("network/model", "ideal:overhead")])
    assert model.paid_calls == CallCosts()
    kernels = kernel_model(model).model
    assert (kernels.calls.n_send_overhead, kernels.calls.n_recv_overhead, kernels.polling.test_s) == (0, 0, 1e-4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "LV08"}, "network model 'LV08' is none of smpi, lv08"),
        ({"ideal": ("speed",)}, "its parts are contention, bandwidth, latency, overhead"),
        ({"constant_s": float("inf")}, "constant_s is inf: it can be 1e"),
        ({"constant_s": -1.0}, "constant_s is -1.0: it cannot be negative"),
        ({"penalties": Penalties(inbound=0)}, "penalties must be above 0 and finite"),
    ],
)
def test_a_network_model_that_cannot_be_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NetworkModel(**fields)


def test_a_file_chooses_the_rule_of_polls(read: Read) -> None:
    assert read(config({"smpy/polls": "notice"})).models.polling == Polling(polls_notice=True)
    assert read(config({"smpy/polls": "grow"})).models == Models()
    assert not read(config({"smpi/grow-injected-times": "no"})).models.polling.polls_grow


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("network/model", "LV09", "option network/model: 'LV09' is not a network model: there are smpi, lv08, "),
        ("network/crosstraffic", "maybe", "'maybe' is neither yes nor no"),
        ("smpi/test", "soon", "'soon' is not a time"),
        ("smpi/os", "0", "'0' has no value"),
        ("smpi/lat-factor", "0:x", "'x' is not a number"),
        ("smpi/test", "-1", "test_s is -1.0: it cannot be negative"),
        ("smpi/test", "1e-10", "option smpi/test: test_s is 1e-10: a poll takes at least 1e-09 s, or 0"),
        ("smpi/bw-factor", "0", "bandwidth_factor must be above 0"),
        ("smpy/polls", "never", "'never' is not a rule for polls: there are grow and notice"),
        ("surf/precision", "1e-6", "option surf/precision: smpy has only 1e-9, and '1e-6' would give other dates"),
        ("cpu/optim", "none", "smpy has only Full and Lazy and TI"),
    ],
)
def test_an_option_with_a_wrong_value_is_refused(read: Read, name: str, value: str, message: str) -> None:
    with pytest.raises(PlatformError, match=message):
        read(config({name: value}))


# ---- options given to a run ----


def test_options_of_the_run_stand_above_those_of_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "machine.xml"
    zone = "<zone id='z' routing='Full'><host id='h' speed='1Gf'/></zone>"
    path.write_text(f"<platform version='4.1'>{config({'smpi/test': '1', 'smpi/wtime': '2'})}{zone}</platform>")
    platform = read_simgrid_xml(
        path, [("smpi/test", "3ms"), ("network/loopback-lat", "4us"), ("smpi/bcast", "linear")]
    ).build()
    assert platform.models == Models(
        NetworkModel(loopback_latency_s=4e-6),
        CallCosts(wtime_s=2),
        Polling(test_s=3e-3),
        CollectiveChoice(algorithms=(("bcast", "linear"),)),
    )
    assert platform.route(0, 0).latency_s == 4e-6


def test_the_default_cluster_takes_options_too() -> None:
    options = [("smpy/polls", "grow"), ("smpi/coll-selector", "default"), ("smpi/wtime", "0")]
    assert default_cluster(2, options).models == Models(
        MODELS.network,
        replace(MODELS.calls, wtime_s=0),
        replace(MODELS.polling, polls_notice=False),
        CollectiveChoice("smpi"),
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("smpi/testt", "1", r"--set smpi/testt=1: smpy does not have it: did you mean 'smpi/test'\?"),
        ("smpy/poll", "grow", "did you mean 'smpy/polls'"),
        ("smpi/test", "soon", "--set smpi/test=soon: 'soon' is not a time"),
        ("smpi/os", "0:-1", "send_overhead cannot be negative"),
        ("smpi/lat-factor", "0:inf", "'inf' is not a number that can be computed with"),
        ("smpi/bw-factor", "1e-40", "bandwidth_factor must be above 0 and finite"),
        (
            "smpi/send-is-detached-thresh",
            "1e30",
            "detached_below_bytes is 1.*: it cannot be above 9223372036854775807",
        ),
        (
            "network/model",
            "IBM",
            "--set network/model=IBM: 'IBM' is not a network model: there are smpi, .*, ib, dimemas, loggp, ideal",
        ),
        ("network/model", "smpi:latency", "'smpi:latency' is not a network model"),
        ("network/model", "ideal:lateness", "'lateness' is no part of a network: there are contention, bandwidth, "),
        ("smpy/compat", "simgrid-3.25", "--compat simgrid-3.25: .*: there are simgrid-3.32 and simgrid-2017"),
        ("host/model", "ptask_L07", "smpy has only compound"),
        ("network/solver", "bmf", "smpy has only maxmin, and 'bmf' would give other dates"),
        ("smpi/iprobe", "5e-324", "--set smpi/iprobe=5e-324: iprobe_s is 4.9.*e-324: a poll takes at least 1e-09 s"),
        ("smpi/iprobe-cpu-usage", "0", "a probe takes a part of a core, above 0"),
        ("smpi/simulate-computation", "no", "--compute says whether computing takes time"),
    ],
)
def test_an_option_of_the_run_that_cannot_be_applied_is_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        default_cluster(2, [(name, value)])


# ---- what the kernel gets ----


def test_the_kernel_gets_the_model_as_one_table_of_both_factors() -> None:
    network = NetworkModel(latency_factor=(Step(0, 2), Step(1000, 3)), bandwidth_factor=(Step(500, 0.5),))
    block = list(kernel_model(Models(network)).parameters)
    tables = [block[1 + 32 * i : 1 + 32 * (i + 1)] for i in range(3)]  # after the number of rows
    assert block[0] == 3
    assert [table[:4] for table in tables] == [[0, 500, 1000, 0], [2, 2, 3, 0], [1, 0.5, 0.5, 0]]
    default = list(kernel_model(Models()).parameters)
    assert default[0] == len(SMPI_LATENCY_FACTOR)
    assert default[1 + 3 * 32 :] == [8775, 4194304, 0.05, 16, 0, 0, 0, 0]
    assert kernel_calls(Models()).detached_below_bytes == 65536
    assert (kernel_calls(Models()).rendezvous_overheads, kernel_calls(MODELS).rendezvous_overheads) == (0, 1)


def test_a_model_that_extends_another_has_its_parameters_first() -> None:
    block = list(kernel_model(Models(NetworkModel(kind="ib", ideal=("bandwidth",)))).parameters)
    assert block[:-3] == list(kernel_model(Models(NetworkModel(ideal=("bandwidth",)))).parameters)
    assert block[-4:] == [1, *Penalties()]
    assert list(kernel_model(Models(NetworkModel(kind="constant", constant_s=3))).parameters) == [3]
    ideal = NetworkModel(kind="constant", constant_s=3, ideal=("latency",))
    assert list(kernel_model(Models(ideal)).parameters) == [0]


def test_the_first_overhead_also_holds_below_its_threshold() -> None:
    models = Models(calls=CallCosts(send_overhead=(Overhead(1000, 5, 0), Overhead(10, 1, 2))))
    calls = kernel_calls(models)
    assert calls.n_send_overhead == 2
    assert list(calls.send_overhead)[:6] == [-float("inf"), 1, 2, 1000, 5, 0]


@pytest.mark.parametrize(
    "models",
    [
        Models(NetworkModel(latency_factor=tuple(Step(above, 1.0) for above in range(33)))),
        Models(calls=CallCosts(recv_overhead=tuple(Overhead(above, 1.0, 0.0) for above in range(17)))),
    ],
)
def test_tables_that_the_kernel_has_no_room_for_are_refused(models: Models) -> None:
    with pytest.raises(UsageError, match="has room for"):
        kernel_model(models)


@pytest.mark.parametrize("platform", ["flat hosts=2 cores=1", "hdr"])
def test_numbers_of_a_network_model_that_is_not_used_are_warned_of(platform: str) -> None:
    change = [("loggp.L", "5us")]
    told = "loggp.L is ignored: the network model is smpi; --network loggp takes it"
    with pytest.warns(PlatformWarning, match=told):
        read_machine(platform, 2, change)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_machine(platform, 2, change, network="loggp")
