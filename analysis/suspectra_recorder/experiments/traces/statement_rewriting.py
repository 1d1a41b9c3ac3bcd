"""Letting the statements of a source tell a `Tracer` what they do, without changing that.

A node of the trace is made when a statement, a decision, a call or a part that has a value of its own ends, so what it
depends on has been executed by then. Variables are left to the tables: which assignment a name refers to follows from
the order of the nodes of its call. Bodies of functions are put into a ``try`` that says when an exception leaves them.
"""

from __future__ import annotations

from suspectra_recorder.experiments.decisions import rewriting as decisions
from suspectra_recorder.experiments.traces.expression_rewriting import Expressions
from suspectra_recorder.experiments.traces.probing import Uses
from suspectra_recorder.experiments.traces.scopes import Scopes, is_suspended, own_nodes
from suspectra_recorder.experiments.traces.traced_sources import TracedSource
from suspectra_recorder.experiments.values import assignments
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))


class Rewritten:
    """What is known of a source after it was rewritten."""

    def __init__(self, source: TracedSource, captured: dict[int, tuple[int, list[str]]], next_scope: int):
        self.source, self.captured, self.next_scope = source, captured, next_scope


def rewrite(
    tree: ast.Module, path: str, name: str, first: int, first_scope: int, *, is_test: bool, asserts: bool
) -> Rewritten:
    """Let a source tell a tracer what it does.

    Its sites have the numbers from `first` on.

    Raises RecursionError when the source is nested too deeply.
    """
    values, board = f"{name}values", f"{name}board"
    # both rewritings number what this one finds again: decisions and values have the same numbers as when they are
    # altered
    assignments.rewrite(tree, values, 0)
    decisions.instrument(tree, board, 0, asserts=asserts)
    scopes = Scopes(tree, first_scope)
    rewriting = _Statements(name, values, board, scopes, first)
    rewriting.module(tree)
    ast.fix_missing_locations(tree)
    frames = {scope.number: scope.frame.number for scope in scopes.by_node.values()}
    source = TracedSource(path, first, is_test, first_scope, rewriting.sites, frames)
    return Rewritten(source, rewriting.captured, scopes.next)


class _Statements(Expressions):
    _returns = "returns"
    _gives = False
    """Whether the function returns a value somewhere, and is not suspended: elsewhere it gives None."""

    def module(self, tree: ast.Module) -> None:
        self.scope = self._scopes.by_node[tree]
        head, body = _split(tree.body)
        if not body:
            return
        entry = self.site(body[0], "entry")
        given = ast.copy_location(ast.Tuple([], ast.Load()), body[0])
        begin = self.probe("enter", body[0], entry, given, ast.copy_location(ast.Constant(None), body[0]))
        tree.body = [*head, _alone(begin), *self.block(body), _alone(self.probe("leaves", body[-1]))]

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        position = 0
        while position < len(statements):
            statement = statements[position]
            position += 1
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                following = statements[position] if position < len(statements) else None
                numbered = self._follows(statement, following)
                position += numbered
                number = self.put(following.value)[0] if numbered and isinstance(following, ast.Assign) else -1
                found += self._augmented(statement, number)
            else:
                method = getattr(self, "_s_" + type(statement).__name__, None)
                found += [statement] if method is None else method(statement)
        return found

    def _follows(self, node: ast.AugAssign, following: ast.stmt | None) -> bool:
        """Whether the next statement is the one that lets the new value of ``x += e`` be another."""
        return (
            isinstance(following, ast.Assign)
            and (following.lineno, following.col_offset) == (node.lineno, node.col_offset)
            and self.put(following.value)[0] >= 0
        )

    # assignments

    def _augmented(self, node: ast.AugAssign, number: int) -> list[ast.stmt]:
        """``x += e`` and ``x = assigned_again(site, x)``."""
        assert isinstance(node.target, ast.Name)
        # the new value is known only behind the statement, and `__iadd__` may have changed what is in it
        name = node.target.id
        uses = [self.variable(name)]
        node.value = self.content(node.value, uses)
        site = self.site(node, "value", number, uses, [self.variable(name)])
        value = self.probe("assigned_again", node, site, ast.copy_location(ast.Name(name, ast.Load()), node))
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        again = ast.copy_location(ast.Assign([target], value), node)
        return [node, again, *self._bound(node, self._attributes(target))]

    def _s_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        uses: Uses = []
        number, value = self.put(node.value)
        target = node.target
        if isinstance(target, ast.Attribute):
            target.value = self.probe("changes_attribute", target.value, self.expr(target.value, uses), target.attr)
        elif isinstance(target, ast.Subscript):
            target.value = self.probe("item_of", target.value, self.expr(target.value, uses))
            target.slice = self.probe("changes_item", target.slice, self.expr(target.slice, uses))
        value = self.content(value, uses)
        node.value = self.probe("assigned", node.value, self.site(node, "value", number, uses), value)
        return [node]

    def _s_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        first, values = node.targets[0], node.value
        if isinstance(values, ast.Tuple) and isinstance(first, (ast.Tuple, ast.List)):
            # each value that can be altered has a node; targets that are attributes or items take theirs later, in
            # order
            numbered = any(self.put(one)[0] >= 0 for one in values.elts)
            if numbered and len(node.targets) == 1:
                for position, (target, one) in enumerate(zip(first.elts, values.elts, strict=True)):
                    method = "assigned" if isinstance(target, ast.Name) else "assigned_part"
                    values.elts[position] = self._value(node, one, [target], method)
                names = self._attributes(first)
                first.elts = [self._target(target) for target in first.elts]
                together = self._together(node, names)
                return [node, *together, _alone(self.probe("forget", node)), *self._bound(node, names)]
        node.value = self._value(node, values, node.targets, "assigned")
        names = [name for target in node.targets for name in self._attributes(target)]
        node.targets = [self._target(target) for target in node.targets]
        return [node, *self._bound(node, names)]

    def _attributes(self, target: ast.expr) -> list[str]:
        """The names in a target that are attributes of a module or a class from now on."""
        module = self._scopes.module.number
        if self.scope.kind == "class":
            return [name for scope, name in self.variables(target) if scope == self.scope.number]
        return [name for scope, name in self.variables(target) if scope == module]

    def _together(self, node: ast.stmt, names: list[str]) -> list[ast.stmt]:
        """A node for several values, as each name of them is an attribute."""
        if len(names) < 2:
            return []
        site = self.site(node, "statement", -1, [self.variable(name) for name in names])
        return [_alone(self.probe("executed", node, site))]

    def _bound(self, node: ast.stmt, names: list[str]) -> list[ast.stmt]:
        """Say which attributes of a module or a class were assigned last."""
        method = "binds_in_class" if self.scope.kind == "class" else "binds_in_module"
        return [_alone(self.probe(method, node, *names))] if names else []

    def _value(self, place: ast.stmt, value: ast.expr, targets: list[ast.expr], method: str) -> ast.expr:
        uses: Uses = []
        number, value = self.put(value)
        unpacked = any(isinstance(target, (ast.Tuple, ast.List)) for target in targets)
        rewritten = self.content(value, uses) if unpacked else self.expr(value, uses)
        defines = [variable for target in targets for variable in self.variables(target)]
        for target in targets:
            uses += [
                self.variable(one.id)
                for one in ast.walk(target)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
            ]
        return self.probe(method, rewritten, self.site(place, "value", number, uses, defines), rewritten)

    def _s_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is not None:
            node.value = self._value(node, node.value, [node.target], "assigned")
            names = self._attributes(node.target)
            target = self._target(node.target)
            assert isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
            node.target = target
            return [node, *self._bound(node, names)]
        return [node]

    def _target(self, node: ast.expr, attribute: str = "stores_attribute", item: str = "stores_item") -> ast.expr:
        """Attributes and items that are written say of which object."""
        if isinstance(node, (ast.Tuple, ast.List)):
            node.elts = [self._target(one, attribute, item) for one in node.elts]
        elif isinstance(node, ast.Starred):
            node.value = self._target(node.value, attribute, item)
        elif isinstance(node, ast.Attribute):
            node.value = self.probe(attribute, node.value, self.expr(node.value, []), node.attr)
        elif isinstance(node, ast.Subscript):
            node.value = self.probe("item_of", node.value, self.expr(node.value, []))
            node.slice = self.probe(item, node.slice, self.expr(node.slice, []))
        return node

    def _s_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        uses = [
            self.variable(one.id)
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
        ]
        # before it: the targets say then which objects lose something
        before = _alone(self.probe("executed", node, self.site(node, "statement", -1, uses)))
        node.targets = [self._target(target, "stores_attribute", "deletes_item") for target in node.targets]
        return [before, node]

    # statements without blocks

    def _after(self, node: ast.stmt, uses: Uses, defines: Uses) -> list[ast.stmt]:
        return [node, _alone(self.probe("executed", node, self.site(node, "statement", -1, uses, defines)))]

    def _s_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return [node]
        uses: Uses = []
        if isinstance(node.value, ast.Call):
            self.site(node, "statement", -1, uses)  # has a node only if something raises an exception before the call
            node.value = self.call(node.value, "result_dropped")
        else:
            value = self.expr(node.value, uses)
            self.site(node, "statement", -1, uses)  # has a node only if it raises an exception
            node.value = self.probe("discard", node, value)
        return [node]

    def _s_Return(self, node: ast.Return) -> list[ast.stmt]:
        if node.value is None:
            # asynchronous generators may not return a value, so the probe stands before
            given = [_alone(self.probe("returns_none", node, self.site(node, "value")))] if self._gives else []
            return [*given, *([_alone(self.probe("leaves", node))] if self._returns == "returns" else []), node]
        uses: Uses = []
        number, value = self.put(node.value)
        value = self.expr(value, uses)
        node.value = self.probe(self._returns, value, self.site(node, "value", number, uses), value)
        return [node]

    def _s_Raise(self, node: ast.Raise) -> list[ast.stmt]:
        if node.exc is None:
            return [_alone(self.probe("raises_again", node, self.site(node, "raise"))), node]
        uses: Uses = []
        value = self.expr(node.exc, uses)
        node.exc = self.probe("raises", value, self.site(node, "raise", -1, uses), value)
        if node.cause is not None:
            node.cause = self.expr(node.cause, uses)
        return [node]

    def _s_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        uses: Uses = []
        site = self.site(node, "assert", -1, uses)
        test = self.content(node.test, uses)
        truths = [ast.copy_location(ast.Constant(truth), node.test) for truth in (True, False)]
        node.test = self.probe("asserts", node.test, site, ast.copy_location(ast.IfExp(test, *truths), node.test))
        if node.msg is not None:
            node.msg = self.expr(node.msg, [])
        return [node]

    def _s_Import(self, node: ast.Import) -> list[ast.stmt]:
        if self.at_import:  # modules, of which only what is stored in them counts
            return [node]
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        return self._after(node, [], [self.variable(name) for name in names])

    def _s_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        pairs = [(alias.name, alias.asname or alias.name) for alias in node.names if alias.name != "*"]
        sites = [self.site(node, "statement", -1, [], [self.variable(bound)]) for _, bound in pairs]
        if not sites:
            return [node]
        names = ast.Tuple([_constants(pair) for pair in pairs], ast.Load())
        always = ast.Constant(not self.at_import)
        return [node, _alone(self.probe("imports", node, sites[0], names, node.module or "", node.level, always))]

    # blocks

    def _s_If(self, node: ast.If | ast.While) -> list[ast.stmt]:
        node.test = self._test(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [node]

    _s_While = _s_If

    def _test(self, test: ast.expr) -> ast.expr:
        if self.marked(test, self._board, "decide"):
            return self.decision(test, "decided", [])
        return test

    def _s_For(self, node: ast.For | ast.AsyncFor) -> list[ast.stmt]:
        uses: Uses = []
        iterable = self.content(node.iter, uses)
        header = self.header()
        node.iter = self.probe("iterates", node.iter, self.site(node.iter, "statement", -1, uses, [header]), iterable)
        # what the rewriting of decisions has put there: ``if not board.decide(…): break``
        leave, *body = node.body
        assert isinstance(leave, ast.If)
        assert isinstance(leave.test, ast.UnaryOp)
        asked = leave.test.operand
        leave.test.operand = self.decision(asked, "decided", [header], self.variables(node.target))
        node.target = self._target(node.target)
        again = self._back(node) if isinstance(node, ast.AsyncFor) else []
        node.body = [*again, leave, *self.block(body)]
        # that there is no further round is a decision, too, on which depends what follows
        node.orelse = [*again, _alone(self.end(asked, [header])), *self.block(node.orelse)]
        return [node, *again]

    _s_AsyncFor = _s_For

    def _back(self, node: ast.stmt) -> list[ast.stmt]:
        """Where a call may have been suspended without a probe."""
        return [_alone(self.probe("goes_on", node))]

    def _s_With(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        bound: list[ast.stmt] = self._back(node) if isinstance(node, ast.AsyncWith) else []
        for item in node.items:
            uses: Uses = []
            expression = self.expr(item.context_expr, uses)
            header = self.header()
            site = self.site(node, "with", -1, uses, [header])
            item.context_expr = self.probe("iterates", item.context_expr, site, expression)
            if item.optional_vars is not None:
                target = self.site(item.optional_vars, "target", -1, [header], self.variables(item.optional_vars))
                bound.append(_alone(self.probe("executed", item.optional_vars, target)))
                item.optional_vars = self._target(item.optional_vars)
        node.body = [*bound, *self.block(node.body)]
        if self._in_function:  # its exit may execute anything before the exception leaves the function
            node.body = [self._guarded(node.body, "is_left_before_cleanup", self.scope.number)]
        after = self._back(node) if isinstance(node, ast.AsyncWith) else []
        return [node, *after, _alone(self.probe("forget", node))]  # what its exit gave is no concern of what follows

    _s_AsyncWith = _s_With

    def _s_Try(self, node: ast.Try) -> list[ast.stmt]:
        node.body = self.block(node.body)
        for handler in node.handlers:
            uses: Uses = []
            if handler.type is not None:
                handler.type = self.expr(handler.type, uses)
            defines = [self.variable(handler.name)] if handler.name else []
            site = self.site(handler, "handler", -1, [], defines)
            begin = self.probe(self._handles, handler, site)
            handler.body = [_alone(begin), *self.block(handler.body)]
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        if node.finalbody and self._handles == "handles_resumed":
            node.finalbody = [*self._back(node.finalbody[0]), *node.finalbody]
        return [node]

    def _guarded(self, body: list[ast.stmt], method: str, frame: int, final: tuple[ast.stmt, ...] = ()) -> ast.Try:
        """Statements, with a probe for exceptions that leave them."""
        place = body[0]
        left = self.probe(method + ("_resumed" if self._handles == "handles_resumed" else ""), place, frame)
        # the exception itself, so that its traceback stays as it is
        again = ast.copy_location(ast.Raise(None, None), place)
        handler = ast.copy_location(ast.ExceptHandler(None, None, [_alone(left), again]), place)
        return ast.copy_location(ast.Try(body, [handler], [], list(final)), place)

    _s_TryStar = _s_Try
    _handles = "handles"
    _in_function = False

    def _s_Match(self, node: ast.Match) -> list[ast.stmt]:
        uses: Uses = []
        subject = self.content(node.subject, uses)
        header = self.header()
        node.subject = self.probe(
            "iterates", node.subject, self.site(node.subject, "statement", -1, uses, [header]), subject
        )
        for case in node.cases:
            if case.guard is not None and self.marked(case.guard, self._board, "decide"):
                case.guard = self.decision(case.guard, "decided", [header], self.variables(case.pattern))
            case.body = self.block(case.body)
        return [node]

    # definitions

    def _s_ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:
        uses: Uses = []
        node.decorator_list = [self.expr(one, uses) for one in node.decorator_list]
        node.bases = [self.expr(one, uses) for one in node.bases]
        for keyword in node.keywords:
            keyword.value = self.expr(keyword.value, uses)
        defines = [self.variable(node.name)]
        outer, self.scope = self.scope, self._scopes.by_node[node]
        in_function, self._in_function = self._in_function, False
        head, body = _split(node.body)
        begin = _alone(self.probe("class_begins", node))
        node.body = [*head, begin, *self.block(body)]
        self.scope, self._in_function = outer, in_function
        end = _alone(self.probe("class_ends", node, ast.copy_location(ast.Name(node.name, ast.Load()), node)))
        if self.at_import and not node.decorator_list:
            return [node, end]
        return [*self._after(node, uses, defines), end]

    def _s_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
        uses: Uses = []
        node.decorator_list = [self.expr(one, uses) for one in node.decorator_list]
        self.defaults(node.args)
        defines = [self.variable(node.name)]
        kept = self.scope, self._returns, self._handles, self._gives, self._in_function
        self.scope, self._in_function = self._scopes.by_node[node], True
        suspended = is_suspended(node)
        # what is executed for this after a `return` belongs to the call, which must not have ended by then
        cleans_up = any(isinstance(one, _TRIES) and one.finalbody for one in own_nodes(node)) or any(
            isinstance(one, (ast.With, ast.AsyncWith)) for one in own_nodes(node)
        )
        self._returns, self._handles = (
            "returns_before_cleanup" if cleans_up else "returns",
            "handles_resumed" if suspended else "handles",
        )
        self._gives = not suspended and any(isinstance(one, ast.Return) and one.value for one in own_nodes(node))
        self._body(node, cleans_up=cleans_up, suspended=suspended)
        self.scope, self._returns, self._handles, self._gives, self._in_function = kept
        if self.at_import and not node.decorator_list:  # then calls of it depend on its defaults alone
            return [node, _alone(self.probe("forget", node))]
        return self._after(node, uses, defines)

    _s_AsyncFunctionDef = _s_FunctionDef

    def _body(self, node: ast.FunctionDef | ast.AsyncFunctionDef, *, cleans_up: bool, suspended: bool) -> None:
        """The body between its beginning and its ends; those who clean up return before they end."""
        head, body = _split(node.body)
        if not body:
            return
        place = body[0]
        entry = self.entry(node, place)
        frame, last = self.scope.number, body[-1]
        body = self.block(body)
        # its caller may use the None that it then gives
        if self._gives and not isinstance(last, (ast.Return, ast.Raise)):
            body.append(_alone(self.probe("returns_none", last, self.site(node, "nothing"))))
        if not cleans_up:
            # else the `finally` around it says so
            body.append(_alone(self.probe("leaves", last)))
        method = "is_left_before_cleanup" if cleans_up else "is_left"
        end = "leaves_after_cleanup_resumed" if suspended else "leaves_after_cleanup"
        final = (_alone(self.probe(end, place, frame)),) if cleans_up else ()
        node.body = [*head, _alone(entry()), self._guarded(body, method, frame, final)]


def _split(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What must stay first, and the rest."""
    end = 0
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        end = 1 if isinstance(body[0].value.value, str) else 0
    while end < len(body):
        one = body[end]
        if not (isinstance(one, ast.ImportFrom) and one.module == "__future__"):
            break
        end += 1
    return body[:end], body[end:]


def _constants(values: tuple[str, ...]) -> ast.expr:
    return ast.Tuple([ast.Constant(value) for value in values], ast.Load())


def _alone(value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Expr(value), value)
