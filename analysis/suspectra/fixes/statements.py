"""What can be done with a statement: delete it, guard it, swap it, let another one stand before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import NamedTuple

from suspectra.fixes.expressions import EXCEPTIONS, NEAR, atoms
from suspectra.fixes.fix_site import SIMPLE, FixSite
from suspectra.mutation.edit import Edit
from suspectra.mutation.parsed_source import TextSpan
from suspectra.mutation.scopes import bodies

_MAX_RETURNED = 6
_MAX_REPEATED = 4
"""Statements that are done once more, or in any case."""

_ELSEWHERE = 0.5
"""What it costs to insert what stands in another function alone, and not in one of the same class."""

_CLOSE = 2
"""The lines between statements that may have been written for one another."""

_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_AUGMENTED = ("+=", "-=", "*=", "//=", "%=", "&=", "|=", "^=")
_SIGNS = {
    ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.FloorDiv: "//=", ast.Div: "/=", ast.Mod: "%=",
    ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^=", ast.Pow: "**=", ast.LShift: "<<=", ast.RShift: ">>=",
}  # fmt: skip


_PUTTING = ("append", "add", "extend", "push", "remove")


class StatementEdit(NamedTuple):
    """An edit of whole statements."""

    edit: Edit
    kind: str  # the template
    cost: float
    condition: str = ""  # what is asked there, if nothing changes where that is false
    hides: bool = False  # whether it may only keep a failure from being noticed


def statement_stages(place: FixSite) -> list[tuple[float, Callable[[FixSite], Iterator[StatementEdit]]]]:
    """The templates for a statement, each with what its edits cost at least."""
    if _is_elif(place) or not isinstance(place.node, ast.stmt):
        return []
    if (indent := _indent(place)) is None:
        return [(1.4, _changed)]
    more = ((2.0, _inserted), (2.2, _moved), (2.8, _guarded))
    return [(1.4, _changed), *((least, partial(template, indent=indent)) for least, template in more)]


def head_edits(place: FixSite) -> Iterator[StatementEdit]:
    """What can be done with the decorators of a function."""
    node, source = place.node, place.source
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    begins = [*node.decorator_list, node]
    for number, decorator in enumerate(node.decorator_list):
        following = begins[number + 1]
        column = following.col_offset - (0 if following is node else 1)
        if decorator.lineno != following.lineno:
            edit = Edit(decorator.lineno, decorator.col_offset - 1, following.lineno, column, "", whole_statement=True)
            yield StatementEdit(edit, "decorator", 1.9)
    indent = source.lines[node.lineno - 1].encode()[: node.col_offset].decode()
    if indent.strip() or len(place.scope.owners) == 1 or node.decorator_list:
        return
    parameters = [*node.args.posonlyargs, *node.args.args]
    first = parameters[0].arg if parameters else ""
    for name, cost in (("property", 2.2), ("staticmethod", 2.6), ("classmethod", 2.6)):
        if name != "property" or len(parameters) == 1:
            fits = (name == "staticmethod") == (first not in ("self", "cls"))
            edit = Edit(node.lineno, node.col_offset, node.lineno, node.col_offset, f"@{name}\n{indent}", True)
            yield StatementEdit(edit, "decorator", cost - (0.6 if fits else 0))


def _share_a_word(one: str, other: str) -> bool:
    words = set(one.split("_")).intersection(other.split("_"))
    return one != other and any(len(word) > 2 for word in words)


def _is_elif(place: FixSite) -> bool:
    return isinstance(place.node, ast.If) and place.text.startswith("elif")


def _indent(place: FixSite) -> str | None:
    """What stands before a statement on its line; None if that is more than spaces."""
    node = place.node
    before = place.source.lines[node.lineno - 1].encode()[: node.col_offset].decode()
    return before if not before.strip() else None


def _replaced(place: FixSite, text: str) -> Edit:
    return place.source.edit(place.source.span(place.node), text)._replace(whole_statement=True)


def _before(place: FixSite, text: str, indent: str) -> Edit:
    start = place.source.span(place.node).start
    return place.source.edit(TextSpan(start, start), f"{text}\n{indent}")._replace(whole_statement=True)


def _after(place: FixSite, text: str, indent: str) -> Edit:
    end = place.source.span(place.node).end
    return place.source.edit(TextSpan(end, end), f"\n{indent}{text}")._replace(whole_statement=True)


def _changed(place: FixSite) -> Iterator[StatementEdit]:
    node, source = place.node, place.source
    yields = any(isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in ast.walk(node))
    if not yields and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Pass)):
        hides = isinstance(node, (ast.Raise, ast.Assert)) or _only_raises(node)
        yield StatementEdit(_replaced(place, "pass"), "deletion", 2.2 if isinstance(node, SIMPLE) else 2.8, hides=hides)
    if isinstance(node, (ast.Break, ast.Continue)):
        yield StatementEdit(_replaced(place, "continue" if isinstance(node, ast.Break) else "break"), "jump", 1.5)
        yield StatementEdit(_replaced(place, "return"), "jump", 2.6)
    if isinstance(node, ast.If) and _follows_if(place):
        start = source.span(node).start
        yield StatementEdit(source.edit(TextSpan(start, start), "el")._replace(whole_statement=True), "elif", 1.6)
    if isinstance(node, ast.AugAssign):
        target, value = source.segment(node.target), source.segment(node.value)
        for sign in _AUGMENTED:
            if sign != _SIGNS.get(type(node.op)):
                cost = 1.4 if sign in ("+=", "-=", "&=", "|=") else 2.0
                yield StatementEdit(_replaced(place, f"{target} {sign} {value}"), "operator", cost)
        yield StatementEdit(_replaced(place, f"{target} = {value}"), "assignment", 1.8)
        for name in filter(partial(_share_a_word, target), place.names):  # such as `length = next_length`
            yield StatementEdit(_replaced(place, f"{target} = {name}"), "assignment", 1.7)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute, ast.Subscript)):
        target, value = source.segment(node.targets[0]), source.segment(node.value)
        again = place.in_loop and isinstance(node.targets[0], ast.Name) and target in place.names
        yield StatementEdit(_replaced(place, f"{target} += {value}"), "assignment", 1.6 if again else 2.0)
        for sign, cost in (("-=", 2.8), ("*=", 2.8), ("|=", 2.8)):
            yield StatementEdit(_replaced(place, f"{target} {sign} {value}"), "assignment", cost - 0.4 * again)
        yield from _put_into(place, target, node.value)
        yield StatementEdit(_replaced(place, f"return {value}"), "return", 2.4)
    if isinstance(node, ast.Expr):
        text = source.segment(node.value)
        if not yields:
            yield StatementEdit(_replaced(place, f"return {text}"), "return", 1.9)
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):  # whose result nobody gets
            for given in call.args:
                if isinstance(given, (ast.Name, ast.Attribute)):
                    yield StatementEdit(_replaced(place, f"{source.segment(given)} = {text}"), "assignment", 1.7)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            base = source.segment(call.func.value)
            if isinstance(call.func.value, (ast.Name, ast.Attribute, ast.Subscript)):
                yield StatementEdit(_replaced(place, f"{base} = {text}"), "assignment", 2.0)
                if len(call.args) == 1 and not call.keywords:
                    argument = source.segment(call.args[0])
                    yield StatementEdit(_replaced(place, f"{base} = {argument}"), "assignment", 2.4)
                    yield StatementEdit(_replaced(place, f"{base} += {argument}"), "assignment", 2.6)
    if isinstance(node, ast.Return) and node.value is not None:
        for name in place.names[:NEAR]:
            yield StatementEdit(_replaced(place, f"return {name}"), "return", 2.2)
        yield StatementEdit(_replaced(place, f"yield {source.segment(node.value)}"), "generator", 3.0)
    if isinstance(node, ast.For):
        text, inner = source.segment(node.iter), node.body
        if isinstance(node.iter, (ast.Name, ast.Attribute, ast.Subscript)) and inner:
            for form, cost in (
                ("list({})", 1.9),
                ("{}[1:]", 2.2),
                ("{}[:-1]", 2.2),
                ("reversed({})", 2.3),
                ("sorted({})", 2.2),
            ):
                edit = source.edit(source.span(node.iter), form.format(text))
                yield StatementEdit(edit, "copy" if form == "list({})" else "wrapping", cost)
    yield from _handlers(place)


def _put_into(place: FixSite, target: str, value: ast.expr) -> Iterator[StatementEdit]:
    """What is assigned to a container put into it instead."""
    inner = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else None
    for method in _containers(place).get(target, ()):
        for one in filter(None, (value, inner)):
            text = f"{target}.{method}({place.source.segment(one)})"
            yield StatementEdit(_replaced(place, text), "assignment", 2.2)


def _follows_if(place: FixSite) -> bool:
    """Whether the statement before is a condition without another branch."""
    at = next((number for number, one in enumerate(place.block) if one is place.node), 0)
    before = place.block[at - 1] if at else None
    return isinstance(before, ast.If) and not before.orelse


def _handlers(place: FixSite) -> Iterator[StatementEdit]:
    """Other exceptions that are handled."""
    source = place.source
    for handler in getattr(place.node, "handlers", ()):
        if handler.type is None:
            continue
        text = source.segment(handler.type)
        own = [source.segment(one) for one in handler.type.elts] if isinstance(handler.type, ast.Tuple) else [text]
        if text != "Exception":
            yield StatementEdit(source.edit(source.span(handler.type), "Exception"), "handler", 2.6, hides=True)
        known = [*place.scope.ingredients.exceptions, *EXCEPTIONS]
        made = {f"({', '.join([*own, one])})": 2.2 for one in known if one not in own}
        made |= {f"({', '.join([*own, *two])})": 2.5 for two in combinations(EXCEPTIONS, 2) if not {*two} & {*own}}
        made |= {one: 2.3 for one in (*place.names[:NEAR], *known) if one != text}
        for one, cost in made.items():
            yield StatementEdit(source.edit(source.span(handler.type), one), "exception", cost)


def _only_raises(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and bool(node.body) and isinstance(node.body[-1], ast.Raise)


def _inserted(place: FixSite, indent: str) -> Iterator[StatementEdit]:
    """Other statements before this one, and after the last one of a block."""
    node, block = place.node, place.block
    is_last = bool(block) and block[-1] is node and not isinstance(node, _JUMPS)
    made: dict[str, tuple[str, float]] = {}
    for number, (text, other) in enumerate(place.scope.statements.items()):
        if isinstance(other, _JUMPS) or (number > 60):
            continue
        if place.fits(other):
            far = 0.0 if place.scope.is_near(other) else _ELSEWHERE
            made.setdefault(text, ("insertion", 2.0 + 0.02 * number + far))
        for adapted in _adapted(place, text, other):
            made.setdefault(adapted, ("insertion", 2.9 + 0.02 * number))
        for adapted in _for_other_attributes(place, text, other):
            made.setdefault(adapted, ("insertion", 2.4))
    for text in _as_other_parts(place):
        made.setdefault(text, ("insertion", 2.2))
    for text, cost in _ready_made(place):
        made.setdefault(text, ("insertion", cost))
    own = place.text
    for text, (kind, cost) in made.items():
        if text != own:
            yield StatementEdit(_before(place, text, indent), kind, cost)
            if is_last:
                yield StatementEdit(_after(place, text, indent), kind, cost)
    if is_last:
        yield from _left_at_the_end(place, indent)
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and not node.orelse:
        yield from _once_more(place, node, indent)
    yield from _in_any_case(place, indent)


def _once_more(place: FixSite, loop: ast.For | ast.AsyncFor | ast.While, indent: str) -> Iterator[StatementEdit]:
    """What a loop does in some rounds also after it: the last one may have left something."""
    inside = [one for one in ast.walk(loop) if isinstance(one, (ast.Expr, ast.AugAssign))]
    for node in inside[:_MAX_REPEATED]:
        text = place.source.segment(node)
        if "\n" in text or not place.fits(node):
            continue
        yield StatementEdit(_after(place, text, indent), "insertion", 2.2)
        for name in sorted({one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & set(place.names)):
            yield StatementEdit(_after(place, f"if {name}:\n{indent}    {text}", indent), "insertion", 2.5)


def _in_any_case(place: FixSite, indent: str) -> Iterator[StatementEdit]:
    """What follows also after an exception."""
    node, source = place.node, place.source
    if not isinstance(node, SIMPLE) or isinstance(node, _JUMPS) or "\n" in place.text:
        return
    at = next((number for number, one in enumerate(place.block) if one is node), len(place.block))
    later = place.block[at + 1 :]
    if not 0 < len(later) <= _MAX_REPEATED or not all(isinstance(one, SIMPLE) for one in later):
        return
    begin, end = source.span(node).start, source.span(later[-1]).end
    rest = "\n".join(f"{indent}    {source.segment(one)}" for one in later)
    yields = any(isinstance(one, ast.Yield) for one in ast.walk(node))
    if "\n" not in "".join(map(source.segment, later)):
        text = f"try:\n{indent}    {place.text}\n{indent}finally:\n{rest}"
        edit = source.edit(TextSpan(begin, end), text)._replace(whole_statement=True)
        yield StatementEdit(edit, "finally", 1.9 if yields else 2.7)


def _left_at_the_end(place: FixSite, indent: str) -> Iterator[StatementEdit]:
    """A jump behind the last statement of a block."""
    node, function = place.node, place.scope.function
    whole = place.parent is function
    if place.in_loop:
        yield StatementEdit(_after(place, "continue", indent), "jump", 2.0)
        yield StatementEdit(_after(place, "break", indent), "jump", 2.2)
    assigned = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for name in dict.fromkeys([*sorted(assigned), *place.names[:NEAR]]):
        cost = (1.8 if name in assigned else 2.4) + (0.0 if whole or not place.in_loop else 0.4)
        yield StatementEdit(_after(place, f"return {name}", indent), "return", cost)
    returned = [source for one in ast.walk(function) if (source := _returned(place, one))]
    if itself := place.scope.itself:
        others = ast.walk(place.scope.owner) if place.scope.owner is not None else ()
        is_usual = any(isinstance(one, ast.Return) and getattr(one.value, "id", "") == itself for one in others)
        yield StatementEdit(_after(place, f"return {itself}", indent), "return", 1.8 if is_usual else 2.6)
    for text in dict.fromkeys(["return", *returned][:_MAX_RETURNED]):
        yield StatementEdit(_after(place, text, indent), "return", 2.3)


def _returned(place: FixSite, node: ast.AST) -> str:
    """The text of a ``return`` whose value can be computed here, too."""
    if not isinstance(node, ast.Return) or node.value is None or not place.fits(node):
        return ""
    text = place.source.segment(node)
    return "" if "\n" in text else text


def _adapted(place: FixSite, text: str, node: ast.stmt) -> Iterator[str]:
    """A statement with one name exchanged for a variable of this place."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        return  # its parts are adapted, each alone
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {place.scope.itself}
    foreign = read - place.readable
    for name in sorted(foreign if foreign else read & set(place.names)):
        if len(foreign) > 1:
            return
        for other in place.names[:NEAR]:
            if other != name:
                yield re.sub(rf"(?<![\w.]){re.escape(name)}\b", other, text)


def _for_other_attributes(place: FixSite, text: str, node: ast.stmt) -> Iterator[str]:
    """What is done close by with an attribute of the object, done with another one: both have to agree."""
    if abs(node.lineno - place.node.lineno) > _CLOSE or not place.fits(node):
        return
    own = place.scope.own_attributes
    used = {ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Attribute)}.intersection(own)
    for name in sorted(used):
        for other in own[:NEAR]:
            if other not in used:
                yield re.sub(rf"(?<![\w.]){re.escape(name)}\b", other, text)


def _as_other_parts(place: FixSite) -> Iterator[str]:
    """A part of a new object that other functions set, computed as the function computes its other parts."""
    function, around = place.scope.function, place.scope.owner or place.source.tree
    made = [
        (target.id, node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.lineno < place.node.lineno
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in place.names
    ]
    if not made:
        return
    parts = {node.attr: None for node in _set_parts(around) if ast.unparse(node.value) != place.scope.itself}
    set_here = {ast.unparse(node) for node in _set_parts(function) if node.lineno < place.node.lineno}
    for name, value in made:
        for part in [one for one in parts if f"{name}.{one}" not in set_here][:NEAR]:
            for node in _parts_in(value):
                read = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
                if len(read) == 1 and part not in read and place.fits(node):
                    like = re.sub(rf"[.]{re.escape(*read)}\b", f".{part}", place.source.segment(node))
                    yield f"{name}.{part} = {like}"


def _set_parts(scope: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes of variables that are assigned."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            yield node


def _parts_in(call: ast.Call) -> list[ast.expr]:
    """What is computed for a new object, on one line each."""
    given = [*call.args, *(one.value for one in call.keywords)]
    return [one for one in given if one.lineno == one.end_lineno and not isinstance(one, ast.Starred)][:_MAX_REPEATED]


def _ready_made(place: FixSite) -> Iterator[tuple[str, float]]:
    """Frequent statements about the variables of a place."""
    near = place.names[:NEAR]
    kinds = _containers(place)
    for first, name in enumerate(near):
        for second, other in enumerate(near):
            if name == other:
                continue
            more = 0.04 * (first + second)
            yield f"{name} = {other}", 2.6 + more
            for method in kinds.get(name, ()):
                yield f"{name}.{method}({other})", 2.2 + more
        if name in kinds:
            for method in kinds[name]:
                yield f"{name}.{method}([])" if method == "append" else "", 4.0
        more = 0.04 * first
        yield f"{name} += 1", 2.5 + more
        yield f"{name} -= 1", 2.7 + more
        for value in ("0", "None", "[]", "{}", "False", "True"):
            yield f"{name} = {value}", 3.2 + more
    for number, text in enumerate(_never_stored(place)[:_MAX_REPEATED]):
        yield f"{text} += 1", 2.3 + 0.04 * number
        yield f"{text} -= 1", 2.5 + 0.04 * number
        for second, other in enumerate(near[:_MAX_REPEATED]):
            yield f"{text} = {other}", 2.5 + 0.04 * (number + second)
    for number, name in enumerate(place.scope.own_attributes[:NEAR]):
        for second, other in enumerate(near[:_MAX_REPEATED]):
            if name not in place.scope.updated_attributes:
                yield f"{name} = {other}", 2.4 + 0.04 * (number + second)
        for value in ("0", "None", "[]", "{}", "False", "True"):
            yield f"{name} = {value}", 3.0 + 0.04 * number
        yield f"{name}.clear()", 3.2
        yield f"{name} += 1", 2.8
        yield f"{name} -= 1", 2.8


def _never_stored(place: FixSite) -> list[str]:
    """The items of containers that the function asks for, and never puts there, though it can be told what for here."""
    items = [one for one in ast.walk(place.scope.function) if isinstance(one, ast.Subscript)]
    stored = {ast.unparse(one.value) for one in items if not isinstance(one.ctx, ast.Load)}
    asked = (one for one in items if not isinstance(one.slice, ast.Slice) and ast.unparse(one.value) not in stored)
    return list(dict.fromkeys(place.source.segment(one) for one in asked if place.fits(one)))


def _containers(place: FixSite) -> dict[str, tuple[str, ...]]:
    """The methods that put something into the variables that are certainly containers."""
    found: dict[str, tuple[str, ...]] = {}
    for function in place.scope.functions:
        for node in ast.walk(function):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
                value = node.value
                name = getattr(getattr(value, "func", None), "id", "")
                if isinstance(value, (ast.List, ast.ListComp)) or name in ("list", "deque"):
                    found[target.id] = ("append", "extend")
                elif isinstance(value, (ast.Set, ast.SetComp)) or name == "set":
                    found[target.id] = ("add", "update", "discard")
            elif isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
                base, method = node.func.value, node.func.attr
                if isinstance(base, ast.Name) and method in _PUTTING and method not in found.get(base.id, ()):
                    found[base.id] = (*found.get(base.id, ()), method)
    return found


def _guarded(place: FixSite, indent: str) -> Iterator[StatementEdit]:
    """Something else first, or this only, under a condition."""
    node = place.node
    actions = list(_actions(place))
    simple = isinstance(node, SIMPLE) and "\n" not in place.text
    for number, (condition, cost) in enumerate(atoms(place)):
        if number > 150:
            break
        for action, more in actions:
            text = f"if {condition}:\n{indent}    {action}"
            yield StatementEdit(_before(place, text, indent), f"guard {action}", 2.6 + cost + more, condition)
        if simple:
            guarded = f"if {condition}:\n{indent}    {place.text}"
            yield StatementEdit(_replaced(place, guarded), "guarded", 2.7 + cost, f"not ({condition})")


def _actions(place: FixSite) -> Iterator[tuple[str, float]]:
    """What can end a function or a round of a loop early."""
    if place.in_loop:
        yield "continue", 0.0
        yield "break", 0.2
    seen: set[str] = set()
    for node in ast.walk(place.scope.function):
        if isinstance(node, (ast.Return, ast.Raise)) and node.lineno != place.node.lineno and place.fits(node):
            text = place.source.segment(node)
            if "\n" not in text and text not in seen and len(seen) < 5:
                seen.add(text)
                yield text, 0.2
    returns = [one for one in ast.walk(place.scope.function) if isinstance(one, ast.Return) and one.value is not None]
    constants = [one.value.value for one in returns if isinstance(one.value, ast.Constant)]
    for opposite in (not one for one in constants if isinstance(one, bool)):
        if (text := f"return {opposite}") not in seen:
            seen.add(text)
            yield text, 0.2
    for value in ("[]", "0", "None", *place.names[:3]) if returns else ("",):
        text = f"return {value}".strip()
        if text not in seen:
            yield text, 0.6


def _moved(place: FixSite, indent: str) -> Iterator[StatementEdit]:
    node, block, source = place.node, place.block, place.source
    at = next((number for number, one in enumerate(block) if one is node), -1)
    if 0 <= at < len(block) - 1 and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        following = block[at + 1]
        swapped = f"{source.segment(following)}\n{indent}{source.segment(node)}"
        span = TextSpan(source.span(node).start, source.span(following).end)
        if node.end_lineno != following.lineno:
            edit = source.edit(span, swapped)._replace(whole_statement=True)
            yield StatementEdit(edit, "swapped statements", 2.2)
    inner = list(bodies(node))
    if inner and isinstance(node, (ast.For, ast.While, ast.If, ast.With)):
        last = inner[-1][-1]
        if len(inner[-1]) > 1 and isinstance(last, SIMPLE) and last.lineno == last.end_lineno:
            # the last statement of the block comes after it instead
            before = source.span(inner[-1][-2]).end
            span = TextSpan(before, source.span(last).end)
            edit = source.edit(span, f"\n{indent}{source.segment(last)}")._replace(whole_statement=True)
            yield StatementEdit(edit, "indentation", 2.3)
        if 0 <= at < len(block) - 1:
            following = block[at + 1]
            if isinstance(following, SIMPLE) and following.lineno == following.end_lineno:
                depth = source.lines[last.lineno - 1].encode()[: last.col_offset].decode()
                if not depth.strip():
                    span = TextSpan(source.span(node).end, source.span(following).end)
                    edit = source.edit(span, f"\n{depth}{source.segment(following)}")._replace(whole_statement=True)
                    yield StatementEdit(edit, "indentation", 2.3)
