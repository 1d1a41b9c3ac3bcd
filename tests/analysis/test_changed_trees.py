"""Sources that another tool changes before they are compiled, as checks of types at run time do."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.cli.main import run
from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.instrumentation.changed_trees import ProbedTree
from suspectra_recorder.instrumentation.rewriting import instrument

ZOO = [
    path
    for path in sorted(Path(__file__).parents[1].glob("fixtures/recording/zoo/*.py"))
    if not path.stem.partition("_py3")[2] or int(path.stem.partition("_py3")[2]) <= sys.version_info[1]
]
TOOL = '''
import ast, inspect, sys
from importlib.machinery import PathFinder, SourceFileLoader


CALLS = []


def same(value):
    return value


class Checks(ast.NodeTransformer):
    """Checks what is returned, and that each function is called with something."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        check = ast.parse("CALLS.append(1)").body[0]
        for inner in ast.walk(check):
            ast.copy_location(inner, node.body[0])
        node.body.insert(0, check)
        return node

    def visit_AugAssign(self, node):
        value = ast.Call(ast.Name("checked", ast.Load()), [node.value], [])
        return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, value))

    def visit_Return(self, node):
        checked = ast.Call(ast.Name("checked", ast.Load()), [node.value], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Return(ast.copy_location(checked, node)), node))


def checked(function):
    """Give a function the code of its changed source, as typeguard does."""
    tree = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    tree.body = [node for node in tree.body if getattr(node, "name", "") == function.__name__]
    tree.body[0].decorator_list.clear()
    tree = ast.fix_missing_locations(Checks().visit(tree))
    code = compile(tree, function.__code__.co_filename, "exec", dont_inherit=True)
    function.__globals__.update(CALLS=CALLS, checked=same)
    function.__code__ = next(part for part in code.co_consts if hasattr(part, "co_code"))
    return function


class Loader(SourceFileLoader):
    def source_to_code(self, data, path, **_):
        changed = Checks().visit(ast.parse(data))
        changed.body.insert(0, ast.ImportFrom("checks", [ast.alias("CALLS"), ast.alias("same", "checked")], 0))
        return compile(ast.fix_missing_locations(changed), path, "exec", 0, dont_inherit=True)


class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        spec = PathFinder.find_spec(name, path) if name == "price" else None
        if spec is not None:
            spec.loader = Loader(name, spec.origin)
        return spec
'''
PRICE = """
def price(net, vat=20):
    if not net:
        return 0
    amounts = sorted([net, vat], key=lambda amount: -amount)
    for amount in amounts:
        if amount > 1000:
            return None
    result = sum(amounts)
    if result:
        result += 0
    return result

def unused():
    return 1
"""
TEST = """
from price import price

def test_price():
    assert price(100) == 120

def test_nothing():
    assert price(0) == 0
"""


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_an_unchanged_tree_gets_the_same_probes(path):
    source = path.read_bytes()
    probed, _ = instrument(source, path.name, "cells")
    found = ProbedTree(probed).put_into(ast.parse(source))
    assert ast.dump(found, include_attributes=True) == ast.dump(probed, include_attributes=True)


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_what_is_inserted_stands_before_the_probes(path):
    class Insert(ast.NodeTransformer):
        def generic_visit(self, node):
            super().generic_visit(node)
            if not isinstance(node, ast.stmt) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                return node
            return [ast.copy_location(ast.Pass(), node), node]

    class Remove(ast.NodeTransformer):
        def visit_Pass(self, node):
            return None

    source = path.read_bytes()
    probed, _ = instrument(source, path.name, "cells")
    tree = ast.parse(source)
    before = ast.dump(changed := Insert().visit(tree), include_attributes=True)
    found = ProbedTree(probed).put_into(changed)
    assert ast.dump(changed, include_attributes=True) == before
    assert ast.dump(Remove().visit(found)) == ast.dump(Remove().visit(probed))


def test_statements_that_were_moved_get_no_probes():
    source = PRICE.encode()
    tree = ast.parse(source)
    tree.body[0].body = [ast.copy_location(ast.If(ast.Constant(True), tree.body[0].body, []), tree)]
    probed = ProbedTree(instrument(source, "price.py", "cells")[0])
    assert probed.put_into(tree) is None
    assert probed.put_into(ast.parse("def other():\n    return 1\n")) is None


def record(folder, *options):
    command = [sys.executable, "-m", "suspectra", "record", *options, "--", sys.executable, "-m", "pytest", "-q"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=folder, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
    evidence = RecordingSource(folder).read()
    (measured,) = (file for file in evidence.files if file.path == "price.py")
    first = sum(len(file.line) for file in evidence.files[: evidence.files.index(measured)])
    lines = {first + number: line for number, line in enumerate(measured.line.tolist())}
    return evidence, {
        test.name.rpartition("::")[2]: [lines[number] for number in row.tolist() if number in lines]
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("way", ["plain", "decorator", "import hook"])
def test_functions_that_another_tool_compiles_are_recorded(tmp_path, way):
    shift = 2 if way == "decorator" else 0
    (tmp_path / "checks.py").write_text(TOOL)
    decorated = PRICE.replace("def price", "@checked\ndef price")
    (tmp_path / "price.py").write_text(f"from checks import checked\n{decorated}" if shift else PRICE)
    (tmp_path / "test_price.py").write_text(TEST)
    hook = "import sys, checks\nsys.meta_path.insert(0, checks.Finder)\n" if way == "import hook" else ""
    (tmp_path / "conftest.py").write_text(hook)
    for _ in range(2):  # the second time with whatever is in caches
        evidence, found = record(tmp_path)
        assert not evidence.problems
        assert [line - shift for line in found["test_price"]] == [3, 5, 6, 7, 9, 10, 11, 12]
        assert [line - shift for line in found["test_nothing"]] == [3, 4]


@pytest.mark.slow
def test_it_is_said_where_they_can_not_be_recorded(tmp_path):
    (tmp_path / "checks.py").write_text(TOOL)
    decorated = PRICE.replace("def price", "@checked\ndef price")
    (tmp_path / "price.py").write_text(f"from checks import checked\n{decorated}")
    (tmp_path / "test_price.py").write_text(TEST)
    evidence, found = record(tmp_path, "--counts")
    assert found["test_price"] == []
    (problem,) = evidence.problems
    assert str(problem) == (
        "price.py: checks compiles functions of it in another form, of which nothing is recorded."
        " Fix: record without counts, or switch checks off while the tests are recorded"
    )


@pytest.mark.slow
def test_experiments_say_that_they_leave_them_out(tmp_path, capsys):
    (tmp_path / "checks.py").write_text(TOOL)
    decorated = PRICE.replace("def price", "@checked\ndef price")
    (tmp_path / "price.py").write_text(f"from checks import checked\n{decorated}")
    (tmp_path / "test_price.py").write_text(TEST.replace("== 120", "== 121"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    record = [sys.executable, "-m", "suspectra", "record", "--", *command]
    subprocess.run(record, cwd=tmp_path, capture_output=True, check=False)
    run(["investigate", "--seconds", "3", "--workspace", str(tmp_path), "--", *command])
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning: price.py" in line]
    assert warnings == [
        "suspectra: warning: price.py: checks compiles functions of it in another form."
        " Fix: switch that off to have them altered or traced, too"
    ]
