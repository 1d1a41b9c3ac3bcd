"""Letting the expressions of a source tell a `Tracer` what they read.

Each call says what is called, what is passed, and what came back; each attribute and item that is read says of which
object; operands of operators say that what is in them counts.
"""

from __future__ import annotations

from collections.abc import Callable

from suspectra_recorder.experiments.decisions.inserted_calls import Located
from suspectra_recorder.experiments.traces.probing import Probing, Uses
from suspectra_recorder.experiments.traces.scopes import (
    Comprehension,
    FunctionNode,
    is_suspended,
    parameters,
)
from suspectra_recorder.experiments.traces.traced_sources import Variable
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_HAVE_NO_CONTENT = (ast.Constant, ast.JoinedStr, ast.Lambda, ast.BinOp, ast.Compare, ast.UnaryOp)


class Expressions(Probing):
    """Rewrites expressions; the base of what rewrites statements."""

    def expr(self, node: ast.expr, uses: Uses) -> ast.expr:
        """Rewrite an expression; what it reads by name is added to `uses`."""
        method = getattr(self, "_" + type(node).__name__, None)
        if method is not None:
            rewritten: ast.expr = method(node, uses)
            return rewritten
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.expr(value, uses))
            elif isinstance(value, list):
                value[:] = [self.expr(one, uses) if isinstance(one, ast.expr) else one for one in value]
        return node

    def content(self, node: ast.expr, uses: Uses, method: str = "content") -> ast.expr:
        """Rewrite an operand, of which all that is in it may be read."""
        inside = not isinstance(node, _HAVE_NO_CONTENT)
        rewritten = self.expr(node, uses)
        return self.probe(method, node, rewritten) if inside else rewritten

    def whole(self, node: ast.expr, uses: Uses) -> ast.expr:
        """Rewrite an operand, of which all that is in it may be read, and what is in that."""
        for method in ("left", "right"):
            if self.marked(node, self._values, method):
                assert isinstance(node, ast.Call)
                node = node.args[1]
        return self.content(node, uses, "deep_content")

    def _Name(self, node: ast.Name, uses: Uses) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            uses.append(self.variable(node.id))
        return node

    def _BinOp(self, node: ast.BinOp, uses: Uses) -> ast.expr:
        node.left, node.right = self.content(node.left, uses), self.content(node.right, uses)
        return node

    def _UnaryOp(self, node: ast.UnaryOp, uses: Uses) -> ast.expr:
        node.operand = self.content(node.operand, uses)
        return node

    def _Compare(self, node: ast.Compare, uses: Uses) -> ast.expr:
        identity = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        read = self.expr if identity else self.whole
        node.left = read(node.left, uses)
        node.comparators = [read(side, uses) for side in node.comparators]
        return node

    def _FormattedValue(self, node: ast.FormattedValue, uses: Uses) -> ast.expr:
        node.value = self.whole(node.value, uses)
        if node.format_spec is not None:
            node.format_spec = self.expr(node.format_spec, uses)
        return node

    def _Starred(self, node: ast.Starred, uses: Uses) -> ast.expr:
        node.value = self.content(node.value, uses)
        return node

    def _IfExp(self, node: ast.IfExp, uses: Uses) -> ast.expr:
        node.test, node.body, node.orelse = (self.expr(part, uses) for part in (node.test, node.body, node.orelse))
        return node

    def _Attribute(self, node: ast.Attribute, uses: Uses) -> ast.expr:
        node.value = self.probe("attribute", node.value, self.expr(node.value, uses), node.attr)
        return node

    def _Subscript(self, node: ast.Subscript, uses: Uses) -> ast.expr:
        value = self.expr(node.value, uses)
        if isinstance(node.slice, ast.Constant) and type(node.slice.value) in (int, str):
            node.value = self.probe("constant_item", node.value, value, node.slice)
        elif isinstance(node.slice, (ast.Slice, ast.Tuple)):
            node.slice = self.expr(node.slice, uses)
            node.value = self.probe("content", node.value, value)
        else:
            node.value = self.probe("item_of", node.value, value)
            node.slice = self.probe("item", node.slice, self.expr(node.slice, uses))
        return node

    def _NamedExpr(self, node: ast.NamedExpr, uses: Uses) -> ast.expr:
        number, value = self.put(node.value)
        inner: Uses = []
        site = self.site(node, "value", number, inner, [self._walrus(node.target.id)])
        node.value = self.probe("assigned_inside", node, site, self.expr(value, inner))
        return node

    def _walrus(self, name: str) -> Variable:
        scope = self.scope
        # its target belongs to the function around the comprehension
        while scope.kind in ("comprehension", "generator") and scope.outer is not None:
            scope = scope.outer
        return scope.find(name).number, name

    # calls

    def _Call(self, node: ast.Call, uses: Uses) -> ast.expr:
        if self.marked(node, self._board, "decide") or self.marked(node, self._board, "choose"):
            return self.decision(node, "decided_inside", uses)
        for method in ("keep", "take", "drop"):
            if self.marked(node, self._board, method):
                return self.probe(method, node, *(self.content(one, uses) for one in node.args))
        for method in ("left", "right"):
            if self.marked(node, self._values, method):
                return self.expr(node.args[1], uses)
        # an argument, or what a lambda gives
        if self.marked(node, self._values, "put"):
            number, value = self.put(node)
            inner: Uses = []
            return self.probe(
                "assigned_inside", value, self.site(value, "value", number, inner), self.expr(value, inner)
            )
        return self.call(node, "result")

    def call(self, node: ast.Call, method: str) -> ast.expr:
        """Rewrite a call; `method` takes its result."""
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node
        called: Uses = []
        function = self.expr(node.func, called)
        everything = list(called)
        site = self.site(node, "native", -1, everything)
        # the next number, which `native_calls` takes for calls of traced functions
        self.site(node, "native", -1, called)  # what a call passes on has nodes of its own
        begins = "calls_name" if isinstance(node.func, ast.Name) else "calls"
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        # constants have no nodes within functions, and are not waited for
        noted = len(parts) if self.at_import else sum(1 for part in parts if not isinstance(part, ast.Constant))
        node.func = self.probe(begins, node.func, site, function, noted)
        node.args = [self._argument(one, everything) for one in node.args]
        for keyword in node.keywords:
            keyword.value = self._argument(keyword.value, everything)
        return self.probe(method, node, site, node)

    def _argument(self, node: ast.expr, everything: Uses) -> ast.expr:
        if isinstance(node, ast.Starred):
            node.value = self._argument(node.value, everything)
            return node
        number, value = self.put(node)
        if isinstance(value, ast.Constant) and number < 0 and not self.at_import:
            return value
        uses: Uses = []
        rewritten = self.expr(value, uses)
        if number < 0:
            everything += uses
        site = self.site(value, "argument" if number < 0 else "value", number, uses)
        return self.probe("argument" if number < 0 else "argument_value", value, site, rewritten)

    def decision(self, node: ast.expr, method: str, uses: Uses, defines: Uses | None = None) -> ast.expr:
        """Rewrite a decision: ``decide(number, True if test else False)``, or ``decide(number, True)``."""
        number, truth = _asked(node)
        inner = list(uses) if method == "decided" else []
        last = 0  # the call is on the first line of what asks for the truth, and the test may be below
        if isinstance(truth, ast.IfExp):
            last = truth.test.end_lineno or 0
            truth.test = self.content(truth.test, inner)
        return self.probe(method, node, self.site(node, "decision", number, inner, defines, last), truth)

    def end(self, node: ast.expr, uses: Uses) -> ast.expr:
        """Make the decision that a loop has no further round; no board is asked, since none could be added.

        For the `else` of the loop.
        """
        site = self.site(node, "end", _asked(node)[0], uses)
        return self.probe("decided", node, site, ast.copy_location(ast.Constant(False), node))

    # what is suspended

    def _Yield(self, node: ast.Yield, uses: Uses) -> ast.expr:
        number, value = (-1, None) if node.value is None else self.put(node.value)
        inner: Uses = []
        given = ast.copy_location(ast.Constant(None), node) if value is None else self.expr(value, inner)
        site = self.site(node, "value", number, inner)
        node.value = self.probe("yields", node, site, given)
        sent = self.site(node, "statement")
        return self.probe("is_sent", node, self.probe("here", node), node, sent)

    def _YieldFrom(self, node: ast.YieldFrom | ast.Await, uses: Uses) -> ast.expr:
        node.value = self.probe("delegates", node, self.content(node.value, uses))
        return self.probe("delegated", node, self.probe("here", node), node)

    _Await = _YieldFrom

    # comprehensions

    def _ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp, uses: Uses) -> ast.expr:
        inner: Uses = []
        self._generators(node, inner, "round")
        return self.probe("comprehension", node, self.site(node, "statement", -1, inner), node)

    _SetComp = _ListComp
    _DictComp = _ListComp

    def _GeneratorExp(self, node: ast.GeneratorExp, uses: Uses) -> ast.expr:
        self._generators(node, uses, "generator_round")
        outer, self.scope = self.scope, self._scopes.by_node[node]
        site = self.site(node, "entry")
        self.scope = outer
        return self.probe("generator_expression", node, site, node)

    def _generators(self, node: ast.AST, uses: Uses, method: str) -> None:
        assert isinstance(node, Comprehension)
        outer, scope = self.scope, self._scopes.by_node[node]
        for number, part in enumerate(node.generators):
            self.scope = scope if number else outer
            read: Uses = []
            iterable = self.content(part.iter, read)
            header = self.header()
            site = self.site(part.iter, "statement", -1, read, [header])
            part.iter = self.probe(
                "iterates_inside" if number or method == "generator_round" else "iterates_first",
                part.iter,
                site,
                iterable,
            )
            self.scope = scope
            uses.append(header)
            each = self.site(part.target, "target", -1, [header], self.variables(part.target))
            tests = [self.expr(test, []) for test in part.ifs]
            # the first condition, so that each round passes it
            part.ifs = [self.probe(method, part.target, each), *tests]
        last = "yields" if isinstance(node, ast.GeneratorExp) else "element"
        if isinstance(node, ast.DictComp):
            node.key, node.value = self._element(node.key, "element"), self._element(node.value, "element")
        else:
            node.elt = self._element(node.elt, last)
        self.scope = outer

    def _element(self, node: ast.expr, method: str) -> ast.expr:
        uses: Uses = []
        value = self.expr(node, uses)
        return self.probe(method, node, self.site(node, "statement", -1, uses), value)

    # functions

    def _Lambda(self, node: ast.Lambda, uses: Uses) -> ast.expr:
        self.defaults(node.args)
        outer, self.scope = self.scope, self._scopes.by_node[node]
        number, value = self.put(node.body)
        entry = self.entry(node, node.body)
        read: Uses = []
        value = self.expr(value, read)
        site = self.site(node.body, "value", number, read)
        node.body = self.probe("returns_from_lambda", node.body, entry(), site, value)
        self.scope = outer
        return node

    def entry(self, node: FunctionNode, place: Located) -> Callable[[], ast.expr]:
        """Number the beginning of a function; what is returned makes its probe, once it is known what it captures."""
        scope, arguments = self.scope, node.args
        names = parameters(arguments)
        site = self.site(node, "entry", -1, [], [self.variable(name) for name in names])
        places = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        places += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        defaults = self.default_of
        for one in places:
            default = defaults.pop(one, None)
            read = [] if default is None else [default]
            self.site(one, "parameter" if default is None else "default", -1, read, [self.variable(one.arg)])

        def name(identifier: str) -> ast.expr:
            return ast.copy_location(ast.Name(identifier, ast.Load()), place)

        def made() -> ast.expr:
            cells: ast.expr = ast.copy_location(ast.Constant(None), place)
            # a lambda that mentions the variables has their cells, and adds no name anywhere
            captured = sorted({*scope.captured, *scope.captures})
            if captured:
                inside = ast.copy_location(ast.Tuple([name(one) for one in captured], ast.Load()), place)
                nothing = ast.arguments([], [], None, [], [], None, [])
                cells = ast.copy_location(ast.Lambda(nothing, inside), place)
                self.captured[site] = scope.number, sorted(scope.captured)
            given = ast.copy_location(ast.Tuple([name(one) for one in names], ast.Load()), place)
            return self.probe("enter_suspendable" if is_suspended(node) else "enter", place, site, given, cells)

        return made

    def defaults(self, arguments: ast.arguments) -> None:
        """Rewrite the defaults of parameters, each of which has a node."""
        by_position = [*arguments.posonlyargs, *arguments.args]
        last = by_position[len(by_position) - len(arguments.defaults) :]
        arguments.defaults = [self._default(*one) for one in zip(last, arguments.defaults, strict=True)]
        by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        arguments.kw_defaults = [None if one is None else self._default(name, one) for name, one in by_name]

    def _default(self, parameter: ast.arg, node: ast.expr) -> ast.expr:
        uses: Uses = []
        value = self.expr(node, uses)
        variable = self.default_of[parameter] = self.header()
        return self.probe("default", node, self.site(node, "value", -1, uses, [variable]), value)


def _asked(node: ast.expr) -> tuple[int, ast.expr]:
    """The number of a decision, and its truth, from the call that decides."""
    assert isinstance(node, ast.Call)
    number, truth = node.args
    assert isinstance(number, ast.Constant)
    return int(str(number.value)), truth
