"""The code of probes: statements and expressions that mark cells."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cell_constants import CELLS
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

if TYPE_CHECKING:
    from typing import TypedDict

    from suspectra_recorder.instrumentation.kept_results.guards import Slot

    class _Position(TypedDict):
        lineno: int
        end_lineno: int
        col_offset: int
        end_col_offset: int


class ProbeCode:
    """Makes the code of probes."""

    def __init__(self, name: str, counting: bool):
        self._name = name
        self._counting = counting

    def store(self, cell: int, line: int) -> ast.stmt:
        """Make ``cells[cell] = 1``, or ``+= 1`` with counts."""
        place = _position(line)
        target = ast.Subscript(self._cells(place), ast.Constant(cell, **place), ast.Store(), **place)
        one = ast.Constant(1, **place)
        return ast.AugAssign(target, ast.Add(), one, **place) if self._counting else ast.Assign([target], one, **place)

    def _cells(self, place: _Position) -> ast.expr:
        """The list of cells."""
        return ast.Attribute(ast.Constant(self._name, **place), CELLS, ast.Load(), **place)

    def expression(self, cell: int, line: int, step: int = 1) -> ast.expr:
        """Make an expression that sets a cell, or adds to it, and returns None."""
        place = _position(line)
        cells = self._cells(place)
        setter = ast.Attribute(cells, "__setitem__", ast.Load(), **place)
        value: ast.expr = ast.Constant(step, **place)
        if self._counting:
            previous = ast.Subscript(cells, ast.Constant(cell, **place), ast.Load(), **place)
            value = ast.BinOp(previous, ast.Add(), value, **place)
        return ast.Call(setter, [ast.Constant(cell, **place), value], [], **place)

    def put(self, cell: int, line: int, value: int) -> ast.expr:
        """Make an expression that assigns a value to a cell."""
        place = _position(line)
        setter = ast.Attribute(self._cells(place), "__setitem__", ast.Load(), **place)
        return ast.Call(setter, [ast.Constant(cell, **place), ast.Constant(value, **place)], [], **place)

    def take_back(self, cell: int, line: int, instead: int) -> ast.stmt:
        """Make ``if cells[cell]: cells[cell] = 0; cells[instead] = 1``."""
        place = _position(line)
        is_set = ast.Subscript(self._cells(place), ast.Constant(cell, **place), ast.Load(), **place)
        reset = ast.Expr(self.put(cell, line, 0), **place)
        return ast.If(is_set, [reset, self.store(instead, line)], [], **place)

    def cells_of(self, block: Iterable[ast.stmt]) -> list[int]:
        """Return the cells that the probes of a block set, without those inside its statements."""
        return [cell for statement in block if (cell := self._cell_of(statement)) is not None]

    def _cell_of(self, statement: ast.stmt) -> int | None:
        match statement:
            case (
                ast.Assign(targets=[ast.Subscript(value=ast.Attribute(value=ast.Constant(value=name)), slice=cell)])
                | ast.AugAssign(target=ast.Subscript(value=ast.Attribute(value=ast.Constant(value=name)), slice=cell))
            ) if name == self._name and isinstance(cell, ast.Constant):
                return cell.value if isinstance(cell.value, int) else None
        return None

    def make(
        self, place: Slot, outside: Iterable[int], found: Iterable[int], body: list[ast.stmt], line: int
    ) -> ast.stmt:
        """Make ``with constant.make((text, outside, found, owner, keys, lasts)): body``."""
        cells = [ast.Tuple([ast.Constant(cell) for cell in each], ast.Load()) for each in (outside, found)]
        about = [ast.Constant(place.text), *cells, *_owner(place), ast.Constant(place.lasts)]
        made: ast.With = _at(ast.With([ast.withitem(self._call("make", ast.Tuple(about, ast.Load())))], []), line)
        made.body = body
        return made

    def find(self, place: Slot, line: int) -> ast.stmt:
        """Make ``text in constant.found and constant.find(text, owner, keys, value)``."""
        text = ast.Constant(place.text)
        found = ast.Attribute(ast.Constant(self._name), "found", ast.Load())
        call = self._call("find", text, *_owner(place), place.value)
        made: ast.Expr = _at(ast.Expr(ast.BoolOp(ast.And(), [ast.Compare(text, [ast.In()], [found]), call])), line)
        return made

    def stored(self, place: Slot, line: int) -> ast.Expr:
        """Make ``constant.stored(text, value)``."""
        made: ast.Expr = _at(ast.Expr(self._call("stored", ast.Constant(place.text), place.value)), line)
        return made

    def _call(self, name: str, *arguments: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(ast.Constant(self._name), name, ast.Load()), list(arguments), [])

    def before(self, expression: ast.expr, cell: int, line: int) -> ast.BoolOp:
        """Make ``probe or expression``, which sets the cell before the expression is evaluated."""
        probe = self.expression(cell, line)
        return ast.copy_location(ast.BoolOp(ast.Or(), [probe, expression]), expression)

    def guarded(self, guard: ast.expr, cell: int, line: int) -> ast.expr:
        """Add the probe of a case to its guard.

        If the guard fails, a later case's cell counts for this pattern too, so this one must not: ``probe or guard or
        probe undone``.
        """
        probed = self.before(guard, cell, line)
        if self._counting:
            probed.values.append(self.expression(cell, line, -1))
        return probed

    def after(self, expression: ast.expr, cell: int, line: int) -> ast.expr:
        """Make ``(expression, probe)[0]``, which sets the cell after the expression was evaluated."""
        pair = ast.Tuple([expression, self.expression(cell, line)], ast.Load())
        zero = ast.copy_location(ast.Constant(0), expression)
        ast.copy_location(pair, expression)
        return ast.copy_location(ast.Subscript(pair, zero, ast.Load()), expression)


def _owner(place: Slot) -> tuple[ast.expr, ast.expr]:
    return place.owner or ast.Constant(None), ast.Tuple(list(place.keys), ast.Load())


def _at(statement: Any, line: int) -> Any:
    """A copy of a statement, on a line."""
    made = copy.deepcopy(statement)
    for node in ast.walk(made):
        if "lineno" in node._attributes:
            for name, value in _position(line).items():
                setattr(node, name, value)
    return made


def _position(line: int) -> _Position:
    # without a width: that tells probes from all code of the source
    return {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": 0}
