"""Names and messages made to trick terminals, pages and editors; and the many files of a checkout."""

import json
import re
import subprocess

import pytest

from suspectra.cli.main import main
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, split_json, with_json
from suspectra_server.session.folder import Folder
from suspectra_server.session.ranking.ranker import Ranker
from suspectra_server.session.ranking.watching import Watcher

UNSEEN = "\u00ad\u034f\u061c\u115f\u180e\u200b\u2066\u2800\u3164\ufe01\ufeff\ufff9\uffa0\U0001d173\U000e0041\U000e0100"
EVIL = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    f"[x](command:evil){UNSEEN}`"
)
CONTROLS = set("\x1b\x07\x9b\u202e" + UNSEEN)


@pytest.fixture
def hostile(shop):
    """The shop after a run whose tests and messages have such names."""
    for log in (shop / ".suspectra/recording").glob("*.log"):
        log.write_bytes(renamed(log.read_bytes(), EVIL))
    return shop


def renamed(data, name):
    """A log whose tests have this in their names and messages."""
    out = MAGIC
    for one in frames(data):
        payload = one.payload
        if one.kind == FrameKind.TEST:
            head, rows = split_json(payload)
            evil = {"name": f"{head['name']}[{name}]", "message": name if head["message"] else ""}
            if head["message"]:
                calls = [["shop/vouchers.py", 17, name]]
                evil["stack"] = {"frames": calls, "exception": name, "message": name, "assertion": False, "omitted": 0}
            payload = with_json(head | evil, rows)
        out += frame(FrameKind(one.kind), payload)
    return out


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return ended.value.code, said.out + said.err


@pytest.mark.parametrize("form", ["table", "markdown", "json", "sarif", "csv"])
def test_names_of_tests_control_no_terminal(hostile, capsys, monkeypatch, form):
    monkeypatch.chdir(hostile)
    status, said = run(capsys, "rank", "--format", form)
    assert status == 0
    assert not CONTROLS & set(said)


def test_a_name_of_many_lines_stays_one_test(hostile, capsys, monkeypatch):
    (log,) = (hostile / ".suspectra/recording").glob("*.log")
    log.write_bytes(renamed(log.read_bytes(), f"\nsuspectra: error: forged\r\udcff\ud83d{'long' * 5000}"))
    monkeypatch.chdir(hostile)
    for form in ("table", "markdown", "json", "sarif", "csv"):
        status, said = run(capsys, "rank", "--format", form)
        assert status == 0
        assert not any(line.startswith("suspectra: error") for line in said.splitlines())
        said.encode()  # no half of a character is left


def test_explanations_control_no_terminal(hostile, capsys, monkeypatch):
    monkeypatch.chdir(hostile)
    status, said = run(capsys, "explain", "shop/vouchers.py:17")
    assert status == 0
    assert not CONTROLS & set(said)


def test_names_of_tests_are_not_markup_in_the_page(hostile, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(hostile)
    status, _ = run(capsys, "report", "--html", str(tmp_path / "page.html"))
    assert status == 0
    page = (tmp_path / "page.html").read_text()
    assert "alert(1)" in page  # it is shown
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert not CONTROLS & set(page)


def test_names_of_tests_are_not_markup_and_no_commands_in_an_editor(hostile, client, find_line):
    client.start(hostile)
    path = hostile / "shop/vouchers.py"
    uri = client.open(path)
    here = {"textDocument": {"uri": uri}, "position": {"line": 16, "character": 10}}
    hover = client.request("textDocument/hover", here)["contents"]["value"]
    assert not CONTROLS & set(hover)
    assert "alert(1)" in hover  # it is shown
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", hover)  # in code nothing is markup
    assert "[x](command:evil)" not in outside
    assert "<script>" not in outside
    shown = json.dumps([client.diagnostics, client.messages, client.statuses], ensure_ascii=False)
    assert not CONTROLS & set(shown)
    assert all("\\u001b" not in json.dumps(d["message"]) for found in client.diagnostics.values() for d in found)


@pytest.mark.slow
def test_files_with_hostile_names_are_ranked_and_shown_in_safety(tmp_path, record, connect, capsys, monkeypatch):
    name = "od\x1b[31md \u202e<b>`x`.py"
    (tmp_path / name).write_text("def f(a):\n    return a\n")
    (tmp_path / "test_it.py").write_text(
        "import importlib.util, os\n"
        "path = next(os.path.abspath(f) for f in os.listdir('.') if f.startswith('od'))\n"
        "spec = importlib.util.spec_from_file_location('odd', path)\n"
        "odd = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(odd)\n\n"
        "def test_f():\n    assert odd.f(0)\n\ndef test_g():\n    assert odd.f(1)\n"
    )
    assert record(tmp_path).returncode == 1
    monkeypatch.chdir(tmp_path)
    for arguments in (["rank"], ["rank", "--format", "markdown"], ["report", "--html", "page.html"]):
        status, said = run(capsys, *arguments)
        assert status == 0, said
        assert not CONTROLS & set(said)
    page = (tmp_path / "page.html").read_text()
    assert not CONTROLS & set(page)
    assert "<b>`x`" not in page
    client = connect().start(tmp_path)
    assert client.marks(tmp_path)
    assert not CONTROLS & set(json.dumps([list(client.diagnostics.values()), client.messages], ensure_ascii=False))


def git(folder, *arguments, given=b""):
    subprocess.run(["git", *arguments], cwd=folder, input=given, check=True, capture_output=True)


def revision(name, files):
    """A commit of a branch, in the words of git's fast-import."""
    out = b"commit refs/heads/%s\ncommitter a <a@b> 0 +0000\ndata 0\n" % name
    for path, data in files.items():
        out += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
    return out


@pytest.mark.slow
def test_ten_thousand_files_changed_at_once_settle_in_few_rankings(client, shop, monkeypatch):
    rankings, loads, looks = [], [], []
    count(monkeypatch, Ranker, "rank", rankings, client)
    count(monkeypatch, Folder, "sources_changed", loads, client)
    count(monkeypatch, Watcher, "_update_watches", looks, client)  # the end of each look at all watched files
    (log,) = (shop / ".suspectra/recording").glob("*.log")
    recorded = {log.relative_to(shop).as_posix(): log.read_bytes()}
    sources = {path.relative_to(shop).as_posix(): path.read_bytes() for path in shop.glob("shop/**/*.py")}
    sources |= {f"shop/part{n // 500}/module_{n}.py": b"x = %d\n" % n for n in range(10_000)}
    changed = {path: b"# new\n" + data for path, data in sources.items()}
    problem = frame(FrameKind.PROBLEM, b'{"file": "", "place": "", "cause": "c", "cure": "d"}')
    recorded_later = {path: data + problem for path, data in recorded.items()}
    git(shop, "init", "-q", "-b", "before")
    states = revision(b"before", sources | recorded) + revision(b"after", changed | recorded_later)
    git(shop, "fast-import", "--quiet", given=states)
    git(shop, "reset", "-q", "--hard")
    client.start(shop)
    assert ("shop/vouchers.py", 17) in client.marks(shop)
    settle(client, looks)
    rankings.clear()
    loads.clear()
    git(shop, "checkout", "-q", "after")
    client.wait(lambda: ("shop/vouchers.py", 18) in client.marks(shop) and rankings)
    settle(client, looks)
    # the new log may get the inode of the old one, and is then taken for one that grew, which is ranked at any moment;
    # and a checkout on a busy machine takes as long as several looks
    assert len(rankings) < 10
    assert len(loads) < 100  # of the texts on the marks, of which there are few


def count(monkeypatch, owner, name, calls, client):
    original = getattr(owner, name)

    def counted(*arguments):
        result = original(*arguments)
        calls.append(name)
        client.wake()
        return result

    monkeypatch.setattr(owner, name, counted)


def settle(client, looks):
    """Wait for two more looks at all watched files: they are further apart than any change and its ranking."""
    enough = len(looks) + 2
    client.wait(lambda: len(looks) >= enough)
    client.request("suspectra/techniques")  # what the looks found has reached the loop
