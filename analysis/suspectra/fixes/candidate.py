"""A candidate: an edit of a function that may be a fix."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, field
from functools import cached_property

from suspectra.fixes.same_meaning import meaning
from suspectra.mutation.edit import Edit
from suspectra.mutation.excerpt import edited_excerpt, excerpt_of, first_line
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.mutation.scopes import Function
from suspectra_recorder.experiments.messages import RunRequest

_CALCULATES = re.compile(r"\d|\b(?:or|and)\b")
"""What may be written in other words."""

AS_BEFORE = "as before"
"""The kind of candidates that undo a change of the user."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """An edit of a function."""

    file: str  # relative to the workspace
    source: ParsedSource = field(repr=False)  # the file
    edit: Edit
    kind: str  # the template that made it
    cost: float  # the less, the more often such an edit is what was missing
    # the lines of the statement that is changed, from 1, both included; of a compound one those of its head
    line: int
    end_line: int
    functions: tuple[Function, ...] = field(repr=False)  # those around it, from the outermost to the innermost
    owners: tuple[ast.stmt, ...] = field(repr=False)  # the statements around the outermost function, and that itself
    # what is computed now and with the candidate, where the results of both can be compared; empty elsewhere
    old: str = ""
    new: str = ""
    is_condition: bool = False  # whether only the truth of the results matters
    said: str = ""  # what is different of a value, for people, such as "`last` is one day later"; empty elsewhere
    run_text: str = ""  # the text of the edit in runs, where the file has to import something for it
    imports: tuple[Edit, ...] = ()  # the edits that import it
    is_definition: bool = False  # whether it edits a statement of the module, which is executed again
    hides: bool = False  # whether it may only keep the failure from being noticed
    raises_at: int = 0  # the line of the exception that it decides about; 0 if it does not

    @cached_property
    def key(self) -> tuple[str, int, int, tuple[str, ...]]:
        """What is the same of candidates that have the same effect on the text, or calculate the same."""
        first, count, lines = self.edit.changed_lines(self.source.lines)
        if len(lines) == 1 and _CALCULATES.search(lines[0]):
            lines = (meaning(lines[0]).text or lines[0],)
        return self.file, first, count, lines

    @property
    def is_roundabout(self) -> bool:
        """Whether it writes a calculation with more numbers than that needs, as ``a + 1 - 1``: a simpler edit does."""
        first, count, lines = self.edit.changed_lines(self.source.lines)
        if self.kind == AS_BEFORE or len(lines) != 1 or count != 1 or not any(map(str.isdigit, self.edit.text)):
            return False
        return meaning(lines[0]).roundabout and not meaning(self.source.lines[first - 1]).roundabout

    @property
    def run_edit(self) -> Edit:
        """The edit as it is run."""
        return self.edit._replace(text=self.run_text) if self.run_text else self.edit

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All edits of the file."""
        return (*self.imports, self.edit)

    def to_json(self) -> RunRequest:
        """How a machine is asked to run a test with it."""
        if self.is_definition:
            return self._definition()
        made = edited_excerpt(self.source, self.run_edit, self.functions, self.owners)
        if made is None:
            return {"kind": "mutant", "file": self.file, "source": "", "functions": []}
        (text, functions), edit = made
        return {
            "kind": "mutant", "file": self.file, "source": text, "functions": list(functions), "edit": edit
        }  # fmt: skip

    def _definition(self) -> RunRequest:
        """A statement of a module, or of a class, which is executed again."""
        *classes, statement = self.owners
        last = (statement.end_lineno or statement.lineno) - self.run_edit.lines_removed
        lines = self.run_edit.apply(self.source.text).split("\n")[first_line(statement) - 1 : last]
        text = textwrap.dedent("\n".join(lines))
        request: RunRequest = {"kind": "mutant", "file": self.file, "source": "", "functions": []}
        if classes:
            request["members"] = [(".".join(getattr(one, "name", "") for one in classes), text)]
        else:
            request["definitions"] = [text]
        return request

    def overlaps(self, other: Candidate) -> bool:
        """Whether both edit the same place."""
        if self.file != other.file:
            return False
        mine, theirs = self.edit, other.edit
        begins, ends = (mine.line, mine.column), (mine.end_line, mine.end_column)
        return begins <= (theirs.end_line, theirs.end_column) and (theirs.line, theirs.column) <= ends


def together(candidates: tuple[Candidate, ...]) -> RunRequest:
    """How a machine is asked to run a test with several candidates at once."""
    first, *others = _by_function(candidates)
    return {**first, "others": others} if others else first


def _by_function(candidates: tuple[Candidate, ...]) -> list[RunRequest]:
    """One request for each outermost function."""
    of_function: dict[tuple[str, int], list[Candidate]] = {}
    for one in candidates:
        of_function.setdefault((one.file, one.owners[-1].lineno), []).append(one)
    found: list[RunRequest] = []
    for several in of_function.values():
        if len(several) == 1 or several[0].is_definition:
            found.append(several[0].to_json())
            continue
        first = several[0]
        functions = dict.fromkeys(function for one in several for function in one.functions)
        made = excerpt_of(first.source, [one.run_edit for one in several], tuple(functions), first.owners)
        text, names = made if made is not None else ("", ())
        found.append({"kind": "mutant", "file": first.file, "source": text, "functions": list(names)})
    return found
