"""The models of a machine: costs of messages, calls and polls, and the choice of collective algorithms.

The defaults are SMPI's. Defaults of the network are factors measured by piecewise linear fitting of ping-pongs on a
Gigabit Ethernet cluster (Clauss, Stillwell, Genaud, Suter, Casanova & Quinson 2011), on the flow model of Velho,
Schnorr, Casanova & Legrand 2013.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple

from smpy.errors import UsageError
from smpy.platforms.models.network_models import (
    IDEAL_PARTS,
    NETWORK_KINDS,
    KernelKind,
    Network,
    Parameters,
    SendCosts,
    check_not_negative,
)
from smpy.units import LARGEST, SMALLEST

FACTORS_MAX: Final = 32
OVERHEADS_MAX: Final = 16
_RANGE: Final = f"from {SMALLEST:g} to {LARGEST:g}"
SIZE_MAX_BYTES: Final = 2**63 - 1


class Step(NamedTuple):
    """Value for sizes strictly above a threshold, up to the next threshold."""

    above_bytes: float
    value: float


class Overhead(NamedTuple):
    """Cost `constant_s + n * per_byte_s` of messages of n bytes above a threshold, up to the next threshold."""

    above_bytes: float
    constant_s: float
    per_byte_s: float


def _steps(*pairs: tuple[float, float]) -> tuple[Step, ...]:
    return tuple(Step(above, value) for above, value in pairs)


SMPI_LATENCY_FACTOR: Final = _steps(
    (0, 2.01467), (257, 1.95341), (732, 1.9503), (1426, 1.61075), (3484, 1.88101), (5776, 2.18796), (9376, 2.59299),
    (15424, 3.48845), (65472, 11.6436),
)  # fmt: skip
SMPI_BANDWIDTH_FACTOR: Final = _steps(
    (0, 0.812084), (257, 0.338112), (732, 0.341987), (1426, 0.608902), (3484, 0.77493), (5776, 1.08739),
    (9376, 0.58729), (15424, 0.697866), (65472, 0.940694),
)  # fmt: skip


class Penalties(NamedTuple):
    """Penalties of the model `ib`: Be, Bs and ys in the paper's letters."""

    inbound: float = 0.965
    outbound: float = 0.925
    crowded: float = 1.35


IB_PENALTIES: Final = Penalties()

DATA_COSTS: Final = ("reduction_byte_s", "page_fault_s", "huge_page_fault_s")
DATA_OVERHEADS: Final = ("own_copy", "block")
CALL_NUMBERS: Final = (
    *("detached_below_bytes", "early_below_bytes", "rendezvous_overheads"),
    *DATA_COSTS,
)
POLL_NUMBERS: Final = ("test_s", "iprobe_s", "iprobe_part", "polls_grow", "polls_notice")
SHORTEST_POLL_S: Final = 1e-9
"""Shortest poll that is not free: dates that differ by less are one date, and a wait by shorter polls need not end."""
OVERHEADS: Final = ("send_overhead", "isend_overhead", "recv_overhead", *DATA_OVERHEADS)


@dataclass(frozen=True, slots=True)
class NetworkModel(Network):
    """One of SimGrid's models of the time of messages on the links of a platform, with its numbers.

    Parameters
    ----------
    latency_factor, bandwidth_factor : tuple of Step
        Multiply a route's latency, and the rate a flow gets from its fair share. Looked up with the size on the wire
        (envelope included); 1 up to the first threshold.
    weight_bytes : float
        S: a flow's share is weighted with 1 / (latency + sum of S / bandwidth over its links).
    tcp_gamma_bytes : float
        The largest TCP window: a flow is no faster than gamma / (2 * latency). 0: no such bound.
    crosstraffic : float
        The share of a flow that its acknowledgements load on the links of the way back.
    envelope_bytes : float
        Added to every message on the wire.
    kind : str
        One of `NETWORK_KINDS`: how the kernel times a transfer, and which options of SimGrid's set its factors.
    constant_s : float
        Time of every message under `constant`.
    penalties : Penalties
        Slowdown of concurrent messages of a host under `ib`.
    factor_caps : bool
        Whether the bandwidth factor lowers the bound of a flow (SimGrid until 2017) rather than scale the rate of its
        share: then a link that several flows fill carries all of its bandwidth.
    loopback_bandwidth_bytes_per_s, loopback_latency_s, ideal
        As those of every `Network`; all parts can be ideal.

    Raises
    ------
    ValueError
        If one of them is negative, a factor is infinite, a bandwidth is 0, or a name is none.
    """

    latency_factor: tuple[Step, ...] = SMPI_LATENCY_FACTOR
    bandwidth_factor: tuple[Step, ...] = SMPI_BANDWIDTH_FACTOR
    weight_bytes: float = 8775.0
    tcp_gamma_bytes: float = 4194304.0
    crosstraffic: float = 0.05
    envelope_bytes: float = 16.0
    kind: str = "smpi"
    constant_s: float = 13.01
    penalties: Penalties = IB_PENALTIES
    factor_caps: bool = False
    ideal_parts: ClassVar[tuple[str, ...]] = IDEAL_PARTS

    def __post_init__(self) -> None:
        Network.__post_init__(self)
        if self.kind not in NETWORK_KINDS:
            raise ValueError(f"network model {self.kind!r} is none of {', '.join(NETWORK_KINDS)}")
        if not all(SMALLEST <= penalty <= LARGEST for penalty in self.penalties):
            raise ValueError(f"penalties must be above 0 and finite: {_RANGE}")
        if not all(SMALLEST <= step.value <= LARGEST for step in self.bandwidth_factor):
            raise ValueError(f"bandwidth_factor must be above 0 and finite everywhere: {_RANGE}")
        if not all(0 <= step.value <= LARGEST for step in self.latency_factor):
            raise ValueError(f"latency_factor must be finite everywhere, and cannot be negative: up to {LARGEST:g}")

    @property
    def name(self) -> str:
        """Name by which a run chooses the model."""
        return self.kind

    @property
    def kernel_kind(self) -> KernelKind:
        """The kernel's part of the model."""
        return self.kind if self.kind in ("constant", "ib") else "flow"

    def parameters(self) -> Parameters:
        """Parameters of its kind in the kernel, by name.

        Raises
        ------
        UsageError
            If its factors have more steps than the kernel has room for.
        """
        thresholds = sorted({step.above_bytes for step in self.latency_factor + self.bandwidth_factor})
        if len(thresholds) > FACTORS_MAX:
            raise UsageError(
                f"the latency and bandwidth factors have {len(thresholds)} different thresholds together, "
                f"and the model has room for {FACTORS_MAX}: use fewer steps"
            )
        if self.kind == "constant":
            return {"takes_s": 0.0 if "latency" in self.ideal else self.constant_s}
        return {
            "n_factors": len(thresholds),
            "factor_above_bytes": tuple(thresholds),
            "latency_factor": tuple(_value_above(self.latency_factor, above) for above in thresholds),
            "bandwidth_factor": tuple(_value_above(self.bandwidth_factor, above) for above in thresholds),
            "weight_bytes": self.weight_bytes,
            "tcp_gamma_bytes": self.tcp_gamma_bytes,
            "crosstraffic": self.crosstraffic,
            "envelope_bytes": self.envelope_bytes,
            "factor_caps": self.factor_caps,
            "has_no_latency": "latency" in self.ideal,
            "has_no_contention": "contention" in self.ideal,
            "has_no_bandwidth_limit": "bandwidth" in self.ideal,
            **(self.penalties._asdict() if self.kind == "ib" else {}),
        }


@dataclass(frozen=True, slots=True)
class CallCosts:
    """Costs of MPI calls to the calling rank, and the sends that complete at once.

    Parameters
    ----------
    detached_below_bytes : int
        Smaller standard sends complete at once (the eager limit).
    send_overhead, isend_overhead, recv_overhead : tuple of Overhead
        Costs of a blocking send, a non-blocking one and the receive of an eager message for the calling rank, by the
        user's size; the first one also holds below its threshold.
    rendezvous_overheads : bool
        Blocking sends above the eager limit and the receives of such messages cost theirs, too.
    wtime_s : float
        The cost of reading the clock.
    early_below_bytes : int
        Smaller sends travel when they are posted, whether their receive is or not; no more than the eager limit. The
        others wait for it.
    init_s : float
        The cost of starting MPI.
    finalize_barrier : bool
        Whether ending MPI is a barrier of all ranks.
    spawn_s : float
        The cost of starting a program on a further rank, for that rank.
    reduction_byte_s : float
        The time that a rank takes to reduce a byte of an operand.
    own_copy : tuple of Overhead
        The time that a rank takes to copy its own block of a collective, by size.
    block : tuple of Overhead
        The time of each contiguous block of a message whose datatype leaves gaps, for the rank at either end, by the
        memory from the first to the last of them.
    page_fault_s : float
        The time of each page of memory that a message is the first to touch.
    huge_page_fault_s : float
        The time of each huge page of 2 MiB that it is the first to touch, where a buffer has them
        (kernels/event/basics/pages.h). 0: as long as its small ones.

    Raises
    ------
    ValueError
        If one of them is negative, or the eager limit is no size.
    """

    detached_below_bytes: int = 65536
    send_overhead: tuple[Overhead, ...] = ()
    isend_overhead: tuple[Overhead, ...] = ()
    recv_overhead: tuple[Overhead, ...] = ()
    rendezvous_overheads: bool = False
    wtime_s: float = 1e-8
    early_below_bytes: int = 0
    init_s: float = 0.0
    finalize_barrier: bool = False
    spawn_s: float = 0.0
    reduction_byte_s: float = 0.0
    own_copy: tuple[Overhead, ...] = ()
    block: tuple[Overhead, ...] = ()
    page_fault_s: float = 0.0
    huge_page_fault_s: float = 0.0

    @property
    def charges_data(self) -> bool:
        """Whether a rank takes any time for its own data."""
        return any(getattr(self, name) > 0 for name in DATA_COSTS) or bool(self.own_copy or self.block)

    def __post_init__(self) -> None:
        check_not_negative(self, (*CALL_NUMBERS, "wtime_s", "init_s", "spawn_s"))
        if self.detached_below_bytes > SIZE_MAX_BYTES:
            raise ValueError(
                f"detached_below_bytes is {self.detached_below_bytes}: it cannot be above {SIZE_MAX_BYTES}"
            )
        for name in OVERHEADS:
            rows: tuple[Overhead, ...] = getattr(self, name)
            if not all(_least_s(row) >= 0 and row.per_byte_s >= 0 for row in rows):
                raise ValueError(f"{name} cannot be negative anywhere")
            if not all(row.constant_s <= LARGEST and row.per_byte_s <= LARGEST for row in rows):
                raise ValueError(f"{name} can be {LARGEST:g} s, and as much for a byte")


@dataclass(frozen=True, slots=True)
class Polling:
    """Costs of polls: calls that ask for a result without waiting (Test, Iprobe).

    Parameters
    ----------
    test_s, iprobe_s : float
        The cost of a first poll: 0, or at least `SHORTEST_POLL_S`.
    iprobe_part : float
        Largest share of a core that a probe takes, above 0; above 1, it multiplies the length of a probe.
    polls_grow : bool
        The k-th failed poll in a row, of all ranks together, costs k times that.
    polls_notice : bool
        Instead, a rank that asks for the same things again and again, in vain, polls in rounds: in the k-th each
        poll stands for k^2 of the first one's length. It ends, and the rounds begin anew, when there may be something
        new to find. A program that counts its polls sees other dates than one that polled all the time.

    Raises
    ------
    ValueError
        If a cost is negative or too short, or a part is none.
    """

    test_s: float = 1e-4
    iprobe_s: float = 1e-4
    polls_grow: bool = True
    polls_notice: bool = False
    iprobe_part: float = 1.0

    def __post_init__(self) -> None:
        check_not_negative(self, POLL_NUMBERS)
        for name in ("test_s", "iprobe_s"):
            if 0 < (cost_s := getattr(self, name)) < SHORTEST_POLL_S:
                raise ValueError(f"{name} is {cost_s:g}: a poll takes at least {SHORTEST_POLL_S:g} s, or 0")
        if not self.iprobe_part > 0:
            raise ValueError(f"iprobe_part is {self.iprobe_part}: a probe takes a part of a core, above 0")


@dataclass(frozen=True, slots=True)
class CollectiveChoice:
    """Choice of the algorithms of collectives.

    Parameters
    ----------
    table : str
        Name of the table that chooses them (`smpy/collectives/tables`).
    algorithms : tuple of (str, str)
        Operations and the algorithms they are to use, whatever the table says.
    file, content : str
        A file with a table of the user's, and its text; `table` chooses what that does not speak of. Empty: none.
    """

    table: str = "smpi"
    algorithms: tuple[tuple[str, str], ...] = ()
    file: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """Everything besides hosts and links that decides the time of calls on a machine.

    Parameters
    ----------
    network, calls, polling, collectives
        Its parts.
    described : tuple of Network
        Models that the machine has numbers for, and that a run may name.
    """

    network: Network = NetworkModel()
    calls: CallCosts = CallCosts()
    polling: Polling = Polling()
    collectives: CollectiveChoice = CollectiveChoice()
    described: tuple[Network, ...] = ()

    @property
    def paid_calls(self) -> CallCosts:
        """Costs of calls under the network model, or their remainder where overhead is ideal."""
        calls, own = self.calls, self.network.own_sends()
        if own is not None:
            first_s, further_s = own.first_byte_s, own.further_byte_s
            sends = (
                (Overhead(0, first_s, 0.0), Overhead(1, first_s - further_s, further_s)) if first_s or further_s else ()
            )
            longest = int(min(own.eager_bytes, SIZE_MAX_BYTES - 1))
            early = longest + 1 if own.travels_early else 0
            calls = replace(calls, detached_below_bytes=longest + 1, early_below_bytes=early, send_overhead=sends)
            calls = replace(calls, isend_overhead=sends, recv_overhead=(), rendezvous_overheads=True)
        if "overhead" not in self.network.ideal:
            return calls
        free: dict[str, Any] = dict.fromkeys(OVERHEADS, ()) | dict.fromkeys(DATA_COSTS, 0.0)
        return replace(calls, **free)

    @property
    def sends(self) -> SendCosts:
        """Costs of a short send to its rank, and the eager limit, as the machine's calls have them."""
        first = next(iter(self.calls.send_overhead), Overhead(0, 0.0, 0.0))
        return SendCosts(
            first.constant_s + first.per_byte_s, first.per_byte_s, float(self.calls.detached_below_bytes - 1)
        )


SMPI_MODELS: Final = Models()


def _value_above(steps: tuple[Step, ...], size_bytes: float) -> float:
    """Value that holds just above `size_bytes`."""
    return max((s for s in steps if s.above_bytes <= size_bytes), key=lambda s: s.above_bytes, default=Step(0, 1)).value


def _least_s(row: Overhead) -> float:
    """Cost of the smallest message of a row: rows of positive sizes begin at 1 byte."""
    return row.constant_s + row.per_byte_s * max(row.above_bytes, 0.0)
