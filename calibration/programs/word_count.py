"""The number of times that each word occurs in a text whose lines are spread over all ranks.

    mpiexec -n 4 python word_count.py --lines 100000 --vocabulary 50000
    mpiexec -n 4 python word_count.py --lines 250000 --vocabulary 5000

Each rank counts words of its lines in a dictionary. A word belongs to one rank, which its letters decide: the counts
go there as pickled dictionaries, by alltoall, and are added. Rank 0 gathers the most frequent words. The text is drawn
as numbers of words, which numpy counts likewise.
"""

from __future__ import annotations

import argparse
from zlib import crc32

import numpy as np
from mpi4py import MPI
from stopwatch import Stopwatch

WORDS_A_LINE = 12
N_TOLD = 10
Counts = dict[str, int]


def word(number: int) -> str:
    """Write a number in letters."""
    letters = ""
    while number >= 0:
        number, letter = divmod(number, 26)
        number, letters = number - 1, chr(ord("a") + letter) + letters
    return letters


def count(lines: list[str]) -> Counts:
    """Count words, whatever their case."""
    counts: Counts = {}
    for line in lines:
        for term in line.lower().split():
            counts[term] = counts.get(term, 0) + 1
    return counts


def most_frequent(counts: Counts) -> list[tuple[int, str]]:
    """Count and word of the most frequent words, equals in the order of the alphabet."""
    return sorted((-n, term) for term, n in counts.items())[:N_TOLD]


def count_all(comm: MPI.Intracomm, lines: list[str], watch: Stopwatch) -> tuple[Counts, list[tuple[int, str]]]:
    """Counts of this rank's words in all lines and, on rank 0, the most frequent words of all."""
    with watch.phase("computing"):
        counts = count(lines)
    with watch.phase("packing"):
        parts: list[Counts] = [{} for _ in range(comm.size)]
        for term, n in counts.items():
            parts[crc32(term.encode()) % comm.size][term] = n
    with watch.phase("alltoall"):
        received = comm.alltoall(parts)
    with watch.phase("computing"):
        total: Counts = {}
        for part in received:
            for term, n in part.items():
                total[term] = total.get(term, 0) + n
        frequent = most_frequent(total)
    with watch.phase("gather"):
        gathered = comm.gather(frequent, root=0)
    return total, sorted(pair for part in gathered or [] for pair in part)[:N_TOLD]


def main() -> None:
    """Write a text, count its words, and compare."""
    parser = argparse.ArgumentParser(description="Count the words of a text.")
    parser.add_argument("--lines", type=int, default=100_000, help="of all ranks (default: %(default)s)")
    parser.add_argument("--vocabulary", type=int, default=50_000, help="different words (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the text (default: %(default)s)")
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    drawn = np.random.default_rng(options.seed).random((options.lines, WORDS_A_LINE))
    numbers = (options.vocabulary**drawn - 1.0).astype(np.int64)  # small numbers are frequent, as words are
    words = [word(number) for number in range(options.vocabulary)]
    mine = numbers[options.lines * comm.rank // comm.size : options.lines * (comm.rank + 1) // comm.size]
    lines = [" ".join(words[number] for number in line).capitalize() for line in mine]

    watch = Stopwatch(comm)
    counts, frequent = count_all(comm, lines, watch)
    watch.stop()

    n_of_word = np.bincount(numbers.ravel(), minlength=options.vocabulary)
    expected = {term: int(n) for term, n in zip(words, n_of_word, strict=True) if n}
    own = {term: n for term, n in expected.items() if crc32(term.encode()) % comm.size == comm.rank}
    if counts != own or (comm.rank == 0 and frequent != most_frequent(expected)):
        raise SystemExit("word_count: a count is wrong")
    if comm.rank == 0:
        print("word_count:", ", ".join(f"{term} {-n}" for n, term in frequent))


if __name__ == "__main__":
    main()
