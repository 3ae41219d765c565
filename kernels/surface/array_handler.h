/* array_handler.h -- the handler that numpy asks for the data of all arrays (NEP 49), and its replacement for good. */
#ifndef SMPY_SURFACE_ARRAY_HANDLER_H
#define SMPY_SURFACE_ARRAY_HANDLER_H
#include "surface.h"

/* numpy's PyDataMem_Handler. */
typedef struct {
    char name[127];
    uint8_t version;
    struct {
        void *context;
        void *(*malloc)(void *context, size_t bytes);
        void *(*calloc)(void *context, size_t n, size_t bytes);
        void *(*realloc)(void *context, void *data, size_t bytes);
        void (*free)(void *context, void *data, size_t bytes);
    } allocator;
} array_handler;

/* The present handler, given numpy's _ARRAY_API; NULL with an exception, or without one if its version is not known. */
const array_handler *array_handler_present(PyObject *api);
/* Puts another one in its place; -1 with an exception. */
int array_handler_replace(PyObject *api, array_handler *by);
#endif
