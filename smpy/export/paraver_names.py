"""Numbers and names of states and events, as Extrae gives them, and the files .pcf and .row that say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smpy.records.profile import INTERVAL_KINDS
from smpy.records.time_words import KIND_WORDS
from smpy.records.trace import Trace

POINT_TO_POINT, COLLECTIVES, OTHERS, ONE_SIDED, FILES = range(50000001, 50000006)
SENT_BYTES, RECEIVED_BYTES, IS_ROOT, COMMUNICATOR = range(50100001, 50100005)
CALLER_LINE: Final = 80000001
REGION: Final = 60000019
KERNEL: Final = 9000001
POLLED_SOURCE, POLLED_TAG, POLLED_REQUEST, SUCCESSFUL_POLL, POLLS_IN_VAIN, LAUNCHED_TASK = range(9000002, 9000008)
"""Types of smpy's own: a source, a tag or a request counts from 1, and 0 is any, or none; a task launches others, and
begins with its own number if another one launches it."""
OPERATIONS: Final = 42000050  # Extrae's type of instructions

NOT_CREATED: Final = 2
_STATES: Final = {
    "compute": (1, "Running"),
    "sleep": (15, "Others"),
    "overhead": (24, "Overhead"),
    "polling": (6, "Test/Probe"),
    "probing": (26, "Probe"),
    "io": (12, "I/O"),
    "device": (15, "Others"),
    "late_sender": (3, "Waiting a message"),
    "late_receiver": (4, "Blocking Send"),
    "late_members": (5, "Synchronization"),
    "transfer": (27, "Transfer"),
    "idle": (0, "Idle"),
    "skipped": (15, "Others"),
}
STATE_OF_KIND: Final = tuple(_STATES[kind][0] for kind in INTERVAL_KINDS)
"""State of each kind of time."""

_COLOURS: Final = {
    0: (117, 195, 255), 1: (0, 0, 255), 2: (255, 255, 255), 3: (255, 0, 0), 4: (255, 0, 174), 5: (179, 0, 0),
    6: (0, 255, 0), 12: (255, 144, 26), 15: (100, 0, 178), 24: (189, 168, 100), 26: (172, 174, 41), 27: (255, 255, 0),
}  # fmt: skip

CALLS: Final = {
    POINT_TO_POINT: {
        "Send": 1, "Recv": 2, "Isend": 3, "Irecv": 4, "Wait": 5, "Waitall": 6, "Bsend": 33, "Ssend": 34, "Rsend": 35,
        "Ibsend": 36, "Issend": 37, "Test": 39, "Waitany": 59, "Probe": 61, "Iprobe": 62, "Testany": 126,
    },
    COLLECTIVES: {
        "Bcast": 7, "Barrier": 8, "Reduce": 9, "Allreduce": 10, "Alltoall": 11, "Alltoallv": 12, "Gather": 13,
        "Gatherv": 14, "Scatter": 15, "Scatterv": 16, "Allgather": 17, "Allgatherv": 18, "Scan": 30,
        "Reduce_scatter": 80, "Ireduce": 154, "Iallreduce": 155, "Ibarrier": 156, "Ibcast": 157, "Ialltoall": 158,
        "Iallgather": 160, "Reduce_scatter_block": 168,
    },
    OTHERS: {"Comm_split": 23, "Init": 31, "Finalize": 32},
    ONE_SIDED: {"Put": 65, "Get": 66, "Accumulate": 67},
}  # fmt: skip
"""Values of calls, by their types."""
_OWN_VALUES: Final = 1000  # of calls whose number is not known here
_NAME_OF_TYPE: Final = {
    POINT_TO_POINT: "MPI Point-to-point",
    COLLECTIVES: "MPI Collective Comm",
    OTHERS: "MPI Other",
    ONE_SIDED: "MPI One-sided",
    FILES: "MPI I/O",
}


class CallNumbers:
    """Types and values of events: of calls, their lines, kernels and regions.

    Parameters
    ----------
    trace : Trace
        Trace of a run.

    Attributes
    ----------
    line_of_site : list of int
        Value of a line, for each row of `sites`.
    kernel_of_site : list of int
        Value of a kernel, likewise; 0: it is none.
    """

    def __init__(self, trace: Trace) -> None:
        self.names: dict[int, dict[str, int]] = {kind: dict(values) for kind, values in CALLS.items()} | {FILES: {}}
        self._known = {name: (kind, value) for kind, values in CALLS.items() for name, value in values.items()}
        self.regions: Sequence[str] = trace.info["trace"]["regions"]
        lines: dict[str, int] = {}
        kernels: dict[str, int] = {}
        self.line_of_site, self.kernel_of_site = [], []
        for label, is_kernel in zip(trace.label_of_site.tolist(), trace.is_kernel.tolist(), strict=True):
            call, place = trace.calls[label]
            self.line_of_site.append(lines.setdefault(place, len(lines) + 1) if place else 0)
            self.kernel_of_site.append(kernels.setdefault(call, len(kernels) + 1) if is_kernel else 0)
        self.lines, self.kernels = tuple(lines), tuple(kernels)

    def of_call(self, name: str, *, is_collective: bool) -> tuple[int, int]:
        """Type and value of a call."""
        if name in self._known:
            return self._known[name]
        kind = COLLECTIVES if is_collective else OTHERS
        if name.startswith(("Win_", "Rput", "Rget", "Racc")):
            kind = ONE_SIDED
        elif name.startswith("File_"):
            kind = FILES
        number = _OWN_VALUES + len(self._known)
        self.names[kind][name] = number
        self._known[name] = kind, number
        return kind, number


def pcf_text(calls: CallNumbers) -> str:
    """Content of the .pcf."""
    states = {number: f"{name} ({KIND_WORDS[kind]})" for kind, (number, name) in _STATES.items()}
    states[NOT_CREATED] = "Not created"
    blocks = [
        "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC",
        "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is",
        "\n".join(("STATES", *(f"{number}\t{states[number]}" for number in sorted(states)))),
        "\n".join(("STATES_COLOR", *(f"{number}\t{{{_text(_COLOURS[number])}}}" for number in sorted(states)))),
        *(
            _event_type(9, kind, _NAME_OF_TYPE[kind], {value: f"MPI_{name}" for name, value in values.items()})
            for kind, values in calls.names.items()
        ),
        "\n".join(
            (
                "EVENT_TYPE",
                f"7\t{SENT_BYTES}\tSend Size in MPI Global OP",
                f"7\t{RECEIVED_BYTES}\tRecv Size in MPI Global OP",
                f"7\t{IS_ROOT}\tRoot in MPI Global OP",
                f"7\t{COMMUNICATOR}\tCommunicator in MPI Global OP",
                f"7\t{OPERATIONS}\tOperations (flop)",
                f"7\t{POLLED_SOURCE}\tPolled source (task; 0: any)",
                f"7\t{POLLED_TAG}\tPolled tag plus 1 (0: any)",
                f"7\t{POLLED_REQUEST}\tPolled request",
                f"7\t{SUCCESSFUL_POLL}\tSuccessful poll",
                f"7\t{POLLS_IN_VAIN}\tPolls in vain",
                f"7\t{LAUNCHED_TASK}\tLaunched task",
            )
        ),
        _event_type(0, CALLER_LINE, "Caller line at level 1", _numbered(calls.lines)),
        _event_type(0, REGION, "Region of the program", _numbered(calls.regions)),
        _event_type(0, KERNEL, "Kernel", _numbered(calls.kernels)),
    ]
    return "\n\n\n".join(blocks) + "\n"


def row_text(host_of_rank: Sequence[str], cpu_of_rank: Sequence[int]) -> str:
    """Content of the .row."""
    hosts = list(dict.fromkeys(host_of_rank))
    in_order = sorted(range(len(cpu_of_rank)), key=cpu_of_rank.__getitem__)
    blocks = {
        "CPU": [f"{cpu_of_rank[rank]}.{host_of_rank[rank]}" for rank in in_order],
        "NODE": hosts,
        "TASK": [f"TASK 1.{rank + 1}" for rank in range(len(host_of_rank))],
        "THREAD": [f"THREAD 1.{rank + 1}.1" for rank in range(len(host_of_rank))],
    }
    return "\n".join(
        f"LEVEL {name} SIZE {len(names)}\n" + "".join(f"{each}\n" for each in names) for name, names in blocks.items()
    )


def _numbered(names: Sequence[str]) -> dict[int, str]:
    return dict(enumerate(names, start=1))


def _event_type(colour: int, number: int, name: str, values: dict[int, str]) -> str:
    lines = ["EVENT_TYPE", f"{colour}\t{number}\t{name}", "VALUES", *(f"{value}\t{values[value]}" for value in values)]
    return "\n".join((*lines, "0\tEnd"))


def _text(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
