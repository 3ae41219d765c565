/* slot.h -- slots of Python's classes (__slots__), read and set without their descriptors.
 *
 * Law: a slot keeps the class that it was last asked for, and where objects of that class have it; another class is looked up. */
#ifndef SMPY_SURFACE_SLOT_H
#define SMPY_SURFACE_SLOT_H
#include "surface.h"

/* Address of what an object has in a slot: it is NULL while nothing is set. NULL: the class has no such slot. */
PyObject **slot_find(PyObject *object, python_slot *slot);

static inline PyObject **slot_at(PyObject *object, python_slot *slot)
{
    return Py_TYPE(object) == slot->type ? (PyObject **)(void *)((char *)object + slot->offset) : slot_find(object, slot);
}

/* A borrowed reference to it; NULL when it is not set, or there is no object. */
static inline PyObject *slot_get(PyObject *object, python_slot *slot)
{
    PyObject **at = object ? slot_at(object, slot) : NULL;
    return at ? *at : NULL;
}
#endif
