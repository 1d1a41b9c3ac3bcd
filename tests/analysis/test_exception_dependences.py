"""Where failures come from if their exceptions are raised more than once, by real processes of pytest."""

import sys

from suspectra.dependences.slice_tree import slice_tree
from suspectra.dependences.slices import backward, origin_of_failure
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")


def traced(folder, program, test):
    """The lines that a failing test depends on, and the place where it fails."""
    trace = trace_of(folder, program, test)
    site = trace.sites[trace.graph.site[trace.failure]]
    return backward(trace).lines(tests=False), (site.file, site.line)


def trace_of(folder, program, test):
    (folder / "program.py").write_text(program)
    (folder / "test_program.py").write_text(f"from program import f\n\n\ndef test_f():\n    {test}\n")
    name = "test_program.py::test_f"
    with Machine(PYTEST, folder, "test_program.py", [name], (KIND,)) as machine:
        return trace_dependences(machine, name)


def test_one_that_a_handler_raises_again_depends_on_why(tmp_path):
    program = """\
def f(key, strict=True):
    try:
        return {}[key]
    except KeyError:
        if strict:
            raise
        return None
"""
    lines, failure = traced(tmp_path, program, "assert f('a') is None")
    assert failure == ("program.py", 6)
    assert lines == {"program.py": [1, 3, 4, 5, 6]}


def test_one_that_leaves_a_function_before_it_is_raised_again(tmp_path):
    program = """\
def inner(key):
    raise KeyError(key)


def f(key):
    strict = True
    try:
        inner(key)
    except KeyError:
        if strict:
            raise
"""
    trace = trace_of(tmp_path, program, "f('a')")
    sites = trace.sites
    assert sites[trace.graph.site[trace.failure]].line == 11
    assert {2, 6, 10, 11} <= set(backward(trace).lines(tests=False)["program.py"])
    assert sites[trace.graph.site[origin_of_failure(trace)]].line == 2, "of another function"


def test_one_that_a_future_keeps_comes_from_where_it_was_raised_first(tmp_path):
    program = """\
import asyncio


async def work(queue):
    while True:
        job, future = await queue.get()
        try:
            future.set_result(await job)
        except BaseException as error:
            future.set_exception(error)


async def half(number):
    found = number // 2
    assert found == 2
    return found


async def run():
    queue = asyncio.Queue()
    worker = asyncio.ensure_future(work(queue))
    future = asyncio.get_running_loop().create_future()
    queue.put_nowait((half(7), future))
    try:
        return await future
    finally:
        worker.cancel()


def f():
    return asyncio.run(run())
"""
    lines, failure = traced(tmp_path, program, "f()")
    assert failure == ("program.py", 15)
    assert {14, 15} <= set(lines["program.py"])


def test_one_that_is_thrown_into_a_generator_comes_from_the_block(tmp_path):
    program = """\
from contextlib import contextmanager


@contextmanager
def opened():
    try:
        yield 3
    finally:
        closed = True


def f():
    wrong = 4
    with opened() as number:
        assert number == wrong
"""
    lines, failure = traced(tmp_path, program, "f()")
    assert failure == ("program.py", 15)
    assert {7, 13, 15} <= set(lines["program.py"])


def test_others_that_were_handled_before_are_not_taken_for_it(tmp_path):
    program = """\
import json


def read(text):
    return json.loads(text)


def f(texts):
    found = []
    for text in texts:
        try:
            found.append(read(text))
        except ValueError:
            found.append(None)
    last = texts[-1]
    return read(last)
"""
    lines, failure = traced(tmp_path, program, "f(['{', '[', '1', '}'])")
    assert failure == ("program.py", 5)
    assert 15 in lines["program.py"]


def test_one_that_passes_the_exit_of_a_with_which_runs_the_program(tmp_path):
    """The exit throws the exception into a generator, handles it there, and lets it go on."""
    program = """\
import asyncio


class Closing:
    def __init__(self, generator):
        self.generator = generator

    async def __aenter__(self):
        return self.generator

    async def __aexit__(self, kind, error, trace):
        try:
            await self.generator.athrow(error)
        except BaseException as other:
            if other is error:
                return False
            raise


async def numbers():
    number = 0
    while True:
        yield number
        number += 1


async def last(n):
    queue = []
    async with Closing(numbers()) as source:
        async for number in source:
            if number >= n:
                yield queue[0]


async def run(n):
    return [one async for one in last(n)]


def f(n):
    return asyncio.run(run(n))
"""
    lines, failure = traced(tmp_path, program, "assert f(1) == [0]")
    assert failure == ("program.py", 32)
    assert {28, 31, 32} <= set(lines["program.py"])


def test_one_that_reading_a_method_raises_comes_from_the_object(tmp_path):
    program = """\
def pick(flag):
    if flag:
        return {}
    return None


def f(flag):
    value = pick(flag)
    if flag is False and value.get("a"):
        return 1
"""
    lines, failure = traced(tmp_path, program, "f(False)")
    assert failure == ("program.py", 9)
    assert {2, 4, 8, 9} <= set(lines["program.py"])


def test_what_a_call_passed_is_shown_where_nothing_else_is(tmp_path):
    program = "def f(text, n):\n    return cut(n, text)\n\n\ndef cut(text, n):\n    return text[:n]\n"
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "test_program.py").write_text("from program import f\n\n\ndef test_f():\n    f('abc', 2)\n")
    name = "test_program.py::test_f"
    with Machine(PYTEST, tmp_path, "test_program.py", [name], (KIND,)) as machine:
        tree = slice_tree(backward(trace_dependences(machine, name)))
    (root,) = tree.roots
    assert (root.step.line, {one.step.line for one in root.branches}) == (6, {2})
