/* Blocks of different sizes for several peers: their bounds, their bytes, and what peers say of them. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "basics/blocks.h"

/* Entries of 4 bytes, with a gap of 4 behind each. */
static const strided SPREAD = {.size_bytes = 4, .extent_bytes = 8, .end_bytes = 4, .block_bytes = 4};
static const strided DENSE = {.size_bytes = 4, .extent_bytes = 4, .end_bytes = 4, .block_bytes = 4};

static void blocks_are_packed_in_the_order_of_the_peers_and_unpacked_to_the_same_places(void)
{
    const char memory[] = "aaaa....bbbb....ccccdddd";
    const int64_t counts[] = {2, 0, 1}, starts[] = {0, 99, 20};
    const strided layouts[] = {SPREAD, SPREAD, DENSE};
    const blocks b = {3, counts, starts, layouts, 3};
    char packed[13] = "", back[sizeof memory];
    blocks_pack(&b, memory, packed);
    assert(strcmp(packed, "aaaabbbbdddd") == 0);
    memset(back, '.', sizeof back);
    blocks_unpack(&b, back, packed);
    assert(memcmp(back, "aaaa....bbbb........dddd", 24) == 0);
}

static void the_first_block_outside_the_memory_is_found(void)
{
    const int64_t inside[] = {2, 1}, negative[] = {1, -1}, endless[] = {1, INT64_MAX / 2};
    const int64_t starts[] = {0, 12}, before[] = {-4, 12}, last[] = {0, INT64_MAX - 2};
    assert(blocks_outside(&(blocks){2, inside, starts, &SPREAD, 1}, 16) == -1);
    assert(blocks_outside(&(blocks){2, inside, starts, &SPREAD, 1}, 15) == 1);
    assert(blocks_outside(&(blocks){2, inside, before, &SPREAD, 1}, 16) == 0);
    assert(blocks_outside(&(blocks){2, negative, starts, &SPREAD, 1}, 16) == 1);
    assert(blocks_outside(&(blocks){2, endless, starts, &SPREAD, 1}, INT64_MAX) == 1);
    assert(blocks_outside(&(blocks){2, inside, last, &SPREAD, 1}, INT64_MAX) == 1);
}

static void a_peers_block_is_taken_unless_it_is_folded(void)
{
    const int64_t offsets[] = {0, 4, 8}, counts[] = {1, 1}, starts[] = {4, 0};
    const contribution peers[] = {{offsets, offsets, "aaaabbbb"}, {offsets, offsets, NULL}};
    char memory[9] = "........";
    blocks_take(&(blocks){2, counts, starts, &DENSE, 1}, memory, peers, 1);
    assert(strcmp(memory, "....bbbb") == 0);
}

static void two_peers_that_disagree_are_found_by_the_later_one(void)
{
    const int64_t four[] = {0, 4, 8}, eight[] = {0, 4, 12};
    const contribution absent = {0};
    contribution peers[2] = {{four, four, NULL}, absent};
    assert(contribution_conflict(&peers[0], peers, 2, 0) == -1);
    peers[1] = (contribution){four, four, NULL};
    assert(contribution_conflict(&peers[1], peers, 2, 1) == -1);
    peers[0] = (contribution){eight, four, NULL}; /* sends 8 bytes to the second */
    assert(contribution_conflict(&peers[1], peers, 2, 1) == 0);
    peers[0] = (contribution){four, eight, NULL}; /* expects 8 of it */
    assert(contribution_conflict(&peers[1], peers, 2, 1) == 0);
}

int main(void)
{
    blocks_are_packed_in_the_order_of_the_peers_and_unpacked_to_the_same_places();
    the_first_block_outside_the_memory_is_found();
    a_peers_block_is_taken_unless_it_is_folded();
    two_peers_that_disagree_are_found_by_the_later_one();
    puts("blocks: all well");
    return 0;
}
