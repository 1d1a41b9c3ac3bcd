"""Mutants: every one compiles, is another program, and changes only what its edit covers."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.mutation.edit import Edit
from suspectra.mutation.excerpt import excerpt
from suspectra.mutation.mutant import Mutant, mutants
from suspectra.mutation.operators import OPERATORS
from suspectra.mutation.parsed_source import ParsedSource, TextSpan

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mutation"


def paths(tree):
    """Each node with the way to it."""
    waiting = [(tree, ())]
    while waiting:
        node, path = waiting.pop()
        yield node, path
        for name, value in ast.iter_fields(node):
            for number, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST):
                    waiting.append((child, (*path, (name, number))))


def replace_at(tree, path, node):
    for name, number in path[:-1]:
        tree = getattr(tree, name) if number is None else getattr(tree, name)[number]
    name, number = path[-1]
    if number is None:
        setattr(tree, name, node)
    else:
        getattr(tree, name)[number] = node


def offsets(source, edit):
    starts = [0]
    for line in source.lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    return TextSpan(starts[edit.line - 1] + edit.column, starts[edit.end_line - 1] + edit.end_column)


def spans(source):
    """What can be edited: where it is, the node, and the way to it."""
    return [
        (source.span(node), node, path)
        for node, path in paths(source.tree)
        if isinstance(node, (ast.stmt, ast.expr)) and not isinstance(node, ast.Slice)
    ]


def intended(source, nodes, edit):
    """The tree in which the smallest node that contains the edit is what its text alone means afterwards."""
    start, end = offsets(source, edit)
    kind = ast.stmt if edit.text in ("pass", "return None") else ast.AST
    span, node, path = min(
        (entry for entry in nodes if entry[0].start <= start and end <= entry[0].end and isinstance(entry[1], kind)),
        key=lambda entry: (entry[0].end - entry[0].start, -len(entry[2])),
    )
    text = source.part(TextSpan(span.start, start)) + edit.text + source.part(TextSpan(end, span.end))
    new = ast.parse(text).body[0] if isinstance(node, ast.stmt) else ast.parse(f"({text}\n)", mode="eval").body
    tree = ast.parse(source.text)
    replace_at(tree, path, new)
    return tree


def dump(tree):
    return ast.dump(tree).replace("ctx=Store()", "ctx=Load()")


def check(source):
    found = list(mutants(source))
    assert len({mutant.edit for mutant in found}) == len(found), "each once"
    assert found == list(mutants(source)), "in a stable order"
    before, nodes = ast.dump(source.tree), spans(source)
    for mutant in found:
        tree = ast.parse(mutant.edit.apply(source.text))
        assert ast.dump(tree) != before, mutant
        assert dump(tree) == dump(intended(source, nodes, mutant.edit)), mutant
        assert source.part(offsets(source, mutant.edit)) == mutant.before
        check_excerpt(source, mutant, tree)
    return found


def check_excerpt(source, mutant, tree):
    """What is compiled has the mutant's function, on its lines."""
    made = excerpt(source, mutant)
    assert made is not None, mutant
    compile(made.text, "excerpt", "exec")
    lines = {node.lineno for node in ast.walk(source.tree) if hasattr(node, "lineno")}
    of_mutant = {node.lineno for node in ast.walk(ast.parse(made.text)) if isinstance(node, ast.stmt)}
    assert {line for line in of_mutant if line >= made.functions[0].line} <= lines


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("name", ["kinds", "live"])
def test_a_mutant_is_its_edit(name):
    found = check(ParsedSource((FIXTURES / f"{name}.py").read_bytes()))
    without = {"call", "key", "handler"}
    assert name != "kinds" or {mutant.operator for mutant in found} == OPERATORS.keys() - without


def named(name):
    return ast.Name(name, ast.Load())


NAMES = st.sampled_from("abc").map(named)
LEAVES = NAMES | st.sampled_from([0, 1, 2.5, True, "text", ""]).map(ast.Constant)
BINARY = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.BitAnd, ast.BitXor]
COMPARING = [ast.Lt, ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot]


def larger(inner):
    several = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds(lambda one, how, other: ast.BinOp(one, how(), other), inner, st.sampled_from(BINARY), inner),
        st.builds(
            lambda how, values: ast.BoolOp(how(), values), st.sampled_from([ast.And, ast.Or]), at_least_two(inner)
        ),
        st.builds(lambda how, one: ast.UnaryOp(how(), one), st.sampled_from([ast.Not, ast.USub, ast.Invert]), inner),
        st.builds(lambda one, how, other: ast.Compare(one, [how()], [other]), inner, st.sampled_from(COMPARING), inner),
        st.builds(ast.IfExp, inner, inner, inner),
        st.builds(lambda one: ast.Attribute(one, "key", ast.Load()), inner),
        st.builds(lambda one, other: ast.Subscript(one, other, ast.Load()), inner, inner),
        st.builds(lambda name, given: ast.Call(name, given, []), st.sampled_from("abc").map(named), several),
        st.builds(lambda one: ast.NamedExpr(ast.Name("c", ast.Store()), one), inner),
        st.builds(ast.Await, inner),
        st.builds(lambda one: ast.Lambda(ast.arguments([], [], None, [], [], None, []), one), inner),
    )


def at_least_two(inner):
    return st.lists(inner, min_size=2, max_size=3)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(st.recursive(LEAVES, larger, max_leaves=6))
def test_a_mutant_of_any_expression_is_its_edit(expression):
    text = ast.unparse(ast.fix_missing_locations(ast.Expression(expression)))
    try:
        source = ParsedSource(f"async def f(a, b):\n    c = a\n    return {text}\n".encode())
    except SyntaxError:
        return  # such as `(a := b).key` in the output of a Python that forgets parentheses
    check(source)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return a > b", "`>` → `>=`, `>` → `<=`, `>` → `<`, `>` → `!=`"),
        ("return a == 'x'", "`==` → `!=`, `'x'` → `\"\"`"),
        ("return a and b", "`and` → `or`, `a and b` → `b`, `a and b` → `a`, `a` → `not a`, `b` → `not b`"),
        ("return not a < b", "`not a < b` → `a < b`, `<` → `<=`, `<` → `>`, `<` → `!=`"),
        ("return a - b", "`-` → `+`, `a - b` → `a`, `a - b` → `b`, `a - b` → `b - a`"),
        ("return a + 0", "`a + 0` → `0`, `a + 0` → `a * 0`, `0` → `1`, `0` → `-1`"),
        ("return 'a' + b", "`'a' + b` → `'a'`, `'a' + b` → `b`, `'a'` → `\"\"`, `'a' + b` → `b + 'a'`"),
        ("return a + b", "`+` → `-`, `a + b` → `a`, `a + b` → `b`, `a + b` → `a * b`, `a + b` → `b + a`"),
        ("return max(a, b)", "`max` → `min`"),
        ("return f(a, b)", "`a, b` → `b, a`"),
        ("return f(a, a)", ""),
        ("return a[b]", "`b` → `b + 1`, `b` → `b - 1`"),
        ("a.count(b); return 1", "`a.count(b)` → `pass`, `1` → `2`, `1` → `0`"),
        ("return None", ""),
        ("if a:\n  return\n return", "`a` → `not a`, `return` → `pass`"),
        ("for b in a:\n  continue", ""),
        ("b = a", "`b = a` → `pass`"),
        ("a: int = b", "`a: int = b` → `pass`"),
        ("yield a", ""),
    ],
)
def test_operators(code, expected):
    source = ParsedSource(f"def f(a, b):\n {code}\n".encode())
    kept = [one.description for one in mutants(source) if one.operator not in APART]
    assert sorted(kept) == sorted(re.findall("`.+?` → `.*?`(?=, `|$)", expected))


APART = ("variable", "return none", "off by one", "left out call", "left out argument", "none", "jump", "accumulation")


@pytest.mark.parametrize(
    ("operator", "code", "expected"),
    [
        ("off by one", "return a < b", "`b` → `b - 1`"),
        ("off by one", "return a >= b", "`b` → `b - 1`"),
        ("off by one", "return a == b", ""),
        ("off by one", "return f(a)", "`a` → `a + 1`, `a` → `a - 1`"),
        ("off by one", "return f(b=LIMIT)", "`LIMIT` → `LIMIT + 1`, `LIMIT` → `LIMIT - 1`"),
        ("off by one", "return len(a)", "`len(a)` → `len(a) + 1`, `len(a)` → `len(a) - 1`"),
        ("off by one", "return f(a * b)[0]", "`a * b` → `a * b + 1`, `a * b` → `a * b - 1`"),
        ("off by one", "for c in a:\n  f(a, c)", "`c` → `c + 1`, `c` → `c - 1`"),
        ("off by one", "b.append(1)\n return b", ""),
        ("left out argument", "return f(a, b)", "`f(a, b)` → `f(a)`"),
        ("left out argument", "return f(a, k=b, **a)", "`f(a, k=b, **a)` → `f(a, **a)`"),
        ("left out argument", "return a.split(',')", "`a.split(',')` → `a.split()`"),
        ("left out argument", "return f(a)", ""),
        ("left out call", "return f(a, b)", "`f(a, b)` → `a`"),
        ("left out call", "return a.x.strip()", "`a.x.strip()` → `a.x`"),
        ("left out call", "f(a); raise f(a)", ""),
        ("left out call", "return len(a), os.getcwd(), A(a), a.isdigit()", ""),
        ("none", "if a:\n  pass", "`a` → `a is not None`"),
        ("none", "if not a:\n  pass", "`not a` → `a is None`"),
        ("none", "if a is None:\n  pass", "`a is None` → `not a`"),
        ("none", "if a is not None:\n  pass", "`a is not None` → `a`"),
        ("none", "return a or b", "`a or b` → `b if a is None else a`"),
        ("none", "if a.isdigit() or a > b:\n  pass", ""),
        ("relational", "return a is b", "`is` → `is not`, `is` → `==`"),
        ("negation", "return a.isdigit()", "`a.isdigit()` → `not a.isdigit()`"),
        ("arithmetic", "a *= 2", "`*=` → `/=`, `*=` → `//=`, `*=` → `+=`, `*=` → `**=`, `*=` → `=`"),
        ("arithmetic", "a *= b", "`*=` → `/=`, `*=` → `//=`, `*=` → `+=`, `*=` → `=`"),
        ("call", "return re.match(a, b)", "`match` → `fullmatch`, `match` → `search`"),
        ("key", "a['x'] = a['y'] + a['x']", "`'x'` → `'y'`, `'y'` → `'x'`, `'x'` → `'y'`"),
        ("jump", "for c in a:\n  break", "`break` → `continue`"),
        ("jump", "for c in a:\n  continue", "`continue` → `break`"),
        ("handler", "try:\n  f(a)\n except KeyError:\n  pass", "`KeyError` → `Exception`"),
        ("handler", "try:\n  f(a)\n except Exception:\n  pass", ""),
        ("accumulation", "c = a[0]\n c = b", "`=` → `+=`"),
        ("accumulation", "a = a + b; b = 0; c = b", ""),
    ],
)  # fmt: skip
def test_an_operator(operator, code, expected):
    source = ParsedSource(f"def f(a, b):\n {code}\n".encode())
    made = [one.description for one in check(source) if one.operator == operator]
    assert made == re.findall("`.+?` → `.*?`(?=, `|$)", expected)


def test_a_variable_is_taken_for_the_attribute_of_the_same_name():
    code = b"class A:\n    def f(self, a, b):\n        self.a = b\n        return a + self.b\n"
    made = {one.description for one in mutants(ParsedSource(code)) if one.operator == "variable"}
    assert {"`a` → `self.a`", "`self.b` → `b`"} <= made


def test_variables_and_attributes_of_the_same_scope():
    code = [
        "def f(a, b):",
        "    c = a.x + a.y",
        "    return b",
        "class A:",
        "    z: int",
        "    def g(self):",
        "        return self.z + self.w()",
        "    def h(self):",
        "        self.v = self.q()",
    ]
    source = ParsedSource("\n".join(code).encode())
    found = [one.description for one in mutants(source) if one.operator == "variable"]
    assert found == [
        "`a.x` → `a.y`",
        "`a.y` → `a.x`",
        "`b` → `a`",
        "`b` → `c`",
        "`self.z` → `self.v`",
        "`self.w` → `self.q`",
        "`self.q` → `self.w`",
    ]


def test_a_variable_that_nothing_reads_is_tried_however_far_away_it_is():
    source = ParsedSource(b"def f(rate, _old, used, a, b, c):\n    d = a + b + c\n    return [used for e in d] or c\n")
    found = [one for one in mutants(source) if one.operator == "variable"]
    last = {one.edit.text for one in found if (one.before, one.edit.line) == ("c", 3)}
    assert last == {"a", "b", "d", "rate"}  # a comprehension reads `used`, and `_old` is meant to be read nowhere


@pytest.mark.parametrize(
    ("statement", "left_out"),
    [
        ("self.a = self.b", "self.a = self.a"),
        ("a = b", "a = a"),
        ("a: int = b", "a: int = a"),
        ("(a := b)", "(a := a)"),
        ("return a < b", "return b < b"),
        ("return a and b", "return a and a"),
        ("return a - b", "return b - b"),
    ],
)
def test_no_mutant_gives_a_variable_to_itself_or_compares_it_with_itself(statement, left_out):
    code = f"class A:\n    def f(self, a, b):\n        {statement}\n        return self.a\n"
    source = ParsedSource(code.encode())
    made = {one.edit.apply(source.text).split("\n")[2].strip() for one in mutants(source)}
    assert made
    assert left_out not in made


def test_code_that_runs_at_import_is_left_alone():
    code = b"LIMIT = 3\n@register(1)\ndef f(a=LIMIT + 1):\n    return a\n\nclass A:\n    size = 2 * LIMIT\n"
    assert {one.edit.line for one in mutants(ParsedSource(code))} == {4}


def test_lines_limit_what_is_mutated():
    source = ParsedSource(b"def f(a):\n    a += 1\n    return a\n")
    assert {one.edit.line for one in mutants(source, {3})} == {3}


def test_a_check_that_raises_is_marked():
    code = (
        b"def f(a):\n    if a > 1:\n        raise ValueError(a)\n    if a:\n        a = 2\n    assert a\n    return a\n"
    )
    marked = {one.edit.line for one in mutants(ParsedSource(code)) if one.guard}
    assert marked == {2, 3, 6}


def test_an_edit_counts_columns_in_bytes():
    assert Edit(2, 8, 2, 9, ">=").apply("é\nif éé > 1:\n") == "é\nif éé >= 1:\n"
    source = ParsedSource("def f(é):\r\n    return é > 1\r\n".encode())
    first = next(mutants(source))
    assert first.edit == Edit(2, 4, 2, 17, "return None")
    assert first.edit.apply(source.text) == "def f(é):\n    return None\n"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a > 1", "a >= 1", "`a > 1` → `a >= 1`"),
        ("f(" + "x" * 60, "pass", "`f(" + "x" * 37 + "…` → `pass`"),
        (
            "self.first == other.first and self.second == other.second",
            "self.first == other.first and self.third == other.third",
            "`…self.second == other.second` → `…self.third == other.third`",
        ),
        (
            "self.first == other.first and self.second == other.second",
            "self.first == other.first",
            "`…other.first and self.second == other.s…` → `…other.first`",
        ),
        ("x" * 60, "x" * 50 + "y", "`…" + "x" * 30 + "` → `…" + "x" * 20 + "y`"),
    ],
)
def test_a_description_shows_what_differs(before, after, shown):
    assert Mutant(Edit(1, 0, 1, len(before), after), before, "deletion", (), ()).description == shown
