"""Finding the statements of a Python source, in the same way as coverage.py.

A statement is a logical line (the tokens up to a NEWLINE token) with bytecode, except a docstring. As the bytecode
decides, lines that a version of Python optimizes away are not statements.
"""

from __future__ import annotations

import _warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from gc import disable as pause_collector
from gc import enable as resume_collector
from gc import isenabled as collector_runs
from types import CodeType, TracebackType

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys, zlib
from suspectra_recorder.instrumentation.parser_references import ast, decode_source, io, tokenize

__builtins__ = library_references.builtins

_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_ATTEMPTS = 20
_NO_TEXT = frozenset((tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT))
# strings with expressions in them, which are one token up to Python 3.11
_STRING_OPENS = frozenset(getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START"))
_STRING_CLOSES = frozenset(getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END"))
_HOLDS_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def parse(source: bytes | str, path: str = "<source>") -> ast.Module:
    """Parse a source.

    Up to Python 3.11, an interpreter has a single counter for the depth of trees. If a finalizer or another thread
    parses at the same time, a SystemError may be raised although the source is valid, so it is parsed again.

    Raises SyntaxError, ValueError, RecursionError, MemoryError when Python can't parse it.
    """
    for _ in range(_ATTEMPTS):
        try:
            return ast.parse(source, path)
        except SystemError:
            continue
    return ast.parse(source, path)


def compile_silently(tree: ast.Module, path: str) -> CodeType:
    """Compile a tree without its warnings.

    The compiler asks the filters of the module that goes by the name of warnings. It takes the name of the file for
    that of a module; what it finds as it computes constants is a warning of its caller. Filters for these two hide no
    other warning. Unlike ``warnings.catch_warnings``, they don't make the program's own warnings be shown once more.

    Raises SyntaxError, ValueError, RecursionError when Python can't compile it.
    """
    ignored = [("ignore", None, Warning, name, 0) for name in (path.removesuffix(".py"), __name__)]
    with _before_others(ignored):
        return compile(tree, path, "exec", dont_inherit=True)


class CompilerWarnings:
    """A context that finds out whether the compiler warns of a file, whatever is done with its warnings."""

    def __init__(self, path: str, caller: str):
        self.issued = False  # whether there was a warning
        self._modules = (path.removesuffix(".py"), caller)

    def match(self, module: str) -> bool:
        """Note a warning of a module; the interpreter calls this as it does with the pattern of a filter."""
        self.issued |= module in self._modules
        return False

    def __enter__(self) -> CompilerWarnings:
        self._filter = _before_others([("ignore", None, Warning, self, 0)])
        self._filter.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._filter.__exit__(kind, error, traceback)


@contextmanager
def _before_others(entries: Sequence[tuple[object, ...]]) -> Iterator[None]:
    """Put filters of warnings before all others, without a sign for the interpreter that filters changed."""
    filters = getattr(sys.modules.get("warnings", _warnings), "filters", None)
    if type(filters) is not list:
        yield
        return
    # not by `warnings.simplefilter`: it would have warnings shown again that were shown once
    filters[:0] = entries
    try:
        yield
    finally:
        for entry in entries:
            if entry in filters:  # what shows a warning may have changed them
                filters.remove(entry)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Pause the garbage collector, which would traverse a growing tree repeatedly without finding garbage."""
    # a program may have switched it off by itself
    running = collector_runs()
    pause_collector()
    try:
        yield
    finally:
        if running:
            resume_collector()


class LogicalLines:
    """The logical lines of one source.

    Raises SyntaxError, tokenize.TokenError when the source is not valid Python.
    """

    def __init__(self, source: bytes):
        self.text = decode_source(source)
        self._last: dict[int, int] = {}  # first line: last line
        self._first: dict[int, int] = {}  # any line of several: the first
        self._checksum: dict[int, int] = {}  # of the tokens of each logical line, by its first line
        texts = self.text.split("\n")
        first = 0
        words: list[str] = []
        strings: list[tuple[int, int]] = []  # where those that are open begin
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.NEWLINE:
                if first:
                    self._add(first, token.end[0])
                    self._sum_up(first, words)
                first, words = 0, []
            elif not first and token.type != tokenize.COMMENT and token.string.strip():
                first = token.start[0]
            if token.type in _STRING_OPENS:
                strings.append(token.start)
            elif token.type in _STRING_CLOSES:
                start = strings.pop()
                if not strings:
                    words.append(_between(texts, start, token.end))
            elif not strings and token.type not in _NO_TEXT:
                words.append(token.string)

    def _sum_up(self, first: int, words: list[str]) -> None:
        text = "\0".join(words).encode("utf-8", "surrogatepass")
        self._checksum[first] = zlib.crc32(text, self._checksum.get(first, 0))

    def _add(self, first: int, last: int) -> None:
        self._last[first] = max(last, self._last.get(first, 0))
        for line in range(first + 1, last + 1):
            self._first[line] = first

    def first(self, line: int) -> int:
        """Find the first line of a logical line.

        The first line of the logical line; the line itself if that has only one line.
        """
        return self._first.get(line, line)

    def last(self, first: int) -> int:
        """Find the last line of a logical line.

        The last line; the line itself if no logical line starts there.
        """
        return self._last.get(first, first)

    def checksums(self, firsts: list[int]) -> list[int]:
        """Compute checksums of the text of some logical lines, without comments and white space between tokens."""
        sums = []
        for first in firsts:
            value = self._checksum.get(first, 0)
            sums.append(value - (1 << 32) if value >> 31 else value)
        return sums


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text between two places, each a line, counted from 1, and a column."""
    part = lines[start[0] - 1 : end[0]]
    part[-1] = part[-1][: end[1]]
    part[0] = part[0][start[1] :]
    return "\n".join(part)


def statement_lines(tree: ast.Module, code: CodeType, lines: LogicalLines) -> list[int]:
    """Find the first lines of all statements.

    Counted from 1, ascending.
    """
    docstrings = set(_docstring_lines(tree))
    if not lines.text.strip():
        return []
    firsts = {lines.first(line) for line in set(_code_lines(code)) - docstrings}
    return sorted(firsts - docstrings)


def docstring(body: list[ast.stmt]) -> ast.Expr | None:
    """Find the docstring that starts a body.

    None if there is none.
    """
    match body:
        case [ast.Expr(value=ast.Constant(value=str())) as first, *_]:
            return first
    return None


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _WITH_DOCSTRING) and (doc := docstring(node.body)):
            yield from range(doc.lineno, (doc.end_lineno or doc.lineno) + 1)
        waiting += [c for c in ast.iter_child_nodes(node) if isinstance(c, _HOLDS_STATEMENTS)]


def _code_lines(code: CodeType) -> Iterator[int]:
    waiting = [code]
    while waiting:
        code = waiting.pop()
        # deferred annotations (3.14) are code that normally never runs
        if code.co_name != "__annotate__":
            yield from (line for _, _, line in code.co_lines() if line)
        waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
