"""Paths as they are recorded: calls, generators, threads, and what the program does must stay as it is."""

import ast
import asyncio
import textwrap
from types import CodeType

import pytest

from suspectra.paths.distance import differing_events, distance, parting
from suspectra.paths.searches.recorded_paths import Paths
from suspectra_recorder.experiments.decisions.paths import NotingPath
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.loading import ExperimentHook
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.recorded_files import RecordedFiles


class Recorded:
    """A source whose calls can be recorded in this process."""

    def __init__(self, folder, text):
        self.text = textwrap.dedent(text)
        (folder / "subject.py").write_text(self.text)
        self.paths = Paths(folder)
        self.board = Switchboard()
        self.kind = NotingPath(self.board, dict)
        tree, instruments = ast.parse(self.text), {"<marks>": self.kind.instrument, "<board>": self.board}
        added = [one.insert(tree, "subject.py", name, asserts=True) for name, one in instruments.items()]
        code = compile(tree, "subject.py", "exec")
        for add in added:
            add()
        for name, one in instruments.items():
            code = with_cells(code, name, one)
        self.names = {"__name__": "subject"}
        exec(code, self.names)

    def run(self, call):
        self.board.limit(1_000_000)
        self.kind.apply({})
        try:
            self.value = call(self.names)
        except Exception as error:  # as a test's would
            self.value = error
        self.board.leave()
        answer = {"outcome": "passed", "seconds": 0.0, "exception": "", **self.kind.take_back()}
        return self.paths.from_answer(answer).path

    def events(self, path):
        """Each event by its line or function, with what it depends on."""

        def name(event):
            place = self.paths.places[path.statement[event]]
            return place.function or place.location.line

        return [
            (name(event), name(reason) if (reason := int(path.depends_on[event])) >= 0 else None)
            for event in range(len(path))
        ]


@pytest.fixture
def recorded(tmp_path):
    return lambda text: Recorded(tmp_path, text)


def test_decisions_depend_on_decisions_and_calls(recorded):
    program = recorded("""\
        def outer(a):
            if a:
                inner(a)
            if a > 1:
                return inner(a - 1)


        def inner(b):
            if b > 1:
                return b
        """)
    path = program.run(lambda names: names["outer"](2))
    assert program.events(path) == [
        ("outer", None),
        (2, "outer"),
        ("inner", 2),
        (9, "inner"),
        (4, "outer"),
        ("inner", 4),
        (9, "inner"),
    ]
    assert path.outcome.tolist() == [-1, 1, -1, 1, 1, -1, 0]
    other = program.run(lambda names: names["outer"](1))
    assert [program.events(path)[place] for place in distance(path, other).events] == [(9, "inner"), (4, "outer")]
    assert distance(path, program.run(lambda names: names["outer"](2))).same_flow


def test_each_call_of_a_recursive_function_has_its_own_decisions(recorded):
    program = recorded("""\
        def f(n):
            if n:
                f(n - 1)
            if n == 1:
                return n
        """)
    path = program.run(lambda names: names["f"](1))
    assert program.events(path) == [("f", None), (2, "f"), ("f", 2), (2, "f"), (4, "f"), (4, "f")]
    assert path.depends_on.tolist() == [-1, 0, 1, 2, 2, 0]


def test_generators_hang_below_their_first_call(recorded):
    program = recorded("""\
        def numbers(limit):
            for n in range(limit):
                if n % 2:
                    yield n


        def use():
            found = []
            for n in numbers(4):
                if n > 1:
                    found.append(n)
            return found
        """)
    path = program.run(lambda names: names["use"]())
    assert program.value == [3]
    own = {place for place, (name, _) in enumerate(program.events(path)) if name in (2, 3)}
    entry = [name for name, _ in program.events(path)].index("numbers")
    for event in own:
        reason = int(path.depends_on[event])
        assert reason == entry or reason in own


@pytest.mark.parametrize("end", ["close()", "throw(KeyError)"])
def test_a_generator_that_is_ended_from_outside_leaves_the_calls_around_it_as_they_are(recorded, end):
    program = recorded(f"""\
        def numbers():
            try:
                yield 1
            finally:
                if len("ab"):
                    pass


        def use(a):
            one = numbers()
            next(one)
            try:
                one.{end}
            except KeyError:
                pass
            if a:
                return helper(a)


        def helper(b):
            return b if b else 2
        """)
    path = program.run(lambda names: names["use"](3))
    assert program.value == 3
    assert program.events(path) == [
        ("use", None),
        ("numbers", "use"),
        (5, "numbers"),
        (16, "use"),
        ("helper", 16),
        (21, "helper"),
    ]


def test_lambdas_callbacks_and_exceptions(recorded):
    program = recorded("""\
        def f(items):
            try:
                return sorted(items, key=lambda one: 1 / one if one else one.missing)
            except AttributeError:
                if items:
                    return "caught"
        """)
    path = program.run(lambda names: names["f"]([1, 0]))
    assert program.value == "caught"
    assert program.events(path) == [
        ("f", None),
        ("f.<lambda>", "f"),
        (3, "f.<lambda>"),
        ("f.<lambda>", "f"),
        (3, "f.<lambda>"),
        (5, "f"),
    ]
    assert path.execution_index[1] != path.execution_index[3]


def test_coroutines_that_wait_for_each_other(recorded):
    program = recorded("""\
        import asyncio


        async def wait(n):
            await asyncio.sleep(0)
            if n:
                await asyncio.sleep(0)
            return n if n else -1


        async def both():
            return await asyncio.gather(wait(0), wait(1))
        """)
    path = program.run(lambda names: asyncio.run(names["both"]()))
    assert program.value == [-1, 1]
    events = program.events(path)
    assert [name for name, _ in events].count("wait") == 2
    for place, (name, reason) in enumerate(events):
        if name == 6:
            assert reason == "wait"
        elif name == 8:
            assert int(path.statement[path.depends_on[place]]) != int(path.statement[place])
    assert differing_events(path, program.run(lambda names: asyncio.run(names["both"]()))) == 0


def test_module_code_and_other_threads(recorded):
    program = recorded("""\
        import threading


        def work(n):
            if n:
                return n


        def start():
            thread = threading.Thread(target=work, args=[1])
            thread.start()
            thread.join()
            if thread:
                return work(0)
        """)
    path = program.run(lambda names: names["start"]())
    assert program.events(path) == [
        ("start", None),
        (13, "start"),
        ("work", 13),
        (5, "work"),
        ("work", None),
        (5, "work"),
    ]


def test_what_programs_say_of_themselves_stays(recorded):
    program = recorded('''\
        import inspect


        def documented(a):
            """Text."""
            b = a
            return sorted(locals()), inspect.currentframe().f_lineno


        def only_text():
            """Text."""


        class Base:
            def name(self):
                return "base"


        class Own(Base):
            def name(self):
                return super().name() + __class__.__name__


        def sent():
            got = yield 1
            got += yield got
            return (yield from [got])
        ''')
    names = program.names
    program.run(lambda names: names["documented"](1))
    assert program.value == (["a", "b"], 7)
    assert (names["documented"].__doc__, names["only_text"].__doc__) == ("Text.", "Text.")
    assert names["Own"]().name() == "baseOwn"
    generator = names["sent"]()
    assert [next(generator), generator.send(2), generator.send(5)] == [1, 2, 7]


def test_empty_functions_that_a_decorator_may_look_at_stay(tmp_path):
    text = "@machine.input()\ndef paid():\n    'Paid.'\n\n@machine.input()\ndef sent():\n    pass\n"
    (tmp_path / "subject.py").write_text(text)
    board = Switchboard()
    hook = ExperimentHook(RecordedFiles(str(tmp_path)), [NotingPath(board, dict).instrument, board])
    code = hook.code(str(tmp_path / "subject.py"), "subject.py", text.encode())
    assert bodies(code) == bodies(compile(text, "subject.py", "exec"))


def bodies(code):
    return {
        inner.co_name: (inner.co_code, inner.co_consts, inner.co_firstlineno)
        for inner in code.co_consts
        if isinstance(inner, CodeType)
    }


def test_where_two_runs_part(recorded):
    program = recorded("""\
        def f(items):
            total = 0
            for one in items:
                if one < 0:
                    raise ValueError(one)
                total += one
            return total
        """)
    failing = program.run(lambda names: names["f"]([1, -1]))
    passing = program.run(lambda names: names["f"]([1, 1]))
    at = parting(failing, passing)
    assert program.events(failing)[at.position] == (4, 3)
    assert [
        program.paths.places[failing.statement[place]].location.line for place in distance(failing, passing).events
    ] == [4]
