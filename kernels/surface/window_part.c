#include "window_part.h"

#include "access_notes.h"
#include "arguments.h"

int64_t window_part_number_in(PyObject *of, python_slot *slot)
{
    PyObject *number = slot_get(of, slot);
    const int64_t value = number && PyLong_CheckExact(number) ? PyLong_AsLongLong(number) : -1;
    if (value < 0) PyErr_Clear();
    return value;
}

PyObject *window_part_item(PyObject *dict, PyObject *key)
{
    PyObject *found = dict && PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, key) : NULL;
    if (!found) PyErr_Clear();
    return found;
}

int window_part_take(PyObject *self, part_access *a)
{
    a->part = NULL;
    a->part = Py_XNewRef(slot_get(self, &surface.slot._membership));
    if (is_none(a->part) || slot_get(a->part, &surface.slot.is_over) != Py_False) return 0;
    a->epochs = slot_get(a->part, &surface.slot.epochs);
    a->window = slot_get(a->part, &surface.slot.window);
    a->own = (int)window_part_number_in(a->part, &surface.slot.rank);
    a->comm = (int)window_part_number_in(slot_get(a->part, &surface.slot.communicator), &surface.slot.number);
    a->checked = surface.checks ? slot_get(a->part, &surface.slot.checked) : NULL;
    a->notes = a->checked ? access_notes_of(a->checked) : NULL;
    return a->epochs && a->window && a->own >= 0 && a->comm >= 0 && (a->notes || !surface.checks);
}

int window_part_take_target(PyObject *self, PyObject *target, part_access *a)
{
    a->part = NULL;
    if (!arguments_int(target, &a->rank) || a->rank < 0) return 0;
    a->target = target;
    return window_part_take(self, a) && a->rank < surface.calls->comm_size(surface.sim, a->comm);
}

int window_part_is_locked(const part_access *a)
{
    PyObject *locks = slot_get(a->epochs, &surface.slot.locks);
    if (!locks || !PyDict_CheckExact(locks) || !PyDict_GET_SIZE(locks)) return 0;
    if (window_part_item(locks, a->target)) return 1;
    PyObject *all = PyLong_FromLong(ALL_RANKS);
    const int is_locked = all && window_part_item(locks, all);
    Py_XDECREF(all);
    return is_locked;
}
