"""Tests that run by themselves after a save, as the setting `run` says."""

from __future__ import annotations

import os
import pathlib
import time

import pytest

from suspectra_server.session.tests.test_run import OFFER

DOUBLING = "def double(n):\n    return n * 2\n\n\ndef half(n):\n    return n / 2\n"
WRONG = DOUBLING.replace("n * 2", "n * 3")
GATE = """\
import pathlib, time


def test_gate():
    import doubling
    doubling.double(1)
    root = pathlib.Path(__file__).parents[1]
    (root / "waits").touch()
    while not (root / "open").exists():
        time.sleep(0.02)
"""
DOUBLE, HALF, LOWER = "tests/test_a.py::test_double", "tests/test_a.py::test_half", "tests/test_b.py::test_lower"


@pytest.fixture
def project(tmp_path):
    """Tests that leave their names behind; one of them fails."""
    (tmp_path / "doubling.py").write_text(DOUBLING)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(
        "import pathlib, pytest\n\n\n@pytest.fixture(autouse=True)\ndef ran(request):\n"
        "    with open(pathlib.Path(__file__).parents[1] / 'ran', 'a') as out:\n"
        "        out.write(request.node.nodeid + '\\n')\n"
    )
    (tmp_path / "tests" / "test_a.py").write_text(
        "from doubling import double, half\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
        "def test_half():\n    assert half(4) == 2\n"
    )
    (tmp_path / "tests" / "test_b.py").write_text("def test_lower():\n    assert 'A'.lower() == 'a'\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\n")
    return tmp_path


def ran(project):
    file = project / "ran"
    names = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return names


def save(client, path, text=None):
    """Save a file as an editor does, with another text or with the same one."""
    uri = path.as_uri()
    if text is not None:
        path.write_text(text)
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}
        client.notify("textDocument/didChange", change)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})


def wait_for_run(client, after):
    """Wait until tests have run since a number of statuses; return the progress that was reported."""
    running = client.wait_for_state("runningTests", after=after)
    first = client.statuses.index(running, after)
    client.wait_for_state("ready", "noFailingTests", "stale", "error", after=first)
    return [status["progress"] for status in client.statuses[first:] if status["progress"]]


def start(client, project, run="onSave", **options):
    """Start, run all tests as the user does, and open the source."""
    client.start(project, options={"run": run, **options})
    seen = len(client.statuses)
    assert client.command("runTests") is True
    wait_for_run(client, seen)
    client.open(project / "doubling.py")
    client.progress.clear()
    return ran(project)


def end(client):
    client.request("shutdown")
    client.notify("exit")
    client.thread.join(30)


def verdicts(client):
    folders = client.request("suspectra/testResults", {})
    return {test["name"]: test["verdict"] for folder in folders for test in folder["tests"]}


@pytest.mark.slow
def test_a_save_runs_what_it_can_affect_and_what_failed(client, project):
    assert start(client, project) == [DOUBLE, HALF, LOWER]
    for text, expected, failed in (
        (WRONG, [DOUBLE], 1),
        (WRONG.replace("n / 2", "n // 2"), [DOUBLE, HALF], 1),
        (DOUBLING, [DOUBLE, HALF], 0),
    ):
        seen = len(client.statuses)
        save(client, project / "doubling.py", text)
        progress = wait_for_run(client, seen)
        assert ran(project) == expected
        # the last one may be missing: a newer status replaces one that waits to be sent
        assert all(one["onSave"] and one["total"] in (0, len(expected)) for one in progress)
        assert all(one["done"] <= one["total"] and one["failed"] <= failed for one in progress)
        assert list(verdicts(client).values()).count("failed") == failed
        client.ask_until(lambda failed=failed: bool(client.marks(project)) == bool(failed))
    assert not client.progress, "a notification for each save would be in the way"
    assert not client.messages
    said = {status["message"] for status in client.statuses}
    assert "Running tests that failed or that the save can affect: 1 of 1 test, 1 failed" in said


@pytest.mark.slow
def test_a_text_that_has_run_does_not_run_again(client, project):
    start(client, project)
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    wait_for_run(client, seen)
    assert ran(project) == [DOUBLE]
    seen = len(client.statuses)
    save(client, project / "doubling.py")
    save(client, project / "pytest.ini")
    assert nothing_runs(client, project, seen)


@pytest.mark.slow
def test_a_text_runs_again_where_another_one_has_run_since(client, project):
    """As after `git checkout` of one file, and a save of another: what is saved then has been saved before."""
    (project / "halving.py").write_text("def halve(n):\n    return n / 2\n")
    start(client, project)
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    wait_for_run(client, seen)
    assert list(verdicts(client).values()).count("failed") == 1
    (project / "doubling.py").write_text(DOUBLING)
    change = {"textDocument": {"uri": (project / "doubling.py").as_uri(), "version": 3}}
    client.notify("textDocument/didChange", {**change, "contentChanges": [{"text": DOUBLING}]})  # the editor reads it
    client.open(project / "halving.py")
    seen = len(client.statuses)
    save(client, project / "halving.py", "def halve(n):\n    return n // 2\n")
    wait_for_run(client, seen)
    assert list(verdicts(client).values()).count("failed") == 0
    ran(project)
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    until(lambda: ran(project)[:1] == [DOUBLE])
    client.ask_until(lambda: verdicts(client)[DOUBLE] == "failed")
    client.wait(lambda: client.statuses[-1]["state"] == "ready")
    (project / "doubling.py").write_text(DOUBLING)  # by another program, and what is saved next is as it was
    save(client, project / "halving.py")
    client.ask_until(lambda: verdicts(client)[DOUBLE] == "passed")
    assert not any("each save starts" in message["message"] for message in client.logged)


@pytest.mark.slow
def test_comments_and_layout_are_no_reason_to_run_tests(client, project):
    start(client, project)
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    wait_for_run(client, seen)
    assert ran(project) == [DOUBLE]
    seen = len(client.statuses)
    save(client, project / "doubling.py", "# twice and a half\n" + WRONG.replace("\n\n\n", "\n\n\n\n"))
    assert nothing_runs(client, project, seen)
    assert client.suspects()["state"] == "ready", "its outcomes are those of this code"
    save(client, project / "doubling.py", WRONG.replace("n / 2", "n // 2"))
    client.wait_for_state("stale", after=seen)


def nothing_runs(client, project, seen):
    time.sleep(0.5)  # ten times the pause before a run
    client.request("suspectra/suspects", {})
    return ran(project) == [] and not any(status["progress"] for status in client.statuses[seen:])


@pytest.mark.slow
def test_a_newer_save_cancels_the_run(client, project):
    start(client, project)
    (project / "tests" / "test_gate.py").write_text(GATE)
    save(client, project / "doubling.py", WRONG)
    until(lambda: (project / "waits").exists())
    assert client.statuses[-1]["progress"]["onSave"]
    client.ask_until(lambda: verdicts(client)[DOUBLE] == "failed")  # before the end of the run
    seen = len(client.statuses)
    (project / "open").touch()  # for the second run; the first has looked a moment ago
    save(client, project / "doubling.py", DOUBLING)
    client.wait_for_state("noFailingTests", after=seen)
    assert verdicts(client)[DOUBLE] == "passed"
    assert ran(project).count(DOUBLE) == 2


def until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_a_save_during_a_run_of_the_user_waits_for_its_end(client, project):
    start(client, project)
    (project / "tests" / "test_gate.py").write_text(GATE)
    seen = len(client.statuses)
    assert client.command("runTests") is True
    until(lambda: (project / "waits").exists())
    save(client, project / "doubling.py", WRONG)
    with pytest.raises(client.Error, match="already running"):
        client.command("runTests")
    (project / "open").touch()
    client.wait(lambda: any((status["progress"] or {}).get("onSave") for status in client.statuses[seen:]))
    client.wait_for_state("ready", after=len(client.statuses))
    names = ran(project)
    assert names[:4] == [DOUBLE, HALF, LOWER, "tests/test_gate.py::test_gate"], "the user's run was not disturbed"
    assert DOUBLE in names[4:]
    assert verdicts(client)[DOUBLE] == "failed"


@pytest.mark.slow
def test_a_run_of_the_user_comes_before_that_of_a_save_which_then_goes_on(client, project):
    start(client, project)
    (project / "tests" / "test_gate.py").write_text(GATE)
    save(client, project / "doubling.py", WRONG)
    until(lambda: (project / "waits").exists())
    ran(project)
    (project / "open").touch()
    seen = len(client.statuses)
    assert client.command("runTests", None, {project.as_uri(): [LOWER]}) is True
    client.wait(lambda: any((status["progress"] or {}).get("onSave") is False for status in client.statuses[seen:]))
    client.wait_for_state("ready", after=len(client.statuses))
    names = ran(project)
    assert names[0] == LOWER
    assert DOUBLE in names[1:]
    assert client.statuses[-1]["state"] == "ready"


@pytest.mark.slow
def test_outcomes_of_old_code_never_look_current(client, project):
    start(client, project)
    client.wait_for_state("noFailingTests")
    (project / "tests" / "test_gate.py").write_text(GATE)
    save(client, project / "doubling.py", DOUBLING + "\n\ndef more():\n    return 1\n")
    until(lambda: (project / "waits").exists())
    assert client.command("cancelTests") is True
    stale = client.wait(lambda: client.statuses[-1]["state"] == "stale" and client.statuses[-1])
    assert stale["message"] == "doubling.py was saved since, and not all tests that it can affect have run"
    assert client.suspects()["state"] == "stale"
    (project / "open").touch()
    save(client, project / "doubling.py")  # the same text, but it has not been tested
    client.wait_for_state("noFailingTests", after=len(client.statuses))


@pytest.mark.slow
def test_what_failed_before_is_not_shown_where_only_a_test_fails_that_executes_nothing(client, project):
    """There is nothing to rank then, but what was ranked last is no longer so."""
    start(client, project)
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    wait_for_run(client, seen)
    client.ask_until(lambda: client.marks(project))
    (project / "tests" / "test_c.py").write_text("def test_new():\n    assert 1 == 2\n")
    save(client, project / "doubling.py", DOUBLING)
    client.ask_until(lambda: verdicts(client).get("tests/test_c.py::test_new") == "failed")
    assert verdicts(client)[DOUBLE] == "passed"
    client.ask_until(lambda: client.statuses[-1]["state"] == "error")
    shown = {uri.rpartition("/")[2]: found[0]["code"] for uri, found in client.diagnostics.items() if found}
    assert shown == {"test_c.py": "failing-test"}
    assert client.statuses[-1]["failed"] == 1


@pytest.mark.slow
def test_a_run_that_ends_early_leaves_outcomes_of_old_code_also_where_nothing_can_be_ranked(client, project):
    many = "import pytest\n\n\n@pytest.mark.parametrize('n', range(70))\ndef test_many(n):\n    pass\n"
    (project / "tests" / "test_c.py").write_text(many)
    start(client, project)
    conftest = project / "tests" / "conftest.py"
    client.open(conftest)
    seen = len(client.statuses)
    save(client, conftest, "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef broken():\n    raise OSError\n")
    wait_for_run(client, seen)
    client.ask_until(lambda: list(verdicts(client).values()).count("error") == 50)
    client.wait(lambda: client.statuses[-1]["state"] == "stale")


@pytest.mark.slow
def test_after_typing_ended(client, project):
    start(client, project, "onIdle")
    began = time.monotonic()
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    time.sleep(1)
    client.edit((project / "doubling.py").as_uri(), (0, 0), (0, 0), "n = 0\n", version=3)
    client.wait_for_state("runningTests", after=seen)
    assert time.monotonic() - began > 3.9
    client.wait(lambda: client.statuses[-1]["state"] == "stale")  # the edit is not saved
    assert ran(project) == [DOUBLE]


@pytest.mark.slow
def test_a_long_run_pauses_while_somebody_types(client, project):
    start(client, project)
    (project / "tests" / "test_gate.py").write_text(GATE)
    seen, uri, saved = len(client.statuses), (project / "doubling.py").as_uri(), time.monotonic()
    save(client, project / "doubling.py", DOUBLING.replace("n * 2", "2 * n"))
    began = client.statuses.index(client.wait_for_state("runningTests", after=seen))
    client.edit(uri, (0, 0), (0, 0), "\n", version=3)
    at_once = time.monotonic() - saved < 1.5
    until(lambda: (project / "waits").exists())
    time.sleep(2)
    assert not at_once or client.statuses[-1]["state"] == "runningTests", "typing at once does not end it"
    client.edit(uri, (0, 0), (0, 0), "\n", version=4)
    paused = client.statuses.index(client.wait_for_state("stale", after=began))
    (project / "open").touch()
    time.sleep(1)
    late = any(status["state"] == "runningTests" for status in client.statuses[paused:])  # on a busy machine
    last = time.monotonic()
    client.edit(uri, (0, 0), (0, 0), "\n", version=5)
    client.wait_for_state("runningTests", after=paused)
    assert late or time.monotonic() - last > 2.9
    client.ask_until(lambda: verdicts(client).get("tests/test_gate.py::test_gate") == "passed")
    assert late or ran(project) == [DOUBLE, "tests/test_gate.py::test_gate", "tests/test_gate.py::test_gate"]


@pytest.mark.parametrize("run", ["manual", "onSave"])
def test_nothing_runs_unless_asked_for(client, project, run):
    """Neither by default, nor before the user has run tests for the first time."""
    if run == "manual":
        start(client, project, run)
    else:
        client.start(project, options={"run": run})
        client.open(project / "doubling.py")
    seen = len(client.statuses)
    save(client, project / "doubling.py", WRONG)
    assert nothing_runs(client, project, seen)


@pytest.mark.slow
def test_nothing_runs_in_a_workspace_that_is_not_trusted(connect, project):
    start(connect(), project, run="manual")  # so that no process waits there, which would import conftest.py again
    client = connect()
    client.start(project, options={"run": "onSave", "trusted": False})
    client.open(project / "doubling.py")
    conftest = project / "tests" / "conftest.py"
    conftest.write_text(conftest.read_text() + "\n\n(pathlib.Path(__file__).parents[1] / 'imported').touch()\n")
    save(client, project / "doubling.py", WRONG)
    assert nothing_runs(client, project, 0)
    assert not (project / "imported").exists(), "not even collected"
    assert any("suspectra.run" in message["message"] for message in client.logged)


def test_the_default_is_no_setting_that_trust_keeps_from_being_used(client, project):
    client.start(project, options={"run": "manual", "testCommand": [], "trusted": False})
    assert not any("not trusted" in message["message"] for message in client.logged)


@pytest.mark.slow
def test_a_file_that_can_not_be_parsed_is_shown_without_a_notification(client, project):
    start(client, project)
    seen = len(client.statuses)
    save(client, project / "doubling.py", "def double(n:\n")
    client.wait(lambda: client.statuses[-1]["collectionErrors"])
    assert not client.messages
    save(client, project / "doubling.py", DOUBLING)
    client.wait(lambda: client.statuses[-1]["state"] == "noFailingTests" and len(client.statuses) > seen)
    assert not client.statuses[-1]["collectionErrors"]


@pytest.mark.slow
def test_the_first_failing_run_says_that_there_is_such_a_setting(client, project, capable):
    (project / "doubling.py").write_text(WRONG)
    client.initialize(project, capabilities={**capable, "experimental": {}})
    for expected in (1, 1):
        said = len(client.messages)
        assert client.command("runTests") is True
        client.wait(lambda said=said: len(client.messages) > said)
        assert sum(OFFER in message["message"] for message in client.messages) == expected


# with these plugins of the environment that runs the tests, processes have threads
COMMAND = ["pytest", "-p", "no:rerunfailures", "-p", "no:xdist", "-p", "no:cov", "-p", "no:hypothesispytest"]


def start_with_a_waiting_process(client, project, text=WRONG):
    """Start, and save two texts in turn until both are tested in forks of one process; return which."""
    with (project / "tests" / "conftest.py").open("a") as out:
        out.write(
            "\n\nimport os\n\nPROCESS = os.urandom(4).hex()\n\n\n@pytest.fixture(autouse=True)\ndef by():\n"
            "    with open(pathlib.Path(__file__).parents[1] / 'by', 'a') as out:\n"
            "        out.write(PROCESS + '\\n')\n"
        )
    start(client, project, testCommand=COMMAND)
    for _ in range(30):
        first = save_and_wait(client, project, DOUBLING)
        time.sleep(1)  # in which a process may collect the tests
        if same := first & save_and_wait(client, project, text):
            return same
    pytest.fail("no process waits")


def save_and_wait(client, project, text):
    """Save a text; which processes have run tests, or collected them before."""
    (project / "by").unlink(missing_ok=True)
    seen = len(client.statuses)
    save(client, project / "doubling.py", text)
    wait_for_run(client, seen)
    return set((project / "by").read_text().split()) if (project / "by").exists() else set()


@pytest.mark.slow
def test_tests_run_in_a_process_that_has_collected_them_before(client, project):
    same = start_with_a_waiting_process(client, project)
    client.ask_until(lambda: verdicts(client) == {DOUBLE: "failed", HALF: "passed", LOWER: "passed"})
    client.ask_until(lambda: client.marks(project))
    ran(project)
    (project / "by").unlink()
    seen = len(client.statuses)
    save(
        client,
        project / "doubling.py",
        DOUBLING.replace("n * 2", "n * two") + "import time\ntwo = 2\ntime.sleep(0.5)\n",
    )
    wait_for_run(client, seen)
    assert ran(project) == [DOUBLE, HALF], "the new process is not ended with the request that was refused"
    assert set((project / "by").read_text().split()) - same, "what runs at import needs a new process"
    client.wait(lambda: client.statuses[-1]["state"] == "noFailingTests")


@pytest.mark.slow
def test_a_process_waits_for_the_first_save_after_the_start(connect, project):
    before = connect()
    start_with_a_waiting_process(before, project)
    end(before)
    with (project / "tests" / "conftest.py").open("a") as out:
        out.write("\n\n(pathlib.Path(__file__).parents[1] / 'collected').write_text(PROCESS)\n")
    client = connect()
    client.start(project, options={"run": "onSave", "testCommand": COMMAND})
    until((project / "collected").exists)
    time.sleep(1)  # in which it collects the tests
    waiting = (project / "collected").read_text()
    client.open(project / "doubling.py")
    assert save_and_wait(client, project, DOUBLING.replace("n * 2", "2 * n")) == {waiting}


@pytest.mark.slow
def test_a_process_that_is_starting_ends_with_the_server(connect, project):
    client = connect()
    start(client, project)  # after which a process starts to wait
    end(client)
    time.sleep(1)  # in which a thread that nobody waits for could start it
    until(lambda: str(project) not in map(working_folder, pathlib.Path("/proc").glob("[0-9]*")))


def working_folder(process):
    try:
        return os.readlink(process / "cwd")
    except OSError:  # it has ended, or it is another user's
        return None


@pytest.mark.slow
def test_a_process_waits_again_once_the_tests_can_be_collected(client, project):
    """People save what can't be imported all the time, and go on typing."""
    same = start_with_a_waiting_process(client, project)
    save(client, project / "doubling.py", "def double(n:\n")
    client.wait(lambda: client.statuses[-1]["collectionErrors"])
    client.edit((project / "doubling.py").as_uri(), (0, 0), (0, 0), "\n", version=3)
    client.wait(lambda: any("the next save starts a new process" in message["message"] for message in client.logged))
    save_and_wait(client, project, DOUBLING)
    for _ in range(30):
        time.sleep(1)  # in which a process may collect the tests
        if (by := save_and_wait(client, project, WRONG)) & save_and_wait(client, project, DOUBLING):
            break
    assert by
    assert not by & same
    assert not any("each save starts" in message["message"] for message in client.logged)


@pytest.mark.slow
def test_a_process_that_waits_belongs_to_its_command(client, project):
    same = start_with_a_waiting_process(client, project)
    client.configuration = {"run": "onSave", "testCommand": [*COMMAND, "--deselect", HALF]}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: [message["method"] for message in client.asked].count("workspace/configuration") > 1)
    ran(project)
    assert not same & save_and_wait(client, project, DOUBLING.replace("n / 2", "n / 2.0"))
    assert HALF not in ran(project)


@pytest.mark.slow
def test_a_process_waits_on_while_a_new_one_runs_some_tests_again(client, project):
    same = start_with_a_waiting_process(client, project)
    client.wait(lambda: client.statuses[-1]["state"] == "ready")
    seen = len(client.statuses)
    until(lambda: sum(name not in same for name in (project / "by").read_text().split()) == len(verdicts(client)))
    client.wait(lambda: client.statuses[-1]["state"] == "ready")
    assert "runningTests" not in {status["state"] for status in client.statuses[seen:]}, "nobody asked for it"
    assert save_and_wait(client, project, DOUBLING) == same


@pytest.mark.slow
def test_where_a_new_process_comes_to_another_outcome_no_process_waits_any_more(client, project):
    """What a module has read from the code of a function is not known to be old, but noticed while nobody types."""
    with (project / "tests" / "test_a.py").open("a") as out:
        out.write("\n\nCODE = half.__code__.co_consts\n\n\ndef test_code():\n    assert 7 not in CODE and half(2)\n")
    seven = DOUBLING.replace("n / 2", "n / 2 if n else 7")
    same = start_with_a_waiting_process(client, project, seven)
    client.ask_until(lambda: verdicts(client)["tests/test_a.py::test_code"] == "failed")  # it passed where it was wrong
    why = "were others than in a new one: tests/test_a.py::test_code"
    client.wait(lambda: any(why in message["message"] for message in client.logged))
    assert not same & save_and_wait(client, project, seven.replace("7", "8"))
