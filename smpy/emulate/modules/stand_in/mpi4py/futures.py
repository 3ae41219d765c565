"""Pools of workers: not simulated."""

from smpy.emulate.modules.mpi4py_parts import NO_POOLS

raise ImportError(NO_POOLS)
