"""What a reader marked outlives the server, and the file it is kept in can do no harm."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.evidence.sources import SourceText
from suspectra_server.state import marks_file, workspace_file
from suspectra_server.state.marks_file import FileMarks, Fingerprint, MarksFile

FAULT = "off = off - amount"
TIMEOUT_S = 30


class Session:
    """Servers on one workspace, one after the other or at once."""

    def __init__(self, connect, shop, until):
        self.until = until
        self._connect = connect
        self.root = shop
        self.file = shop / ".suspectra/marks.json"
        self.source = shop / "shop/vouchers.py"

    def start(self, **how):
        return self._connect().start(self.root, **how)

    def end(self, client):
        """Shut a server down as editors do."""
        client.request("shutdown")
        client.notify("exit")
        assert client.status.get(timeout=TIMEOUT_S) == 0

    def line(self, text=FAULT):
        return next(i for i, line in enumerate(self.source.read_text().splitlines()) if text in line)

    def mark(self, client, text=FAULT, command="markExamined", *more):
        assert client.command(command, self.source.as_uri(), self.line(text), *more) is True

    def written(self):
        self.until(self.file.exists)

    def edit(self, old, new):
        text = self.source.read_text()
        assert old in text
        self.source.write_text(text.replace(old, new, 1))


def done(client):
    """(line, innocent) of all suspects in the vouchers that are marked."""
    found = client.suspects()["suspects"]
    return {(s["line"], s["innocent"]) for s in found if s["examined"] and s["uri"].endswith("vouchers.py")}


@pytest.fixture
def session(connect, shop, until):
    return Session(connect, shop, until)


@pytest.fixture
def start_process(process, client_of, session):
    """Start a server in a process of its own."""

    def start():
        server = process(env={**os.environ, "XDG_STATE_HOME": str(session.root.parent / "state")})
        client = client_of(server.stdout, server.stdin)
        client.server = server
        return client.start(session.root)

    return start


@pytest.mark.slow
def test_marks_outlive_the_server(session, start_process):
    client = start_process()
    session.mark(client)
    session.mark(client, "return amount - off  # suspect", "markInnocent")
    marked = {(session.line() + 1, False), (session.line("return amount - off  # suspect") + 1, True)}
    assert done(client) == marked
    client.request("shutdown")
    client.notify("exit")  # at once: what is still to be written is waited for
    assert client.server.wait(TIMEOUT_S) == 0
    client = session.start()
    client.ask_until(lambda: done(client) == marked)
    assert not any(FAULT in one["message"] for all_ in client.diagnostics.values() for one in all_)


@pytest.mark.slow
def test_marks_outlive_a_server_that_is_killed(session, start_process):
    client = start_process()
    session.mark(client)
    session.written()
    client.server.kill()
    again = session.start()
    again.ask_until(lambda: done(again) == {(session.line() + 1, False)})


@pytest.mark.slow
def test_marks_are_found_again_after_edits_and_runs_without_a_server(session, record):
    client = session.start()
    session.mark(client)
    session.end(client)
    session.edit('"""Vouchers', '# moved\n\n"""Vouchers')
    session.edit("  # suspect: 1", "  # a comment that is new")
    session.edit("def by_percent", "def other():\n    return 1\n\n\ndef by_percent")
    record(session.root)
    client = session.start()
    client.ask_until(lambda: done(client) == {(session.line() + 1, False)})
    session.end(client)
    assert json.loads(session.file.read_text())["files"]["shop/vouchers.py"]["examined"] == [session.line() + 1]


@pytest.mark.slow
def test_marks_are_found_again_when_the_run_comes_after_the_restart(session, record):
    client = session.start()
    session.mark(client)
    session.end(client)
    session.edit('"""Vouchers', '# moved\n"""Vouchers')
    client = session.start()
    client.ask_until(lambda: done(client) == {(session.line() + 1, False)})  # the recording knows the statement
    record(session.root)
    client.ask_until(lambda: done(client) == {(session.line() + 1, False)})


@pytest.mark.slow
def test_a_mark_goes_with_its_line_and_the_file_with_the_last_mark(session, record):
    client = session.start()
    session.mark(client)
    session.end(client)
    session.edit(FAULT, "off = off - amount - 0")
    record(session.root)
    client = session.start()
    session.until(lambda: not session.file.exists())
    assert done(client) == set()


def test_marks_go_with_a_file_that_is_deleted(session):
    client = session.start()
    session.mark(client)
    session.end(client)
    session.source.unlink()
    session.start()
    session.until(lambda: not session.file.exists())


def test_clearing_removes_them_for_good(session):
    client = session.start()
    session.mark(client)
    session.written()
    client.command("clearExamined")
    session.end(client)
    assert not session.file.exists()
    assert done(session.start()) == set()


def test_a_workspace_without_marks_is_left_alone(session):
    before = sorted(session.root.rglob(".suspectra/*"))
    client = session.start()
    client.command("clearExamined")
    session.end(client)
    assert sorted(session.root.rglob(".suspectra/*")) == before


def test_no_source_text_is_stored_and_nothing_is_for_version_control(session):
    (session.root / ".suspectra/.gitignore").unlink()
    client = session.start()
    session.mark(client, FAULT, "markInnocent", "function")
    session.end(client)
    text = session.file.read_text()
    assert not any(line.strip() in text for line in session.source.read_text().splitlines() if len(line.strip()) > 3)
    assert "\n*\n" in (session.root / ".suspectra/.gitignore").read_text()
    assert [path.name for path in session.file.parent.glob("*marks*")] == ["marks.json"]


def valid(**changes):
    one = {"digest": "0" * 64, "lines": "00000000" * 9, "examined": [3], "innocent": []}
    return json.dumps({"version": 1, "files": {"shop/vouchers.py": {**one, **changes}}}).encode()


DAMAGED = {
    "empty": b"",
    "cut off": valid()[:-20],
    "not UTF-8": b"\xff\xfe{}",
    "another thing": b"[1, 2]",
    "another version": valid().replace(b'"version": 1', b'"version": 2'),
    "deep": b"[" * 100_000,
    "a line that is none": valid(examined=[10]),
    "a line that is true": valid(innocent=[True]),
    "a huge number": b'{"version": ' + b"9" * 5_000 + b"}",
    "hashes that are none": valid(lines="0" * 9),
    "a digest that is none": valid(digest="x"),
    "marks that are none": valid(examined=None),
    "a path out of the workspace": valid().replace(b"shop/vouchers.py", b"../vouchers.py"),
    "a path from the root": valid().replace(b"shop/vouchers.py", b"/etc/passwd"),
    "a name that is none": valid().replace(b"shop/vouchers.py", b"\\ud800"),
    "too many marks": valid(lines="00000000" * 20_001, examined=list(range(1, 20_002))),
    "too many lines": valid(lines="00000000" * (marks_file.MAX_LINES + 1)),
    "huge": b" " * (workspace_file.MAX_SIZE + 1),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_costs_one_line_and_is_replaced_with_the_next_mark(tmp_path, logged_by, data):
    (tmp_path / ".suspectra").mkdir()
    (tmp_path / ".suspectra/marks.json").write_bytes(data)
    (tmp_path / "a.py").touch()
    file = MarksFile(tmp_path)
    assert file.load() == file.load() == {}
    (message,) = logged_by(marks_file)
    assert "marks.json: the marks in it are not used: " in message
    assert file.write({"a.py": marks("x = 1", 1)})
    assert {path: one.examined for path, one in MarksFile(tmp_path).load().items()} == {"a.py": {1}}
    assert logged_by(marks_file) == [message]


@pytest.mark.slow
def test_a_server_with_a_damaged_file_says_so_once_and_goes_on(session, start_process):
    session.file.write_bytes(valid(examined=[10]))
    client = start_process()
    assert done(client) == set()
    session.mark(client)
    client.request("shutdown")
    client.notify("exit")
    assert client.server.wait(TIMEOUT_S) == 0
    logged = client.server.stderr.read().decode()
    assert len(logged.splitlines()) == 1, logged
    assert "marks.json: the marks in it are not used: " in logged
    client = session.start()
    client.ask_until(lambda: done(client) == {(session.line() + 1, False)})


def test_a_pipe_is_not_waited_for(session, caplog):
    os.mkfifo(session.file)
    client = session.start()
    session.mark(client)
    session.end(client)
    assert "not a regular file" in caplog.text


def test_links_are_refused(session, tmp_path, caplog):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(valid())
    session.file.symlink_to(elsewhere)
    client = session.start()
    session.mark(client)
    assert done(client) == {(session.line() + 1, False)}
    client.command("clearExamined")
    session.end(client)
    assert "marks.json is a link" in caplog.text
    assert elsewhere.read_bytes() == valid()
    assert session.file.is_symlink()


def test_nothing_is_written_through_a_folder_that_is_a_link(tmp_path, logged_by):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.suspectra").symlink_to(tmp_path / "elsewhere")
    file = MarksFile(tmp_path / "work")
    assert file.write({"a.py": marks("x = 1", 1)}) is False
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "elsewhere/marks.json").write_bytes(valid())
    assert file.load() == {}
    assert file.write({}, cleared=True) is False
    assert (tmp_path / "elsewhere/marks.json").read_bytes() == valid()
    assert len(logged_by(marks_file)) == 2  # one of reading, one of writing


def test_in_a_workspace_that_is_not_trusted_marks_are_read_and_none_is_written(session):
    client = session.start()
    session.mark(client)
    session.end(client)
    before = session.file.read_bytes()
    client = session.start(options={"trusted": False})
    client.ask_until(lambda: done(client) == {(session.line() + 1, False)})
    session.mark(client, "return amount - off  # suspect")
    assert len(done(client)) == 2
    client.command("clearExamined")
    assert done(client) == set()
    session.end(client)
    assert session.file.read_bytes() == before


def test_two_servers_keep_their_marks_in_different_files(session):
    one, other = session.start(), session.start()
    cart = next(s for s in one.suspects()["suspects"] if not s["uri"].endswith("vouchers.py"))
    session.mark(one)
    session.written()
    assert other.command("markExamined", cart["uri"], cart["line"] - 1) is True
    session.end(other)
    session.end(one)
    assert len(json.loads(session.file.read_text())["files"]) == 2
    both = session.start()
    both.ask_until(lambda: sum(s["examined"] for s in both.suspects()["suspects"]) == 2)


def marks(text, *lines, path="a.py"):
    source = SourceText(path, text, text.encode())
    return FileMarks(Fingerprint(source.digest, source), frozenset(lines))


def test_a_workspace_that_can_not_be_written_to_costs_one_line(tmp_path, logged_by):
    (tmp_path / ".suspectra").write_text("a file")  # refused even to root
    file = MarksFile(tmp_path)
    assert file.write({"a.py": marks("x = 1", 1)}) is file.write({"b.py": marks("x = 1", 1)}) is False
    (message,) = logged_by(marks_file)
    assert "marks can't be written" in message


def test_what_is_beyond_the_limits_is_left_out_oldest_first(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(marks_file, "MAX_FILES", 3)
    monkeypatch.setattr(marks_file, "MAX_MARKS", 4)
    file = MarksFile(tmp_path)
    for name in "abcd":
        (tmp_path / name).touch()
        assert file.write({name: marks("x = 1\ny = 2\nz = 3", 1)})
    assert list(file.load()) == ["b", "c", "d"]
    assert file.write({"b": marks("x = 1\ny = 2\nz = 3", 1, 2, 3)})
    assert list(file.load()) == ["d", "b"]
    assert "too many to be kept" in caplog.text


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "a.py").touch()
    file = MarksFile(tmp_path)
    file.write({"a.py": marks("x = 1", 1)})
    before = (tmp_path / ".suspectra/marks.json").read_bytes()

    def fails(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("suspectra_recorder.complete_file.os.replace", fails)
    assert file.write({"b.py": marks("x = 1", 1)}) is False
    assert (tmp_path / ".suspectra/marks.json").read_bytes() == before
    assert {path.name for path in Path(tmp_path, ".suspectra").iterdir()} == {".gitignore", "marks.json"}


LINES = st.lists(st.sampled_from(["", "return", *"abcdefgh"]), max_size=30)


@given(LINES, LINES)
def test_lines_are_followed_in_order_to_lines_that_are_the_same(old, new):
    before = FileMarks(Fingerprint("0" * 64, stored=tuple(old)), frozenset(range(1, len(old) + 1)))
    moved = marks_file._moved(old, new)
    found = [line for line in moved if line >= 0]
    assert found == sorted(set(found))
    assert all(old[i] == new[line] for i, line in enumerate(moved) if line >= 0)
    assert before.moved(Fingerprint("1" * 64, stored=tuple(new))).examined == {line + 1 for line in found}


@given(LINES, st.integers(0, 30), st.lists(st.sampled_from("xyz"), max_size=3))
def test_all_lines_are_found_again_after_an_insertion(lines, at, inserted):
    lines = [f"{i} {line}" if line not in ("", "return") else line for i, line in enumerate(lines)]
    moved = marks_file._moved(lines, [*lines[:at], *inserted, *lines[at:]])
    assert -1 not in moved
