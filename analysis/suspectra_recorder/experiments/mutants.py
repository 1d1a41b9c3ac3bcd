"""Putting mutants into a process: the code of live functions is replaced, so nothing is loaded again.

A function is found by its file, its name and the first line of its code, whether it is a method, a property, decorated,
nested in another one or asynchronous. Functions that a mutated function defines get the mutant's code from that one;
those that it has defined already are found like others. A module that is imported only while the test runs is loaded
with the code of the mutant.

A mutant comes as the edited text of a function, so this process needs no operators, and an editor can show a mutant as
a diff. Nothing is imported again, objects keep their identity, and the original code returns after the run. Decisions
of mutants are counted, so an endless loop ends like that of a switch.
"""

from __future__ import annotations
import __future__

import functools
import gc
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.variants import Choice, EditTuple, ForkingChoice, Variants
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.loaded_file import placeholder
from suspectra_recorder.instrumentation.parser_references import ast
from suspectra_recorder.instrumentation.source import parse, without_collecting

__builtins__ = library_references.builtins

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

if TYPE_CHECKING:
    _Cache = functools._lru_cache_wrapper[object]
_CACHE: Any = type(functools.lru_cache(lambda: None))  # cached functions are of no public type
_UNDEFINED = object()
CodeName = tuple[str, int]
"""The name of a function, and the first line of its code."""


class Mutating(RunKind):
    """Functions run the code of a mutant.

    A job has the ``"file"``; the ``"source"`` of the outermost mutated function, with the classes around it, on the
    lines of the file, and perhaps an ``"edit"`` of it; and the names and lines of all ``"functions"`` that contain the
    change, from the outermost on. Edits of one function that follow each other are compiled together.
    ``"others"`` are mutants of other functions in the same run. What `functools` keeps of earlier results is forgotten.
    """

    def __init__(self, board: Switchboard, name_of: Callable[[str], str | None]):
        self._board, self._name_of = board, name_of
        self._live: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._replaced: list[tuple[FunctionType, CodeType]] = []
        self._defined: list[tuple[dict[str, Any], str, Any]] = []  # namespaces, names and what these were before
        # classes and functions, names of their attributes, and what these were before
        self._members: list[tuple[Any, str, Any]] = []
        self._caches: list[_Cache] = []
        self.instrument = self._later = _LoadedLater()
        self._next: Sequence[RunRequest] = ()
        self._variants: _LoadedVariants | None = None

    def prepare(self) -> None:
        """Find the functions of the workspace, which the garbage collector can't list once it is frozen."""
        self._look()

    def _look(self) -> None:
        """Find functions, those that are known already excepted."""
        # a run before may have imported more modules
        known = {id(function) for several in self._live.values() for function in several}
        names: dict[str, str | None] = {}
        caches = {id(cache) for kept in self._caches}
        for found in gc.get_objects():
            if type(found) is _CACHE and id(found) not in caches and self._is_ours(found):
                self._caches.append(found)
            if type(found) is FunctionType and id(found) not in known:
                code = found.__code__
                path = code.co_filename
                if path not in names:
                    names[path] = self._name_of(path)
                name = names[path]
                if name is not None:
                    self._live.setdefault((name, code.co_name, code.co_firstlineno), []).append(found)

    def _is_ours(self, cache: _Cache) -> bool:
        code = getattr(getattr(cache, "__wrapped__", None), "__code__", None)
        return code is not None and self._name_of(code.co_filename) is not None

    def live(self, file: str, name: str, line: int) -> Sequence[FunctionType]:
        """The functions of this process that have a name, and whose code begins on a line of a file."""
        return self._live.get((file, name, line), ())

    def foresee(self, jobs: Sequence[RunRequest]) -> None:
        """Know which edits may be compiled together."""
        self._next = jobs

    def apply(self, job: RunRequest) -> None:
        """Replace the code of all functions that contain the change."""
        for kept in self._caches:
            kept.cache_clear()
        jobs = (job, *job.get("others", ()))
        for one in jobs:
            if one.get("definitions"):
                self._define(one["file"], one["definitions"])
            for owner, text in one.get("members", ()):
                self._define_member(one["file"], owner, text)
        for one in jobs:
            if one["functions"]:
                self._replace(one)

    def _define(self, file: str, definitions: Sequence[str]) -> None:
        """Define names of a module, also where others have imported the same object by the same name."""
        ours = [vars(one) for one in list(sys.modules.values()) if self._file_of(one) is not None]
        for space in ours:
            if self._name_of(space["__file__"]) != file:
                continue
            before = dict(space)
            for text in definitions:
                exec(compile(text, space["__file__"], "exec", dont_inherit=True), space)
            changed = {name: value for name, value in space.items() if before.get(name, _UNDEFINED) is not value}
            space.update({name: before[name] for name in changed if name in before})
            for name, value in changed.items():
                for other in ours:
                    if other is space or (name in before and other.get(name, _UNDEFINED) is before[name]):
                        self._defined.append((other, name, before.get(name, _UNDEFINED)))
                        other[name] = value

    def _define_member(self, file: str, owner: str, text: str) -> None:
        """Define something of a class."""
        for module in list(sys.modules.values()):
            if self._file_of(module) != file:
                continue
            space: Any = vars(module)
            found: Any = module
            for name in owner.split("."):
                found = getattr(found, name, None)
            if not isinstance(found, type):
                continue
            own = {**vars(found)}
            before = dict(own)
            exec(compile(text, space["__file__"], "exec", dont_inherit=True), space, own)
            for name, value in own.items():
                if before.get(name, _UNDEFINED) is not value:
                    self._members.append((found, name, before.get(name, _UNDEFINED)))
                    setattr(found, name, value)
                    self._set_field(found, name, value)

    def _set_field(self, owner: type, name: str, value: object) -> None:
        """Let a dataclass have another default value."""
        made: Any = vars(owner).get("__init__")
        if name not in getattr(owner, "__dataclass_fields__", {}) or type(made) is not FunctionType:
            return
        defaults = made.__defaults__ or ()
        names = made.__code__.co_varnames[: made.__code__.co_argcount][-len(defaults) :] if defaults else ()
        if name in names:
            self._members.append((made, "__defaults__", defaults))
            at = names.index(name)
            made.__defaults__ = (*defaults[:at], value, *defaults[at + 1 :])

    def _file_of(self, module: object) -> str | None:
        path = getattr(module, "__dict__", {}).get("__file__")
        return self._name_of(path) if isinstance(path, str) else None

    def _replace(self, job: RunRequest) -> None:
        functions: list[CodeName] = [(name, line) for name, line in job["functions"]]
        if "edit" in job:
            if self._chosen(job, functions):
                return
            job = {**job, "source": _edited(job)}
        live = self._functions(job["file"], functions)
        if not any(live):
            self._look()  # a run before this one may have imported the module
            live = self._functions(job["file"], functions)
        codes = cache(partial(self._codes, job, functions))
        # the module is imported by the test itself, if at all
        if not any(live):
            self._later.wait(job["file"], functions[0], partial(_fitting, codes, 0))
            return
        for at, several in enumerate(live):
            for function in several:
                if (code := _fitting(codes, at, function.__code__)) is not None:
                    self._replaced.append((function, function.__code__))
                    function.__code__ = code

    def _chosen(self, job: RunRequest, functions: Sequence[CodeName]) -> bool:
        """Choose a variant of the function, if the edit is one."""
        edit = _edit_of(job)
        if self._variants is None or not self._variants.is_about(job, edit):
            key = _function_of(job)
            edits = [_edit_of(one) for one in self._next if "edit" in one and _function_of(one) == key]
            if len(edits) < _WORTH_VARIANTS:
                return False
            self._variants = self._with_variants(job, functions, edits)
        number = self._variants.numbers.get(edit)
        if number is None:
            return False
        self._variants.choice.number = number
        for function, code in self._variants.codes:
            self._replaced.append((function, function.__code__))
            function.__code__ = code
        return True

    def fork_at(self, jobs: Sequence[RunRequest], fork: Callable[[int], bool]) -> None:
        """Let the run fork where the function of these edits is first executed, once for each."""
        first = jobs[0]
        functions: list[CodeName] = [(name, line) for name, line in first["functions"]]
        edits = [_edit_of(one) for one in jobs]
        made = self._with_variants(first, functions, edits, lambda numbers: ForkingChoice(numbers, fork))
        for function, code in made.codes if made.numbers else ():
            self._replaced.append((function, function.__code__))
            function.__code__ = code

    def _with_variants(
        self,
        job: RunRequest,
        functions: Sequence[CodeName],
        edits: Sequence[EditTuple],
        choosing: Callable[[Sequence[int]], Choice] = lambda numbers: Choice(),
    ) -> _LoadedVariants:
        """Compile the function with all edits. None is chosen where that is not possible."""
        made = _LoadedVariants(_function_of(job), frozenset(edits))
        live = self._functions(job["file"], functions)
        if not any(live):
            self._look()
            live = self._functions(job["file"], functions)
        outermost = next((function.__code__ for function in live[0]), None)
        innermost = outermost
        for function in functions[1:]:
            innermost = innermost and _nested(innermost, function)
        if outermost is None or innermost is None:
            return made
        path, flags = outermost.co_filename, outermost.co_flags & _FUTURE
        name, choice_name = (placeholder(job["file"], f"{job['source']}{what}") for what in ("", " choice"))
        try:
            with without_collecting():
                tree = parse(job["source"], path)
                variants = Variants(tree, job["source"], (*innermost.co_varnames, *innermost.co_cellvars), choice_name)
                variants.add(edits)
                variants.finish()
                self._board.insert(tree, job["file"], name, asserts=True)
                code: CodeType | None = compile(tree, path, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return made
        assert code is not None
        made.choice = choosing([variants.chosen.get(edit, 0) for edit in edits])
        code = with_cells(with_cells(code, name, self._board), choice_name, made.choice)
        for function, several in zip(functions, live, strict=True):
            code = code and _nested(code, function)
            if code is None or any(code.co_freevars != one.__code__.co_freevars for one in several):
                made.codes.clear()
                return made
            made.codes += [(one, code) for one in several]
        made.numbers.update(variants.chosen)
        return made

    def _functions(self, file: str, functions: Sequence[CodeName]) -> list[list[FunctionType]]:
        return [self._live.get((file, name, line), []) for name, line in functions]

    def _codes(
        self, job: RunRequest, functions: Sequence[CodeName], path: str, flags: int, free: Sequence[str]
    ) -> list[CodeType | None]:
        """The mutated code of each function. The innermost one refers to the variables in `free` in any case."""
        try:
            with without_collecting():
                tree = parse(job["source"], path)
                name = placeholder(job["file"], job["source"])
                # counted like others, so that a mutant that never ends is stopped
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
        if self._variants is not None:
            self._variants.choice.number = 0
        loaded = self._later.stop()
        if loaded:
            self._look()
            for function in (one for several in self._live.values() for one in several):
                if function.__code__ in loaded:
                    self._replaced.append((function, loaded[function.__code__]))
        for function, code in reversed(self._replaced):
            function.__code__ = code
        defined = len(self._defined) + len(self._members)
        for space, name, value in reversed(self._defined):
            if value is _UNDEFINED:
                space.pop(name, None)
            else:
                space[name] = value
        self._defined.clear()
        for owner, name, value in reversed(self._members):
            if value is _UNDEFINED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._members.clear()
        for kept in self._caches:
            kept.cache_clear()
        replaced, self._replaced = len(self._replaced), []
        return {"reached": replaced or len(loaded) or defined}


_FunctionKey = tuple[str, str, tuple[int, ...]]
_WORTH_VARIANTS = 2


class _LoadedVariants:
    """The live functions around some edits, with the code that has them all."""

    def __init__(self, function: _FunctionKey, edits: frozenset[EditTuple]):
        self._function, self._edits = function, edits
        self.choice = Choice()
        self.numbers: dict[EditTuple, int] = {}
        self.codes: list[tuple[FunctionType, CodeType]] = []

    def is_about(self, job: RunRequest, edit: EditTuple) -> bool:
        """Whether it is known of an edit whether it is among these."""
        return edit in self._edits and _function_of(job) == self._function


def _function_of(job: RunRequest) -> _FunctionKey:
    return job["file"], job["source"], tuple(line for _, line in job["functions"])


def _edit_of(job: RunRequest) -> EditTuple:
    line, column, end_line, end_column, text, whole = job["edit"]
    return line, column, end_line, end_column, text, whole


def _edited(job: RunRequest) -> str:
    """The text of the function after the edit."""
    line, column, end_line, end_column, text, _ = _edit_of(job)
    lines = job["source"].split("\n")
    before = lines[line - 1].encode()[:column].decode()
    after = lines[end_line - 1].encode()[end_column:].decode()
    lines[line - 1 : end_line] = [before + text + after]
    return "\n".join(lines)


class ForkingMutants(RunKind):
    """The program as it is, with a fork for each of the ``"jobs"``, which are edits of one function."""

    alters = False

    def __init__(self, mutating: Mutating):
        self._mutating = mutating

    def apply(self, job: RunRequest) -> None:
        """Fork where the function is first executed."""
        self._mutating.fork_at(job["jobs"], job["fork"])

    def take_back(self) -> Findings:
        """Give functions their own code again."""
        return self._mutating.take_back()


_Codes = Callable[[str, int, tuple[str, ...]], list[CodeType | None]]
"""Gives the code of functions: for a path, flags of the compiler, and variables of others that they must refer to."""


def _fitting(codes: _Codes, at: int, own_code: CodeType) -> CodeType | None:
    """The mutated code that can take the place of a function's own, which may refer to other variables; or None."""
    # `__code__` takes only code with the same free variables, and a mutant may have removed the last use of one
    for free in ((), own_code.co_freevars):
        code = codes(own_code.co_filename, own_code.co_flags & _FUTURE, free)[at]
        if code is None or code.co_freevars == own_code.co_freevars:
            return code
    return None


class _LoadedLater(Instrument):
    """Puts the code of a mutant into a module that is loaded from now on."""

    last = True  # the code that it takes out goes back into functions

    def __init__(self) -> None:
        self._file = ""
        self._function: CodeName = ("", 0)
        self._mutated: Callable[[CodeType], CodeType | None] = lambda own_code: None
        self._loaded: dict[CodeType, CodeType] = {}

    def wait(self, file: str, function: CodeName, mutated: Callable[[CodeType], CodeType | None]) -> None:
        """Wait for a file with a function; `mutated` gives the code that takes the place of its own."""
        self._file, self._function, self._mutated = file, function, mutated

    def stop(self) -> dict[CodeType, CodeType]:
        """Wait no longer; what was loaded, with the code that it stands for."""
        self._file = ""
        loaded, self._loaded = self._loaded, {}
        return loaded

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Insert nothing."""
        return _nothing

    def finish(self, code: CodeType, placeholder: str, path: str) -> CodeType:
        """Put the code of the mutant in the place of that of its function."""
        if path != self._file or (own_code := _nested(code, self._function)) is None:
            return code
        if (mutated := self._mutated(own_code)) is None:
            return code
        self._loaded[mutated] = own_code
        return _with(code, own_code, mutated)


def _nothing() -> None:
    pass


def _with(code: CodeType, old: CodeType, new: CodeType) -> CodeType:
    """Code in which some code that is nested in it is another one."""
    constants = tuple(
        new if constant is old else _with(constant, old, new) if type(constant) is CodeType else constant
        for constant in code.co_consts
    )
    # equal constants may be different code
    same = all(one is another for one, another in zip(constants, code.co_consts, strict=True))
    return code if same else code.replace(co_consts=constants)


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
            # never executed, but the compiler sees the names
            read: list[ast.stmt] = [ast.Expr(ast.Name(variable, ast.Load())) for variable in names]
            node.body.append(ast.If(ast.Constant(False), read, []))
            ast.fix_missing_locations(node)
            return
