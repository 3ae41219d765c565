#include "slot.h"

#include <structmember.h>

PyObject **slot_find(PyObject *object, python_slot *slot)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *found = PyObject_GetAttr((PyObject *)type, slot->name);
    if (!found) PyErr_Clear();
    const int is_member = found && Py_IS_TYPE(found, &PyMemberDescr_Type) && PyType_IsSubtype(type, PyDescr_TYPE(found));
    const PyMemberDef *member = is_member ? ((PyMemberDescrObject *)found)->d_member : NULL;
    const int is_slot = member && member->type == T_OBJECT_EX;
    if (is_slot) {
        Py_XSETREF(slot->type, (PyTypeObject *)Py_NewRef(type));
        slot->offset = member->offset;
    }
    Py_XDECREF(found);
    return is_slot ? (PyObject **)(void *)((char *)object + slot->offset) : NULL;
}
