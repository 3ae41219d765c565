"""Reads traces, returns numbers, tables and figures; never runs a program.

An analysis is a function from traces to a result (`smpy.analysis.result.Result`): `critical_path`, `waits`, `pop`,
`bounds` and `compare`, each in the module of its name. Analyses of changed runs are given the function that
replays.
"""
