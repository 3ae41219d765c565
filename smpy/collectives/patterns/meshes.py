"""Ranks as a mesh of rows, columns and planes, in which the ranks of a line exchange all at once."""

from __future__ import annotations

from math import isqrt

from smpy.collectives.call import Call
from smpy.collectives.schedule import Schedule, Value


def rectangle(n: int) -> tuple[int, int]:
    """Height and width of the rectangle of `n` ranks closest to a square; one row where SimGrid finds none."""
    height = next((height for height in range(isqrt(n), n // 2 + 1) if n % height == 0), 1)
    return min(height, n // height), max(height, n // height)


def box(n: int) -> tuple[int, int]:
    """Side and number of squares of the box of `n` ranks closest to a cube; a line where SimGrid finds none."""
    first = next(side for side in range(n, 0, -1) if side**3 <= n)
    side = next((side for side in range(first, n // 3 + 1) if n % (side * side) == 0), 1)
    return side, n // (side * side)


def in_rectangle(steps: Schedule, call: Call, row_bytes: Value, column_bytes: Value) -> None:
    """Exchange `row_bytes` among all ranks of each row, then `column_bytes` among all of each column."""
    height, width = rectangle(call.n_ranks)
    row, column = call.rank // width, call.rank % width
    _in_line(steps, row * width, 1, width, column, row_bytes)
    _in_line(steps, column, width, height, row, column_bytes)


def in_box(steps: Schedule, call: Call, row_bytes: Value, column_bytes: Value, plane_bytes: Value) -> None:
    """Exchange in each row and each column of a square, then among ranks at the same position in all squares."""
    rank, n_ranks = call.rank, call.n_ranks
    side, n_squares = box(n_ranks)
    place = rank % (side * side)
    first, row, column = rank - place, place // side, place % side
    _in_line(steps, first + row * side, 1, side, column, row_bytes)
    _in_line(steps, first + column, side, side, row, column_bytes)
    for i in steps.loop(1, n_squares):
        steps.irecv((rank + i * side * side) % n_ranks, plane_bytes)
    for i in steps.loop(1, n_squares):
        steps.send((rank + i * side * side) % n_ranks, plane_bytes)
    steps.wait_all()


def _in_line(steps: Schedule, first: Value, stride: int, size: int, index: Value, nbytes: Value) -> None:
    """Receive from all others of a line and send to them, one by one."""
    for i in steps.loop(0, size):
        with steps.when(i != index):
            steps.irecv(first + i * stride, nbytes)
    for i in steps.loop(0, size):
        with steps.when(i != index):
            steps.send(first + i * stride, nbytes)
    steps.wait_all()
