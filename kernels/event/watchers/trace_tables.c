#include "watchers/trace_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_ROWS = 1 << 15 };

static const size_t SIZE_OF_ROW[TRACE_TABLES] = {
    sizeof(trace_interval), sizeof(trace_message), sizeof(trace_action), sizeof(trace_members), sizeof(trace_mark),
    sizeof(trace_thread_mark), sizeof(trace_interval), sizeof(trace_message_threads), sizeof(trace_wake_up)};

trace *trace_of(const sim *s)
{
    return accounts_of(s)->trace;
}

void *trace_new_row(sim *s, int table)
{
    trace_table *rows = &trace_of(s)->table[table];
    if (rows->n == rows->room) {
        const int room = rows->room ? 2 * rows->room : 256;
        char *grown = realloc(rows->row, (size_t)room * SIZE_OF_ROW[table]);
        if (!grown) {
            keep_error(s, SIM_OUT_OF_MEMORY);
            return NULL;
        }
        rows->row = grown;
        rows->room = room;
    }
    void *row = rows->row + (size_t)rows->n++ * SIZE_OF_ROW[table];
    if (rows->n % MANY_ROWS == 0) s->is_interrupted = 1;
    return memset(row, 0, SIZE_OF_ROW[table]);
}

int trace_reach(sim *s, void **list, int *room, int index, size_t bytes)
{
    if (index < *room) return 0;
    int grown_room = *room ? 2 * *room : 64;
    while (grown_room <= index) grown_room *= 2;
    char *grown = realloc(*list, (size_t)grown_room * bytes);
    if (!grown) {
        keep_error(s, SIM_OUT_OF_MEMORY);
        return SIM_OUT_OF_MEMORY;
    }
    memset(grown + (size_t)*room * bytes, 0, (size_t)(grown_room - *room) * bytes);
    *list = grown;
    *room = grown_room;
    return 0;
}

trace_request *trace_request_of(sim *s, int request)
{
    trace *t = trace_of(s);
    void *list = t->of_request;
    const int error = trace_reach(s, &list, &t->request_room, request, sizeof *t->of_request);
    t->of_request = list;
    return error ? NULL : &t->of_request[request];
}

int sim_trace_rows(const sim *s, int table)
{
    return trace_of(s) && table >= 0 && table < TRACE_TABLES ? trace_of(s)->table[table].n : 0;
}

enum { ROWS_IN_CACHE = 256 };

void sim_trace_take(sim *s, int table, int n, const int *offset, const int *bytes, char *const *column)
{
    const int n_rows = sim_trace_rows(s, table);
    for (int from = 0; from < n_rows; from += ROWS_IN_CACHE) {
        const int to = n_rows - from < ROWS_IN_CACHE ? n_rows : from + ROWS_IN_CACHE;
        for (int k = 0; k < n; k++) {
            const char *at = trace_of(s)->table[table].row + (size_t)from * SIZE_OF_ROW[table] + offset[k];
            char *out = column[k] + (size_t)from * (size_t)bytes[k];
            for (int i = from; i < to; i++, at += SIZE_OF_ROW[table], out += bytes[k]) {
                if (bytes[k] == 8)
                    memcpy(out, at, 8);
                else
                    memcpy(out, at, 4);
            }
        }
    }
    if (!n_rows) return;
    if (table == TRACE_ACTIONS) trace_of(s)->n_actions_taken += n_rows;
    trace_of(s)->table[table].n = 0;
}
