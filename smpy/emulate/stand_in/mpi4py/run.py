"""`python -m mpi4py [FILE | -m MODULE | -c CODE] [ARGS...]`: an uncaught error ends all ranks, as it does anyway."""

import os
import runpy
import sys


def main() -> None:
    """Run what the command line names as `__main__`."""
    del sys.argv[0]
    if not sys.argv:
        raise SystemExit("usage: python -m mpi4py [FILE | -m MODULE | -c CODE] [ARGS...]")
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif sys.argv[0] == "-c":
        code = compile(sys.argv.pop(1), "<string>", "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102  # what was asked for
    else:
        sys.path[0] = os.path.realpath(os.path.dirname(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")
