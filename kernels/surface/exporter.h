/* exporter.h -- Exporter: an object of smpy.mpi's that lends, through the buffer protocol, memory that another one owns.
 *
 * Classes written in Python export buffers from Python 3.12 on (PEP 688); this base lets them on every version.
 * Laws:
 *   (1) what is exported is what `view` exports, no bytes of nobody's when there is none;
 *   (2) who got it keeps it, whatever `view` is set to meanwhile. */
#ifndef SMPY_SURFACE_EXPORTER_H
#define SMPY_SURFACE_EXPORTER_H
#include "surface.h"

int exporter_add_type(PyObject *module); /* 0, or -1 with an exception */
#endif
