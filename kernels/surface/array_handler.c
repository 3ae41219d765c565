#include "array_handler.h"

enum { API_DEFAULT_HANDLER = 306 }; /* in numpy's table */

static PyObject *capsule_of(PyObject *api)
{
    void **table = PyCapsule_GetPointer(api, NULL);
    return table ? *(PyObject **)table[API_DEFAULT_HANDLER] : NULL;
}

const array_handler *array_handler_present(PyObject *api)
{
    PyObject *capsule = capsule_of(api);
    const array_handler *present = capsule ? PyCapsule_GetPointer(capsule, "mem_handler") : NULL;
    return present && present->version == 1 ? present : NULL;
}

int array_handler_replace(PyObject *api, array_handler *by)
{
    PyObject *capsule = capsule_of(api);
    return capsule ? PyCapsule_SetPointer(capsule, by) : -1;
}
