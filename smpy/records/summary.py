"""The summary of a run: its inputs and its results, simulated and real.

Its JSON is one object, one line per key. `schema` comes first and changes when a key changes its meaning or goes:

    schema              3
    smpy                version that made the record
    program, is_module, args
    platform, platform_file, platform_sha256
    platform_fingerprint, settings   of the machine as data, whatever described it; settings that the run changed
    ranks
    mapping             [host, number of consecutive ranks], ...; the list repeats until all ranks are placed. In a
                        large run, numbered hosts with equally many ranks are one entry: ["h[0-7]", 2]
    algorithms          operation: names of the algorithms it used
    seed                of the ranks' random numbers
    makespan_s, makespan_half_width_s, uncertainty
                        half width of the interval that contains 95 % of runs, and its parts: of kernels' costs, by
                        first-order propagation of their uncertainty, and of iterations that were skipped; or null
    iterations          loops with skipped iterations: name, count, simulated, time_s, half_width_s, stop_reason
    messages, bytes, ..._share
    compute, recorded_to, replayed_from, bursts_sha256
                        way from computing to time; file of bursts that was written; file whose bursts were charged
                        instead of measured ones, and its checksum
    keeps_memory, kernels_file, noise_model, noise_seed, has_kernel_noise, is_partial, is_folded
                        keeps_memory: freed memory stayed with the process;
                        kernels_file: the calibration given in addition to the machine;
                        noise_model: noise on any computing, as `--noise-model` said; null: none;
                        noise_seed: seed of that, or of the noise on calibrated kernels; null: none was drawn;
                        has_kernel_noise: noise on calibrated kernels was drawn, as `--noise` said
    background          messages of other jobs: text, as --background said, and seed; null: there were none
    repeats             for several runs (--repeat): makespans_s, and median, lowest and highest of makespan_s and
                        ..._share; null for a single run
    energy              hosts_j and links_j by name (the ten largest of more than 10,000, all with --profile);
                        hosts_total_j; used_hosts_j and idle_hosts_j, of hosts that computed something or nothing;
                        above_idle_j, of the ranks; links_total_j, switches_j, total_kwh, cost_eur; null: no part of
                        the machine has a power
    profile             time and bytes by rank and call site (`smpy.records.profile`)
    remarks             facts that a reader should know about the run, each with a topic
    finish_s            of each rank; null if it had not ended
    host                this machine, this moment: name, processor, versions, wall_s, peak_rss_bytes, ...;
                        command: as it was written; of a run from Python, one that gives the same run

Equal runs give equal text except for `host`, which stands last, if computing is free or replayed, or if nothing was
measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from smpy.records.files import write_whole
from smpy.records.inputs import Inputs
from smpy.records.profile_text import highlights
from smpy.records.remark import Remark
from smpy.records.time_shares import TimeShares
from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.records.energy import Energy
    from smpy.records.profile import RunProfile
    from smpy.records.repeats import Repeats
    from smpy.records.skipped_iterations import SkippedIterations
    from smpy.records.uncertainty import Uncertainty

SCHEMA: Final = 3
_RETURNED: Final = "goes back to the system (--keep-memory: stays)"
_KEPT: Final = "stays with the process (--keep-memory)"


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The results of a run.

    Attributes
    ----------
    inputs : Inputs
        Inputs of the run.
    platform : str
        Name of the simulated machine.
    n_ranks : int
        Ranks of the world.
    makespan_s : float
        Simulated date at which the last rank ended; of a partial run, at which it stopped.
    finish_s : sequence of float
        Simulated date at which each rank ended; NaN if it had not.
    messages, bytes : int
        Messages that started to travel, those inside collectives included, and the bytes they carried.
    shares : TimeShares
        Shares of the ranks' time.
    compute : {"measured", "models", "mixed", "none"}
        Way from computing to simulated time.
    host_speed_flop_per_s : float or None
        Declared speed of the machine that ran this; None: as fast as each simulated host.
    keeps_memory : bool
        Whether freed memory stayed with the process.
    is_partial : bool
        The run stopped before every rank had ended.
    is_folded : bool
        The program used memory without content: numbers in its results mean nothing.
    remarks : tuple of Remark
        Other facts to know before trusting these figures.
    wall_s : float
        Real time the run took.
    peak_rss_bytes : int
        Most memory the process held.
    uncertainty : Uncertainty or None
        Uncertainty of the makespan from the costs of kernels, and from iterations that were skipped; None: there is
        none, or a draw was made of it.
    iterations : tuple of SkippedIterations
        Loops with skipped iterations.
    profile : RunProfile or None
        Time and bytes by rank and call site.
    energy : Energy or None
        Joules of hosts and links; None: no part has a power.
    repeats : Repeats or None
        Makespans and shares of all runs, this one first, where several were asked for.
    host : mapping or None
        JSON-serialisable facts of the machine that ran it, and the date (`this_machine`); None: this machine, now.
    """

    inputs: Inputs
    platform: str
    n_ranks: int
    makespan_s: float
    finish_s: Sequence[float] | NDArray[np.float64]
    messages: int
    bytes: int
    shares: TimeShares
    compute: Literal["measured", "models", "mixed", "none"]
    host_speed_flop_per_s: float | None
    keeps_memory: bool
    is_partial: bool
    is_folded: bool
    remarks: tuple[Remark, ...]
    wall_s: float
    peak_rss_bytes: int
    uncertainty: Uncertainty | None = None
    iterations: tuple[SkippedIterations, ...] = ()
    profile: RunProfile | None = None
    energy: Energy | None = None
    repeats: Repeats | None = None
    host: Mapping[str, Any] | None = None

    def to_json(self) -> str:
        """The summary as JSON, a line per key, as described in the module's docstring."""
        from smpy.records.this_machine import this_machine

        finish_s = [None if math.isnan(date) else float(date) for date in self.finish_s]
        record = {
            "schema": SCHEMA,
            "smpy": self.inputs.version,
            "program": self.inputs.program,
            "is_module": self.inputs.is_module,
            "args": self.inputs.args,
            "platform": self.platform,
            "platform_file": self.inputs.platform_file,
            "platform_sha256": self.inputs.platform_sha256,
            "platform_fingerprint": self.inputs.machine.fingerprint if self.inputs.machine else None,
            "settings": self.inputs.settings,
            "ranks": self.n_ranks,
            "mapping": self.inputs.mapping,
            "algorithms": dict(self.inputs.algorithms),
            "seed": self.inputs.seed,
            "makespan_s": self.makespan_s,
            "makespan_half_width_s": self.uncertainty.half_width_s if self.uncertainty else None,
            "uncertainty": asdict(self.uncertainty) if self.uncertainty else None,
            "iterations": [asdict(loop) for loop in self.iterations],
            "messages": self.messages,
            "bytes": self.bytes,
            **{f"{name}_share": share for name, share in asdict(self.shares).items()},
            "compute": self.compute,
            "recorded_to": self.inputs.recorded_to,
            "replayed_from": self.inputs.replayed_from,
            "bursts_sha256": self.inputs.bursts_sha256,
            "keeps_memory": self.keeps_memory,
            "kernels_file": self.inputs.kernels_file,
            "noise_model": self.inputs.noise_model,
            "noise_seed": self.inputs.noise_seed,
            "has_kernel_noise": self.inputs.has_kernel_noise,
            "background": self.inputs.background,
            "is_partial": self.is_partial,
            "is_folded": self.is_folded,
            "energy": self.energy.to_record() if self.energy else None,
            "repeats": self.repeats.to_record() if self.repeats else None,
            "profile": self.profile.to_record() if self.profile else None,
            "remarks": [remark.to_record() for remark in self.remarks],
            "finish_s": finish_s,
            "host": (this_machine(self.wall_s) if self.host is None else dict(self.host))
            | {"peak_rss_bytes": self.peak_rss_bytes, "speed_flop_per_s": self.host_speed_flop_per_s},
        }
        lines = (f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in record.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def write_json(self, path: Path) -> None:
        """Write `to_json` to `path`, whole or not at all.

        Raises
        ------
        UsageError
            If the file cannot be written.
        """
        write_whole(path, self.to_json())

    @property
    def is_measured_here(self) -> bool:
        """Whether this run has measured computing."""
        return self.compute in ("measured", "mixed") and not self.inputs.replayed_from

    def render(self) -> str:
        """The summary for people: a line per fact, no newline at the end."""
        facts = [
            ("makespan", f"{format_time(self.makespan_s)} simulated{self._plus_or_minus()}"),
            *(
                ("repeated" if not n else "", line)
                for n, line in enumerate(self.repeats.render() if self.repeats else ())
            ),
            *zip(
                ["iterations", *[""] * len(self.iterations)], [loop.render() for loop in self.iterations], strict=False
            ),
            ("wall time", format_time(self.wall_s)),
            ("messages", f"{self.messages:,} carrying {format_bytes(self.bytes)}{self._scaled_messages()}"),
            ("peak memory", format_bytes(self.peak_rss_bytes)),
            ("share of time", self.shares.render()),
            *([("energy", self.energy.render())] if self.energy else []),
            *(highlights(self.profile) if self.profile else []),
            ("computing", self._computing()),
        ]
        if self.is_measured_here:
            facts.append(("freed memory", _KEPT if self.keeps_memory else _RETURNED))
        if self.is_folded:
            facts.append(("folded", "some memory had no content: numbers the program printed are not results"))
        for remark in self.remarks:
            facts += zip([remark.topic, *[""] * len(remark.lines)], remark.lines, strict=False)
        ranks = "1 rank" if self.n_ranks == 1 else f"{self.n_ranks:,} ranks"
        partial = ", stopped before the end" if self.is_partial else ""
        head = f"smpy: {ranks} on {self.platform}{partial}"
        return "\n".join([head, *(f"  {name:<15}{fact}" for name, fact in facts)])

    def _scaled_messages(self) -> str:
        """Words for the messages of a run that performs all iterations; "": this one did."""
        skipped = self.profile.skipped_work.values() if self.profile else ()
        if not skipped:
            return ""
        messages, sent_bytes = (sum(column) for column in zip(*((each[1], each[2]) for each in skipped), strict=True))
        scaled = f"{self.messages + messages:,.0f} carrying {format_bytes(round(self.bytes + sent_bytes))}"
        return f"; scaled to all iterations: {scaled}"

    def _plus_or_minus(self) -> str:
        return self._half_width() + self._noise()

    def _noise(self) -> str:
        inputs = self.inputs
        if inputs.noise_seed is None:
            return ""
        kinds = ["--noise"] if inputs.has_kernel_noise else []
        if inputs.noise_model:
            kinds.append(f"--noise-model {inputs.noise_model}")
        return f", with noise drawn from seed {inputs.noise_seed} ({', '.join(kinds)})"

    def _half_width(self) -> str:
        if self.uncertainty is None:
            return ""
        parts = "skipped iterations" if self.iterations else "costs of kernels"
        if self.iterations and self.uncertainty.of_kernels_s:
            parts = f"costs of kernels, {parts}"
        return f", ± {format_time(self.uncertainty.half_width_s)} (95 %: {parts})"

    def _computing(self) -> str:
        if self.compute == "none":
            return "free (--compute none)"
        if self.compute == "models":
            return "modelled; all other computing is free (--compute models)"
        how, whose = "measured", "this machine"
        if self.compute == "mixed":
            how = "modelled; all other computing is measured (--compute mixed)"
        if self.inputs.recorded_to:
            how = f"measured, and recorded in {self.inputs.recorded_to}"
        if self.inputs.replayed_from:
            how, whose = f"replayed from {self.inputs.replayed_from}", "the machine of the recording"
        if self.host_speed_flop_per_s is None:
            return f"{how}, not scaled to the simulated cores: --host-speed gives the speed of {whose}'s"
        return f"{how}; {whose} counts as {self.host_speed_flop_per_s:.4g} flop/s"
