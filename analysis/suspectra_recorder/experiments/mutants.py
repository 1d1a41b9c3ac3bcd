"""Putting mutants into a process: the code of live functions is replaced, so nothing is loaded again.

A function is found by its file, its name and the first line of its code, whether it is a method, a property, decorated,
nested in another one or asynchronous. Functions that a mutated function defines get the mutant's code from that one;
those that it has defined already are found like others.
"""

from __future__ import annotations
import __future__

import gc
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType

from suspectra_recorder.experiments.exchange import Findings, Job
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.switchboard import Switchboard
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.cells import with_cells
from suspectra_recorder.instrumentation.loaded_file import placeholder
from suspectra_recorder.instrumentation.own_syntax import ast
from suspectra_recorder.instrumentation.source import parse, without_collecting

__builtins__ = own.builtins

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

CodeName = tuple[str, int]
"""The name of a function, and the first line of its code."""


class Mutating(RunKind):
    r"""Functions run the code of a mutant.

    A job has the ``"file"``; the ``"source"`` of the outermost mutated function, with the classes around it, on the
    lines of the file; and the names and lines of all ``"functions"`` that contain the change, from the outermost on.

    Parameters
    ----------
    board : Switchboard
        Counts the decisions of mutants too, so that their endless loops end.
    name_of : callable
        Gives the path of a file relative to the workspace, None for files that no mutant changes.

    Examples
    --------
    >>> space = {}
    >>> exec(compile("def price():\n    return 20\n", "<price>", "exec"), space)
    >>> kind = Mutating(Switchboard(), lambda path: "price.py" if path == "<price>" else None)
    >>> kind.prepare()
    >>> mutated = "def price():\n    return 21\n"
    >>> kind.apply({"kind": "mutant", "file": "price.py", "functions": [("price", 1)], "source": mutated})
    >>> space["price"](), kind.take_back(), space["price"]()
    (21, {'reached': 1}, 20)
    """

    def __init__(self, board: Switchboard, name_of: Callable[[str], str | None]):
        self._board, self._name_of = board, name_of
        self._live: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._replaced: list[tuple[FunctionType, CodeType]] = []

    def prepare(self) -> None:
        """Find the functions of the workspace, which the garbage collector can't list once it is frozen."""
        names: dict[str, str | None] = {}
        for found in gc.get_objects():
            if type(found) is FunctionType:
                code = found.__code__
                path = code.co_filename
                if path not in names:
                    names[path] = self._name_of(path)
                name = names[path]
                if name is not None:
                    self._live.setdefault((name, code.co_name, code.co_firstlineno), []).append(found)

    def apply(self, job: Job) -> None:
        """Replace the code of all functions that contain the change."""
        functions: list[CodeName] = [(name, line) for name, line in job["functions"]]
        live = [self._live.get((job["file"], name, line), []) for name, line in functions]
        some = next((several[0] for several in live if several), None)
        if some is None:
            return
        flags, path = some.__code__.co_flags & _FUTURE, some.__code__.co_filename
        with without_collecting():
            codes = self._codes(job, functions, path, flags)
            for at, several in enumerate(live):
                for function in several:
                    code = codes[at]
                    if code is not None and code.co_freevars != function.__code__.co_freevars:
                        free = function.__code__.co_freevars
                        code = self._codes(job, functions, path, flags, free)[at]
                    if code is not None and code.co_freevars == function.__code__.co_freevars:
                        self._replaced.append((function, function.__code__))
                        function.__code__ = code

    def _codes(
        self, job: Job, functions: Sequence[CodeName], path: str, flags: int, free: Sequence[str] = ()
    ) -> list[CodeType | None]:
        """The mutated code of each function. The innermost one refers to the variables in `free` in any case."""
        try:
            tree = parse(job["source"], path)
            name = placeholder(job["file"], job["source"])
            self._board.insert(tree, job["file"], name, asserts=True)  # decisions of mutants have no number
            if free:
                _refer(tree, functions[-1], free)
            code: CodeType | None = compile(tree, path, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return [None] * len(functions)
        assert code is not None
        code = with_cells(code, name, self._board)
        codes = []
        for function in functions:
            code = code and _nested(code, function)
            codes.append(code)
        return codes

    def take_back(self) -> Findings:
        """Give functions their own code again; how many there were."""
        for function, code in self._replaced:
            function.__code__ = code
        replaced, self._replaced = len(self._replaced), []
        return {"reached": replaced}


def _nested(code: CodeType, function: CodeName) -> CodeType | None:
    """The code of a function somewhere in other code."""
    for constant in code.co_consts:
        if type(constant) is CodeType:
            if (constant.co_name, constant.co_firstlineno) == function:
                return constant
            if (found := _nested(constant, function)) is not None:
                return found
    return None


def _refer(tree: ast.Module, function: CodeName, names: Sequence[str]) -> None:
    """Let a function refer to variables of others, without doing anything."""
    name, line = function
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != name:
            continue
        if line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list)):
            read: list[ast.stmt] = [ast.Expr(ast.Name(variable, ast.Load())) for variable in names]
            node.body.append(ast.If(ast.Constant(False), read, []))
            ast.fix_missing_locations(node)
            return
