"""Values that become operands of an operator are told from others by the program's instructions."""

from __future__ import annotations

import dis

import pytest

from smpy.emulate.modules.operands import _consumer


@pytest.mark.parametrize(
    ("statement", "is_operand"),
    [
        ("a + b + c", True),
        ("x = c - (a + b)", True),
        ("x = a + b if c else d", False),
        ("x[1:-1, 1:-1] = (a + b) * c[1:, d.e(f, g=h)]", True),
        ("x = (a + b)[c:d] * e", False),
        ("x = (a + b).sum() * c", False),
        ("x = f(a + b, c) * d", False),
        ("x = a + b", False),
        ("x[1:-1] = a + b", False),
        ("x = y = a + b", False),
        ("x += a + b", False),
        ("x = [a + b, c * d]", False),
        ("x = (a + b) > c", False),
        ("x = -(a + b)", False),
        ("f(a + b)", False),
    ],
)
def test_a_sum_is_an_operand_where_an_operator_makes_a_value_of_it(statement: str, is_operand: bool):
    code = compile(statement, "program", "exec")
    offset = next(each.offset for each in dis.get_instructions(code) if each.opname == "BINARY_OP" and each.arg == 0)
    name, argument = _consumer(code, offset)
    assert (name == "BINARY_OP" and argument <= 12) is is_operand, name


def test_a_value_that_a_function_returns_is_its_callers():
    code = compile("def f(a, b):\n    return a + b\n", "program", "exec").co_consts[0]
    offset = next(each.offset for each in dis.get_instructions(code) if each.opname == "BINARY_OP")
    assert _consumer(code, offset)[0] == "RETURN_VALUE"
