"""What probes say was executed is what coverage.py says, case by case over a zoo of sources."""

import ast
import sys
import types
from pathlib import Path

import coverage
import pytest
from coverage.parser import PythonParser

from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.probes import Kind
from suspectra_recorder.instrumentation.rewriting import instrument

ZOO = Path(__file__).parents[1] / "fixtures" / "recording" / "zoo"
CELLS = "__suspectra_test_cells__"
OLD = sys.version_info < (3, 12)

# Places where coverage.py itself is led astray: (source, case): (lines, arcs), with the reason.
QUIRKS = {
    # up to Python 3.11 the bytecode that raises again behind `finally`, and that which leaves an `async with`
    # over several lines, carries the line of the last statement inside, which did not run
    ("handlers.py", "case_finally_1"): ({76}, {(75, 76)}) if OLD else (set(), set()),
    ("coroutines.py", "case_async"): ({76}, {(75, 76), (75, 77)})
    if OLD
    else (set(), {(75, 77)} if sys.version_info >= (3, 13) else set()),
    # a call of a function that is left alone sets no cell
    ("statements.py", "case_docstring_functions"): ({279}, set()),
}
# functions that do nothing are left alone if a decorator may look at their code
LEFT_ALONE = {"handlers.py": {312, 319}}


def sources():
    needed = {path: path.stem.partition("_py3")[2] for path in sorted(ZOO.glob("*.py"))}
    return [path for path, minor in needed.items() if not minor or sys.version_info >= (3, int(minor))]


def cases(module):
    return [name for name in vars(module) if name.startswith("case_")]


def by_coverage(path):
    """Executed statements and branch arcs by case, all statements and all arcs of branches."""
    measuring = coverage.Coverage(branch=True, data_file=None, include=[str(path)], config_file=False)
    measuring.set_option("run:core", "ctrace")  # what 3.14 takes by itself knows no contexts
    module = types.ModuleType("zoo")
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    measuring.start()
    try:
        measuring.switch_context("import")
        exec(code, module.__dict__)
        for name in cases(module):
            measuring.switch_context(name)
            getattr(module, name)()
    finally:
        measuring.stop()
    parser = PythonParser(filename=str(path))
    parser.parse_source()
    exits = parser.exit_counts()
    # a definition on one line is no branch, though its line has two ways out for coverage.py
    one_line = {
        line
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for line in (parser.first_line(node.lineno),)
        if line == parser.first_line(node.body[0].lineno)
    }
    branches = {(a, b) for a, b in parser.arcs() if exits.get(a, 0) > 1 and a not in one_line}
    data = measuring.get_data()
    executed = {}
    for name in ["import", *cases(module)]:
        data.set_query_context(name)
        lines = parser.first_lines(data.lines(str(path)) or ()) & parser.statements
        executed[name] = lines, parser.translate_arcs(data.arcs(str(path)) or ()) & branches
    return executed, parser.statements, branches


def by_probes(path):
    tree, module_map = instrument(path.read_bytes(), str(path), CELLS)
    cells = [0] * module_map.cells
    code = compile(tree, str(path), "exec", dont_inherit=True)
    code = with_cells(code, CELLS, LoadedFile(path.name, "", cells, b""))
    module = types.ModuleType("zoo")

    def harvest():
        fired = [p for p in module_map.probes if cells[p.cell]]
        cells[:] = [0] * len(cells)
        statements = {p.line for p in fired if p.kind is Kind.STATEMENT}
        return statements, {(p.line, p.target) for p in fired if p.kind is not Kind.STATEMENT}

    exec(code, module.__dict__)
    executed = {"import": harvest()}
    for name in cases(module):
        getattr(module, name)()
        executed[name] = harvest()
    return executed, {s.line for s in module_map.statements}


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_statements_and_branches_equal_those_of_coverage(path):
    theirs, statements, branches = by_coverage(path)
    ours, known = by_probes(path)
    assert known == statements - LEFT_ALONE.get(path.name, set())
    assert ours.keys() == theirs.keys()
    for case, (lines, arcs) in theirs.items():
        line_quirks, arc_quirks = QUIRKS.get((path.name, case), (set(), set()))
        assert ours[case][0] ^ lines == line_quirks, case
        assert (ours[case][1] & branches) ^ arcs == arc_quirks, case


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_every_statement_can_be_reached_by_a_probe_and_knows_its_function(path):
    _, module_map = instrument(path.read_bytes(), str(path), CELLS)
    marked = {p.line for p in module_map.probes if p.kind is Kind.STATEMENT}
    assert marked == {s.line for s in module_map.statements}
    for statement in module_map.statements:
        inside = [
            i
            for i, f in enumerate(module_map.functions)
            if f.line < statement.line and statement.end_line <= f.end_line
        ]
        # a function's own `def` line and decorators belong outside, so only strict nesting is checked
        if statement.function >= 0:
            assert statement.function in inside


def test_a_statement_is_its_whole_logical_line():
    source = b"x = [\n    1,\n]\nif (x and\n        x):\n    y = 1\n"
    _, module_map = instrument(source, "x.py", CELLS)
    assert [(s.line, s.end_line) for s in module_map.statements] == [(1, 3), (4, 5), (6, 6)]


def test_names_are_qualified():
    source = b"class A:\n    def f(self):\n        def g(): pass\n        return g\ndef h(): pass\n"
    _, module_map = instrument(source, "x.py", CELLS)
    assert [f.name for f in module_map.functions] == ["A.f", "A.f.g", "h"]
    assert {s.line: s.function for s in module_map.statements} == {1: -1, 2: -1, 3: 0, 4: 0, 5: -1}


def test_checksums_do_not_see_indentation():
    first, second = (
        instrument(source, "x.py", CELLS)[1].statements for source in (b"if 1:\n    x = f(1)\n", b"x = f(1)\n")
    )
    assert first[-1].checksum == second[-1].checksum
    assert first[0].checksum != second[0].checksum
