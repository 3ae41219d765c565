"""The inputs of a run: program, machine, placement, algorithms, seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from smpy.platforms.description import Description

from smpy.platforms.host_names import merge_hosts

SPELT_OUT_MAX: Final = 4096

_PERIODS_MAX: Final = 100


class Inputs(NamedTuple):
    """The inputs of a run.

    Attributes
    ----------
    version : str
        smpy's.
    program : str
        File or module, as it was named.
    is_module : bool
        Whether `program` is a module's name.
    args : tuple of str
        The program's arguments.
    platform_file : str or None
        File of the machine, as it was named; None: the machine is one of smpy's own.
    platform_sha256 : str or None
        Checksum of the file's content.
    machine : Description or None
        The machine itself: its fingerprint is recorded.
    settings : tuple of (str, str)
        Settings of the machine that the run changed: keys and values.
    kernels_file : str or None
        Calibration with the costs of kernels, as it was named.
    noise_model : str or None
        Noise on any computing, as ``--noise-model`` said.
    noise_seed : int or None
        Seed of that noise, or of the noise on the time of kernels; None: none was drawn.
    has_kernel_noise : bool
        Whether noise on the time of kernels was drawn.
    background : mapping or None
        Messages of other jobs: `text`, as ``--background`` said, and `seed`; None: there were none.
    recorded_to, replayed_from : str or None
        File to which bursts of computing were written, or from which they were taken, as it was named.
    bursts_sha256 : str or None
        Checksum of the file `replayed_from`.
    mapping : sequence of (str, int)
        Hosts in order, each with its number of consecutive ranks; the list repeats until all ranks are placed
        (`mapping_of`).
    algorithms : mapping of str to sequence of str
        Collective operations and the algorithms that they used.
    seed : str
        Seed of the ranks' random numbers, together with the rank.
    """

    version: str
    program: str
    is_module: bool
    args: tuple[str, ...]
    platform_file: str | None
    platform_sha256: str | None
    mapping: Sequence[tuple[str, int]]
    algorithms: Mapping[str, Sequence[str]]
    seed: str
    machine: Description | None = None
    settings: tuple[tuple[str, str], ...] = ()
    kernels_file: str | None = None
    noise_model: str | None = None
    noise_seed: int | None = None
    has_kernel_noise: bool = False
    background: Mapping[str, Any] | None = None
    recorded_to: str | None = None
    replayed_from: str | None = None
    bursts_sha256: str | None = None


def mapping_of(host_of_rank: Sequence[int], host_names: Sequence[str]) -> list[tuple[str, int]]:
    """Hosts, each with the number of consecutive ranks on it; a repeated sequence is listed once.

    In a list of more than a few thousand, hosts numbered on with the same number of ranks are written as one, such
    as `h[0-7]`.

    Examples
    --------
    >>> mapping_of([0, 0, 1, 1, 0, 0, 1], ["a", "b"])
    [('a', 2), ('b', 2)]
    >>> mapping_of([0, 0, 0], ["a"])
    [('a', 3)]
    """
    runs = [(host, len(list(ranks))) for host, ranks in groupby(host_of_rank)]
    runs = runs[: _period(runs)]
    mapping = [(host_names[host], n_ranks) for host, n_ranks in runs]
    return merge_hosts(mapping) if len(mapping) > SPELT_OUT_MAX else mapping


def _period(runs: Sequence[tuple[int, int]]) -> int:
    """Length of the repeated sequence, whose last repetition may be partial; of all if none is found soon."""
    whole, (host, n_ranks) = runs[:-1], runs[-1]
    period = 0
    for _ in range(_PERIODS_MAX):
        try:
            period = whole.index(runs[0], period + 1)
        except ValueError:
            break
        host_then, n_ranks_then = whole[len(whole) % period]
        if whole[period:] == whole[: len(whole) - period] and host == host_then and n_ranks <= n_ranks_then:
            return period
    return len(runs)
