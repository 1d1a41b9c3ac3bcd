"""The GitHub actions: their files, and their steps, run as a runner would run them."""

import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

ACTIONS = Path(__file__).parents[2] / "github-actions"
FILES = sorted(ACTIONS.glob("*/action.yml"))
APP = "def double(n):\n    return n + 2\n"
TESTS = (
    "import app\n\ndef test_two():\n    assert app.double(2) == 4\n\ndef test_three():\n    assert app.double(3) == 6\n"
)


@pytest.fixture
def runner(tmp_path):
    """The environment of a step, and the folders that it names."""
    for name in ("checkout", "temp"):
        (tmp_path / name).mkdir()
    environment = {
        **{name: os.environ[name] for name in ("PATH", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE")},
        "GITHUB_WORKSPACE": str(tmp_path / "checkout"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_ACTION_PATH": str(ACTIONS / "record"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    # installed already, as after the first job of a machine; `install.sh` has a test of its own
    programs = tmp_path / "temp" / "suspectra" / "bin"
    programs.mkdir(parents=True)
    (programs / "suspectra").write_text(f'#!/bin/sh\nexec {sys.executable} -m suspectra "$@"\n')
    (programs / "suspectra").chmod(0o755)
    return environment


def step(script, environment, **more):
    """Run a script as the runner does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", f'"{script}"'],
        env=environment | more,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def outputs(environment):
    return dict(line.split("=", 1) for line in Path(environment["GITHUB_OUTPUT"]).read_text().splitlines())


# the files


def steps(file):
    action = yaml.safe_load(file.read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    return action["runs"]["steps"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_other_actions_are_pinned_to_commits(file):
    used = [one["uses"] for one in steps(file) if "uses" in one]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name)] == []
    commented = re.findall(r"uses: \S+ # v\d+\.\d+\.\d+$", file.read_text("utf-8"), re.M)
    assert len(commented) == len(used)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_no_text_of_others_gets_into_a_shell(file):
    for one in steps(file):
        if "run" in one:
            assert one["shell"] == "bash"
            assert "${{" not in one["run"]
            script = re.search(r'"\$GITHUB_ACTION_PATH/([\w./]+)"', one["run"])[1]
            assert (file.parent / script).is_file()
        for value in one.get("with", {}).values():
            # names and paths are made of checked outputs, never of inputs
            assert "inputs.outputs" in str(value) or "${{" not in str(value) or "runner.temp" in value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_input_is_described_and_used(file):
    action = yaml.safe_load(file.read_text("utf-8"))
    text = file.read_text("utf-8")
    for name, about in action["inputs"].items():
        assert about["description"].endswith(".")
        assert f"${{{{ inputs.{name} }}}}" in text


# the inputs


def test_good_inputs_are_passed_on(runner):
    folder = Path(runner["GITHUB_WORKSPACE"], "a project")
    folder.mkdir()
    ended = step(ACTIONS / "inputs.sh", runner, INPUT_SHARD="py3.12-1", INPUT_FOLDER="a project", INPUT_DAYS="90")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = outputs(runner)
    assert (found["shard"], found["days"], found["comment"]) == ("py3.12-1", "90", "false")
    assert found["folder"] == str(folder.resolve())
    assert found["recording"] == str(folder.resolve() / ".suspectra" / "recording")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INPUT_SHARD", ""),
        ("INPUT_SHARD", "1/../../x"),
        ("INPUT_SHARD", "$(touch here)"),
        ("INPUT_SHARD", "1\nfolder=/etc"),
        ("INPUT_DAYS", "0"),
        ("INPUT_DAYS", "91"),
        ("INPUT_DAYS", "5; touch here"),
        ("INPUT_COMMENT", "yes"),
        ("INPUT_FOLDER", ".."),
        ("INPUT_FOLDER", "out"),
        ("INPUT_FOLDER", "nowhere"),
        ("INPUT_FOLDER", ".\nshard=2"),
    ],
)
def test_other_inputs_are_refused_and_passed_nowhere(runner, name, value):
    Path(runner["GITHUB_WORKSPACE"], "out").symlink_to("/etc")
    ended = step(ACTIONS / "inputs.sh", runner, **{name: value})
    assert ended.returncode == 2, ended.stdout
    assert ended.stdout.startswith("::error::")
    assert not Path(runner["GITHUB_OUTPUT"]).exists()


# recording


@pytest.fixture
def work(runner):
    folder = Path(runner["GITHUB_WORKSPACE"])
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TESTS)
    return folder


def recorded(work, runner, command):
    return step(ACTIONS / "record" / "record.sh", runner, FOLDER=str(work), INPUT_COMMAND=command)


@pytest.mark.slow
def test_a_shard_is_recorded_and_ends_as_its_tests(runner, work):
    ended = recorded(work, runner, "pytest -q  -k two")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = recorded(work, runner, "pytest -q")
    assert ended.returncode == 1
    assert "app.py:2" in ended.stderr
    assert list((work / ".suspectra" / "recording").glob("*.log"))


@pytest.mark.slow
def test_the_summary_of_a_pull_request_says_which_change_broke_tests(runner, work):
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x")
    broken = (work / "app.py").read_text()
    (work / "app.py").write_text(APP.replace("n + 2", "n * 2"))
    (work / ".gitignore").write_text(".suspectra\n")
    for words in (("init", "-qb", "main"), ("add", "."), ("commit", "-qm", "one"), ("checkout", "-qb", "other")):
        subprocess.run([*git, *words], cwd=work, check=True)
    (work / "app.py").write_text(f"# a comment\n{broken}")
    for words in (
        ("commit", "-qam", "two"),
        ("checkout", "-q", "main"),
        ("merge", "-q", "--no-ff", "-m", "x", "other"),
    ):
        subprocess.run([*git, *words], cwd=work, check=True)
    more = {"FOLDER": str(work), "INPUT_COMMAND": "pytest -q", "INPUT_CHANGES": "true", "GITHUB_BASE_REF": "main"}
    ended = step(ACTIONS / "record" / "record.sh", runner, **more)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    said = Path(runner["GITHUB_STEP_SUMMARY"]).read_text().splitlines()
    assert [line for line in said if line.startswith("    ✗ test_three: broken by ")]
    assert [line for line in said if line.startswith("      app.py:3 ")]


@pytest.mark.parametrize("command", ["", "  ", "pytest $(touch here)", "pytest `id`", "pytest 'a b'", "pytest\ntrue"])
def test_a_command_for_a_shell_is_refused(runner, work, command):
    ended = recorded(work, runner, command)
    assert ended.returncode == 2
    assert ended.stdout.startswith("::error::command:")
    assert not (work / ".suspectra").exists()


def test_what_a_shell_would_understand_is_only_a_word(runner, work):
    ended = recorded(work, runner, "pytest -q ; touch here && touch *")
    assert ended.returncode == 4  # pytest finds no such files
    assert not (work / "here").exists()


# the suspects


@pytest.fixture
def shards(runner, work):
    """Two jobs, each with one of the tests, and their downloaded artifacts."""
    for number, test in enumerate(("two", "three")):
        recorded(work, runner, f"pytest -q -k {test}")
        shard = Path(runner["RUNNER_TEMP"], "suspectra-shards", f"suspectra-recording-{number}")
        shard.parent.mkdir(exist_ok=True)
        (work / ".suspectra" / "recording").rename(shard)
    return work


def ranked(work, runner):
    return step(ACTIONS / "suspects" / "rank.sh", runner, FOLDER=str(work))


@pytest.mark.slow
def test_shards_are_merged_and_ranked(runner, shards):
    ended = ranked(shards, runner)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "merged 2 tests of 2 runs" in ended.stdout
    summary = Path(runner["GITHUB_STEP_SUMMARY"]).read_text()
    assert "`app.py:2`" in summary
    assert summary == Path(runner["RUNNER_TEMP"], "suspectra-report.md").read_text()


@pytest.mark.slow
def test_a_shard_that_can_not_be_read_is_left_out(runner, shards):
    damaged = Path(runner["RUNNER_TEMP"], "suspectra-shards", "suspectra-recording-2")
    damaged.mkdir()
    (log,) = Path(runner["RUNNER_TEMP"], "suspectra-shards", "suspectra-recording-1").glob("*.log")
    (damaged / "9.log").write_bytes(log.read_bytes()[:20])
    ended = ranked(shards, runner)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "::warning::suspectra-recording-2 can't be read and was left out" in ended.stdout
    assert "`app.py:2`" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()


@pytest.mark.slow
def test_where_no_shard_can_be_read_the_step_fails(runner, shards):
    for log in Path(runner["RUNNER_TEMP"], "suspectra-shards").glob("*/*.log"):
        log.write_bytes(log.read_bytes()[:20])
    ended = ranked(shards, runner)
    assert ended.returncode == 2
    assert "::error::no recording can be read" in ended.stdout


@pytest.mark.slow
def test_without_failing_tests_nothing_is_suspicious(runner, shards):
    failing = Path(runner["RUNNER_TEMP"], "suspectra-shards", "suspectra-recording-1")
    for log in failing.iterdir():
        log.unlink()
    failing.rmdir()
    assert ranked(shards, runner).returncode == 0
    assert "no test failed" in Path(runner["GITHUB_STEP_SUMMARY"]).read_text()
    assert Path(runner["RUNNER_TEMP"], "suspectra-report.md").read_text() == ""


def test_without_shards_the_step_fails(runner, work):
    ended = ranked(work, runner)
    assert ended.returncode == 2
    assert ended.stdout.startswith("::error::no job")


# the comment


class GitHub(ThreadingHTTPServer):
    """The part of GitHub's interface that has comments."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.comments, self.asked, self.refuses = [], [], 0


class Answer(BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        if self.server.refuses:
            self.send_error(self.server.refuses)
            return
        result = self.server.comments
        if self.command == "POST":
            result = {"id": 7, "user": {"type": "Bot"}, **body}
            self.server.comments.append(result)
        elif self.command == "PATCH":
            result = next(one for one in self.server.comments if self.path.endswith(f"/comments/{one['id']}"))
            result.update(body)
        data = json.dumps(result).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = answer

    def log_message(self, *_):
        pass


@pytest.fixture
def github():
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def commented(runner, github, report, event):
    Path(runner["RUNNER_TEMP"], "suspectra-report.md").write_text(report)
    file = Path(runner["RUNNER_TEMP"], "event.json")
    file.write_text(json.dumps(event))
    environment = {
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_REPOSITORY": "someone/shop",
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "TOKEN": "secret",
    }
    command = [sys.executable, "-I", str(ACTIONS / "suspects" / "comment.py")]
    return subprocess.run(command, env=runner | environment, capture_output=True, text=True, timeout=60, check=False)


PULL = {"pull_request": {"number": 12}}


def test_the_comment_is_made_once_and_then_replaced(runner, github):
    ended = commented(runner, github, "| `app.py:2` |", PULL)
    assert ended.returncode == 0, ended.stderr
    assert [one["body"].splitlines()[1] for one in github.comments] == ["| `app.py:2` |"]
    assert github.asked[-1] == ("POST", "/repos/someone/shop/issues/12/comments", "Bearer secret")
    assert commented(runner, github, "| `app.py:9` |", PULL).returncode == 0
    assert [one["body"].splitlines()[1] for one in github.comments] == ["| `app.py:9` |"]
    assert commented(runner, github, "", PULL).returncode == 0
    (comment,) = github.comments
    assert comment["body"].splitlines()[1].startswith("There are no suspects any more: ")


def test_nobody_else_s_comment_is_replaced(runner, github):
    mark = "<!-- suspectra: the first suspects -->"
    github.comments.append({"id": 3, "user": {"type": "User"}, "body": mark})
    github.comments.append({"id": 4, "user": None, "body": None})
    assert commented(runner, github, "new", PULL).returncode == 0
    assert [one["body"] for one in github.comments] == [mark, None, f"{mark}\nnew"]


def test_a_long_report_is_cut_at_a_line(runner, github):
    assert commented(runner, github, "a row\n" * 20_000, PULL).returncode == 0
    (comment,) = github.comments
    assert len(comment["body"]) < 65_536
    assert comment["body"].endswith("a row\n\nThe summary of the job has the rest.")


@pytest.mark.parametrize("event", [{}, {"pull_request": None}, {"pull_request": {"number": "12/../13"}}])
def test_without_a_pull_request_nobody_is_asked(runner, github, event):
    ended = commented(runner, github, "new", event)
    assert ended.returncode == 0
    assert github.asked == []


def test_a_token_that_may_not_comment_is_a_warning(runner, github):
    github.refuses = 403
    ended = commented(runner, github, "new", PULL)
    assert ended.returncode == 0
    assert ended.stdout.startswith("::warning::")
    assert "secret" not in ended.stdout + ended.stderr


def test_the_revision_of_the_action_is_installed(runner, tmp_path):
    """With a pip that only says what it was asked for: what it would download is not the action's."""
    programs = tmp_path / "programs"
    programs.mkdir()
    venv = ['mkdir -p "$4/bin"', """printf '#!/bin/sh\\necho "$@"\\n' > "$4/bin/python\"""", 'chmod +x "$4/bin/python"']
    (programs / "python3").write_text("\n".join(["#!/bin/sh", *venv, ""]))
    (programs / "python3").chmod(0o755)
    temp = tmp_path / "another"
    temp.mkdir()
    ended = step(ACTIONS / "install.sh", runner, RUNNER_TEMP=str(temp), PATH=f"{programs}{os.pathsep}{runner['PATH']}")
    assert ended.returncode == 0, ended.stderr
    root = str(ACTIONS.parent)
    assert ended.stdout.split()[-2:] == [f"{root}/analysis", root]


@pytest.mark.slow
def test_what_is_uploaded_can_be_ranked_as_it_is_downloaded(runner, work):
    recorded(work, runner, "pytest -q")
    artifact = Path(runner["RUNNER_TEMP"], "suspectra-recording-1.zip")
    with zipfile.ZipFile(artifact, "w") as archive:
        for log in (work / ".suspectra" / "recording").iterdir():
            archive.write(log, log.name)
    command = [sys.executable, "-m", "suspectra", "rank", "--recording", str(artifact), "--format", "summary"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True, timeout=60)
    assert "   1  app.py:2  double" in done.stdout
