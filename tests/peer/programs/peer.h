/* peer.h -- what the C twins of the Python programs share: arguments, buffers, drawn numbers, the finish line.
 *
 * Every program is written twice, here for smpirun and in Python for smpy, call by call in the same order. */
#ifndef PEER_H
#define PEER_H
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, n_ranks;

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
}

/* The date at which this rank is through, as smpy's finish_s. */
static inline void finish(void)
{
    printf("%d %.17g\n", rank, MPI_Wtime());
    MPI_Finalize();
}

static inline int is(const char *word, const char *other) { return strcmp(word, other) == 0; }

static inline char *buffer(long bytes) { return calloc(bytes > 0 ? (size_t)bytes : 1, 1); }

/* A number in 0 .. below - 1; the same sequence as draw.py. */
static inline int draw(unsigned *state, int below)
{
    *state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
    return (int)(*state >> 8) % below;
}

/* Uneven blocks, some of them empty, as sizes.py: what a rank contributes, and what one sends to another. */
static inline int own_size(int bytes, int of) { return (of * 7 + 3) % 5 * bytes / 2; }

static inline int pair_size(int bytes, int from, int to) { return (from * 3 + to * 5 + 1) % 4 * bytes; }

/* Displacements of blocks that lie one after the other; the size of all. */
static inline int displace(const int *size, int *at)
{
    int sum = 0;
    for (int i = 0; i < n_ranks; i++) {
        at[i] = sum;
        sum += size[i];
    }
    return sum;
}

static inline void execute(double flop)
{
    if (flop > 0)
        smpi_execute_flops(flop);
}
#endif
