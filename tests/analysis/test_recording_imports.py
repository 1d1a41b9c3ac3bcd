"""What runs while a module is imported for the first time belongs to no test."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from suspectra.evidence.recording import RecordingSource

# a line that ends in "# test_a test_b" belongs to these tests, any other one to no test
MODULES = {
    "app.py": """
        def called():
            return 1  # test_broken test_broken_again test_reload test_second_import test_by_hand test_by_hand_again

        def work():
            return 2  # test_beside_an_import test_import_in_a_thread

        def in_a_pool():
            return 3

        def started():
            return 4
    """,
    "lazy.py": """
        import nested
        from app import called

        class Lazy:
            VALUE = called()

        def use():
            return nested.DEEP  # test_lazy test_lazy_again
    """,
    "nested.py": "DEEP = [n for n in range(3)]",
    "broken.py": """
        import whole  # test_broken test_broken_again
        from app import called  # test_broken test_broken_again
        called()  # test_broken test_broken_again
        raise ValueError  # test_broken test_broken_again
    """,
    "whole.py": "import app\napp.called()",
    "tolerant.py": """
        try:
            import broken_inside
        except ValueError:
            broken_inside = None
    """,
    "broken_inside.py": "import app\napp.called()\nraise ValueError",
    "again.py": """
        import app  # test_reload
        VALUE = app.called()  # test_reload
    """,
    "twice.py": """
        import app  # test_second_import
        VALUE = app.called()  # test_second_import
    """,
    "by_hand.py": """
        import app  # test_by_hand test_by_hand_again
        VALUE = app.called()  # test_by_hand test_by_hand_again
    """,
    "slow.py": """
        import gates
        gates.importing.set()
        assert gates.worked.wait(60)
    """,
    "gates.py": "import threading\nimporting, worked = threading.Event(), threading.Event()",
    "threaded.py": """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        import app
        with ThreadPoolExecutor(2) as pool:
            assert pool.submit(app.in_a_pool).result() == 3
        thread = threading.Thread(target=app.started)
        thread.start()
        thread.join()
    """,
    "in_thread.py": "import app\nVALUE = app.called()",
    "checks.py": "import app\nassert app.called() == 1",
    "cli.py": """
        import child_part  # test_script test_module
        child_part.run()  # test_script test_module
    """,
    "child_part.py": """
        import app
        VALUE = app.called()

        def run():
            return VALUE  # test_script test_module test_command
    """,
    "child_broken.py": """
        import child_part  # test_broken_child
        child_part.run  # test_broken_child
        raise ValueError  # test_broken_child
    """,
    "child_killed.py": """
        import child_part, os, signal  # test_killed_child
        os.kill(os.getpid(), signal.SIGKILL)  # test_killed_child
    """,
    "forked.py": "import app\nVALUE = app.called()",
}
TESTS = """
    import importlib, importlib.util, os, subprocess, sys, threading
    import pytest
    import app

    def run(*arguments, status=0):
        assert subprocess.run([sys.executable, *arguments], stderr=subprocess.PIPE).returncode == status

    def test_lazy():
        from lazy import use
        use()

    def test_lazy_again():
        from lazy import use
        use()

    def test_broken():
        with pytest.raises(ValueError):
            import broken

    def test_broken_again():
        with pytest.raises(ValueError):
            import broken

    def test_tolerant():
        import tolerant

    def test_reload():
        import again
        importlib.reload(again)

    def test_second_import(monkeypatch):
        import twice
        del sys.modules["twice"]
        import twice

    def by_hand():
        spec = importlib.util.spec_from_file_location("by_hand", "by_hand.py")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))

    def test_by_hand():
        by_hand()

    def test_by_hand_again():
        by_hand()

    def test_beside_an_import():
        import gates

        def beside():
            assert gates.importing.wait(60)
            app.work()
            gates.worked.set()

        thread = threading.Thread(target=beside)
        thread.start()
        import slow
        thread.join()

    def test_import_in_a_thread():
        thread = threading.Thread(target=lambda: importlib.import_module("in_thread") and app.work())
        thread.start()
        thread.join()

    def test_threads_of_an_import():
        import threaded

    def test_rewritten_asserts():
        import checks

    def test_script():
        run("cli.py")

    def test_module():
        run("-m", "cli")

    def test_command():
        run("-c", "import child_part; child_part.run()")

    def test_broken_child():
        run("-c", "import child_broken", status=1)

    def test_killed_child():
        run("-c", "import child_killed", status=-9)

    def test_fork():
        child = os.fork()
        if not child:
            import forked
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
"""
MONITORING = [("--suspectra-recorder", "monitoring")] * (sys.version_info >= (3, 12))


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text).strip("\n") + "\n")


def pytest_in(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )


def lines_run(folder):
    """By test the lines that belong to it."""
    evidence = RecordingSource(folder).read()
    assert evidence.problems == ()
    rows = zip(evidence.tests, evidence.rows, strict=True)
    return {t.name.partition("::")[2]: {str(evidence.elements.location(i)) for i in row.tolist()} for t, row in rows}


def expected_lines(modules, tests):
    found = {name: set() for name in re.findall(r"def (test_\w+)", tests)}
    for file, text in modules.items():
        for number, line in enumerate(textwrap.dedent(text).strip("\n").splitlines(), 1):
            for name in line.partition("# ")[2].split():
                found[name].add(f"{file}:{number}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--suspectra-counts",), ("-n", "2", "-p", "xdist.plugin"), *MONITORING])
def test_first_imports_belong_to_no_test(tmp_path, arguments):
    write(tmp_path, {**MODULES, "test_app.py": TESTS})
    write(tmp_path, {"conftest.py": "import pytest\npytest.register_assert_rewrite('checks')"})
    done = pytest_in(tmp_path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = expected_lines(MODULES, TESTS)
    assert lines_run(tmp_path) == expected
    again = pytest_in(tmp_path, *arguments, *(f"test_app.py::{name}" for name in reversed(expected)))
    assert again.returncode == 0, again.stdout + again.stderr
    assert lines_run(tmp_path) == expected


def test_an_error_at_import_shows_no_frame_of_the_recorder(tmp_path):
    write(tmp_path, {"late.py": "import later", "later.py": "import warnings\nwarnings.warn('w', stacklevel=2)\n1 / 0"})
    tests = """
        import subprocess, sys, traceback, warnings

        PRINT = "import traceback\\ntry:\\n import late\\nexcept ZeroDivisionError: traceback.print_exc()"

        def test_here():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    import late
                except ZeroDivisionError as error:
                    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            assert names == ["test_here", "<module>", "<module>"]
            assert [warning.filename.endswith("late.py") for warning in caught] == [True]

        def test_in_a_child():
            shown = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True).stderr
            assert shown.count("File ") == 3
    """
    write(tmp_path, {"test_app.py": tests})
    done = pytest_in(tmp_path)
    assert done.returncode == 0, done.stdout
