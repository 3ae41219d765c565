"""Recursive doubling: in each round the partner differs in one bit of the rank (Thakur, Rabenseifner & Gropp 2005)."""

from __future__ import annotations

from smpy.collectives.patterns.powers_of_two import (
    expanded,
    power_of_two_up_to,
    powers_of_two_below,
    reduced_to_power_of_two,
    subtree,
)
from smpy.collectives.ranks import Ranks
from smpy.collectives.schedule import Schedule, Value


def exchange_vectors(steps: Schedule, ranks: Ranks, nbytes: Value) -> None:
    """Exchange the whole vector with each partner and reduce it; all ranks must agree on the number of ranks."""
    with reduced_to_power_of_two(steps, ranks, nbytes) as number:
        for mask in powers_of_two_below(power_of_two_up_to(ranks.size_max)):
            partner = expanded(ranks, number ^ mask)
            steps.exchange(partner, nbytes, partner, nbytes)
            steps.combine(nbytes)


def serve_those_without_partner(
    steps: Schedule, rank: Value, n_ranks: int, size: int, nbytes: Value, *, ranks: Ranks | None = None
) -> None:
    """Pass received blocks on, along a binomial tree, to the ranks of an aligned group of `size` that have no partner.

    `rank` and its partners are indices into `ranks`; None: ranks of the communicator.
    """
    n_served = n_ranks - subtree(rank, size) - size
    with steps.when(((rank & size) == 0) & (n_served > 0) & (n_served < size)):
        for reach in reversed(powers_of_two_below(size)):
            known = subtree(rank, 2 * reach) + n_served
            partner = rank ^ reach
            peer = partner if ranks is None else ranks[partner]
            with steps.when((partner > rank) & (rank < known) & (partner >= known)):
                steps.send(peer, nbytes)
            with steps.when((partner < rank) & (partner < known) & (rank >= known)):
                steps.recv(peer, nbytes)
