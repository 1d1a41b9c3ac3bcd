"""Keeping up: edits, files that change on disk, new evidence."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suspectra_recorder.log.frames import FrameKind, frame
from suspectra_server.timing import EVIDENCE_DEBOUNCE_S

ERROR, WARNING, INFORMATION = 1, 2, 3
FAULT = "off = off - amount"


def vouchers(client, shop):
    """The marked lines of vouchers.py, counted from 1."""
    return sorted(line for file, line in client.marks(shop) if file == "shop/vouchers.py")


@pytest.fixture
def covered_shop(shop):
    """A shop measured by coverage.py instead."""
    shutil.rmtree(shop / ".suspectra")
    arguments = ["--cov=.", "--cov-context=test", "--junit-xml=results.xml", "-q", "-p", "no:cacheprovider"]
    subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=shop, capture_output=True, check=False)
    return shop


# edits


def test_marks_move_with_edits_and_an_edited_line_loses_its_mark(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri, fault = client.open(path), find_line(path, FAULT)
    assert vouchers(client, shop) == [5, 7, 16, 17, 18]
    client.edit(uri, (0, 0), (0, 0), "one = 1\ntwo = 2\n")
    client.wait(lambda: vouchers(client, shop) == [7, 9, 18, 19, 20])
    client.wait_for_state("stale")
    assert client.statuses[-1]["message"] == "shop/vouchers.py changed since the tests ran"
    client.edit(uri, (fault + 2, 8), (fault + 2, 8), "x", version=3)
    client.wait(lambda: vouchers(client, shop) == [7, 9, 18, 20])
    assert fault + 3 not in [s["line"] for s in client.suspects()["suspects"] if s["file"] == "shop/vouchers.py"]
    # undone, the marks are back
    client.edit(uri, (fault + 2, 8), (fault + 2, 9), "", version=4)
    client.edit(uri, (0, 0), (2, 0), "", version=5)
    client.wait(lambda: vouchers(client, shop) == [5, 7, 16, 17, 18])
    client.wait(lambda: client.statuses[-1]["state"] == "ready")


def test_a_comment_on_a_suspect_takes_no_mark_away(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri, fault = client.open(path), find_line(path, FAULT)
    end = len(path.read_text().splitlines()[fault])
    client.edit(uri, (fault, end), (fault, end), "  # is this it?")
    assert vouchers(client, shop) == [5, 7, 16, 17, 18]
    client.edit(uri, (fault, 0), (fault, 0), "        # look here\n", version=3)
    client.wait(lambda: vouchers(client, shop) == [5, 7, 16, 18, 19])
    assert client.suspects()["state"] == "ready", "this code has been tested"
    assert client.command("explain", uri, fault + 1)["markdown"]


def test_an_answer_never_lags_behind_an_edit(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri, fault = client.open(path), find_line(path, FAULT)
    for n in range(1, 20):
        client.edit(uri, (0, 0), (0, 0), "# more\n", version=n + 1)
        assert client.suspects()["suspects"][0]["range"]["start"]["line"] == fault + n


def test_only_files_whose_marks_changed_are_published(client, shop):
    client.start(shop)
    uri = client.open(shop / "shop/vouchers.py")
    seen = len(client.published)
    client.edit(uri, (0, 0), (0, 0), "# one\n")
    client.wait(lambda: vouchers(client, shop) == [6, 8, 17, 18, 19])
    client.wait(lambda: len(set(client.published[seen:])) > 1)
    # the failure names the first suspects, which have moved
    assert set(client.published[seen:]) == {uri, (shop / "tests/test_shop.py").as_uri()}


def test_closing_goes_back_to_the_text_on_disk(client, shop):
    client.start(shop)
    uri = client.open(shop / "shop/vouchers.py")
    client.edit(uri, (0, 0), (0, 0), "# one\n")
    client.wait(lambda: vouchers(client, shop) == [6, 8, 17, 18, 19])
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.wait(lambda: vouchers(client, shop) == [5, 7, 16, 17, 18])


def test_marks_follow_a_file_that_changes_on_disk(client, shop):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    path.write_text("# new\n" + path.read_text())
    client.wait(lambda: vouchers(client, shop) == [6, 8, 17, 18, 19])
    path.unlink()
    client.wait(lambda: vouchers(client, shop) == [])
    assert "shop/vouchers.py" in {problem["file"] for problem in client.suspects()["problems"]}


def test_marks_find_their_lines_in_a_file_that_changed_before_the_server_started(client, shop):
    path = shop / "shop/vouchers.py"
    text = path.read_text()
    path.write_text("# new\n" + text.replace(FAULT, f"{FAULT} + 0"))
    client.start(shop)
    assert vouchers(client, shop) == [6, 8, 17, 19]
    assert client.statuses[-1]["state"] == "stale"
    assert not [p for p in client.suspects()["problems"] if p["file"] == "shop/vouchers.py"]
    # and from there they move with edits
    uri = client.open(path)
    client.edit(uri, (0, 0), (0, 0), "# newer\n\n")
    client.wait(lambda: vouchers(client, shop) == [8, 10, 19, 21])
    # with the text that was run all are back
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    path.write_text(text)
    client.wait(lambda: vouchers(client, shop) == [5, 7, 16, 17, 18])
    client.wait_for_state("ready")


def test_a_file_in_which_no_statement_is_found_again_is_not_marked_on_wrong_lines(client, shop):
    path = shop / "shop/vouchers.py"
    path.write_text("(\n" + path.read_text())
    client.start(shop)
    (reported,) = client.diagnostics[path.as_uri()]
    assert (reported["code"], reported["severity"]) == ("changed-since-run", INFORMATION)
    assert reported["range"]["start"]["line"] == 0
    assert client.statuses[-1]["state"] == "stale"
    assert {s["file"] for s in client.suspects()["suspects"]} == {"shop/basket.py"}
    assert [p["cure"] for p in client.suspects()["problems"] if p["file"] == "shop/vouchers.py"] == [
        "run the tests again"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "end"), [("latin-1", "\n"), ("utf-8", "\r\n"), ("utf-8-sig", "\r"), ("utf-8", "\n")]
)
def test_sources_of_any_encoding_and_line_end(connect, shop, record, encoding, end, find_line):
    path = shop / "shop/vouchers.py"
    text = path.read_text().replace('"""Vouchers', '"""Gutscheine für Käufer\x0c\u00a7', 1)
    if encoding != "latin-1":
        text = text.replace("für", "für 😀\u2028")
    else:
        text = "# coding: latin-1\n" + text
    text = text.replace("        off = off - amount", '        "äö"; off = off - amount')
    path.write_bytes(text.replace("\n", end).encode(encoding))
    shutil.rmtree(shop / ".suspectra")
    assert record(shop).returncode == 1
    client = connect()
    client.start(shop)
    wanted = text[: text.index("off = off")].count("\n")
    best = client.suspects(limit=1)["suspects"][0]
    assert best["range"]["start"] == {"line": wanted, "character": 8}
    # the client's text has its own idea of line ends, and no byte order mark
    uri = client.open(path, text.replace("\n", end))
    client.edit(uri, (0, 0), (0, 0), "# one" + end)
    assert client.suspects(limit=1)["suspects"][0]["range"]["start"]["line"] == wanted + 1


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 15), ("utf-16", 13), ("utf-32", 12)])
def test_columns_are_in_the_units_the_client_wants(client, shop, record, capable, encoding, column, find_line):
    path = shop / "shop/vouchers.py"
    path.write_text(path.read_text().replace(f"        {FAULT}", f'        "😀"; {FAULT}', 1))
    shutil.rmtree(shop / ".suspectra")
    record(shop)
    capable["general"] = {"positionEncodings": [encoding]}
    answer = client.initialize(shop, capabilities=capable)
    assert answer["capabilities"]["positionEncoding"] == encoding
    client.wait_for_state("ready")
    # the mark of the second statement on the line starts where the line does, so look where the line ends
    line = find_line(path, FAULT)
    mark = next(d for d in client.diagnostics[path.as_uri()] if d["range"]["start"]["line"] == line)
    end = path.read_text().splitlines()[line].rstrip()
    assert (
        mark["range"]["end"]["character"]
        == len(end.encode(f"{encoding}{'-le' if encoding != 'utf-8' else ''}"))
        // {
            "utf-8": 1,
            "utf-16": 2,
            "utf-32": 4,
        }[encoding]
    )
    uri = client.open(path)
    client.edit(uri, (line, column - 4), (line, column - 4), "\n")
    client.wait(lambda: line + 1 not in vouchers(client, shop))


# evidence


def test_evidence_that_appears_later_is_found(client, shop, tmp_path):
    hidden = tmp_path / "hidden"
    shutil.move(shop / ".suspectra", hidden)
    client.start(shop)
    assert client.statuses[-1]["state"] == "noEvidence"
    assert "suspectra record" in client.statuses[-1]["message"]
    assert not client.messages
    shutil.move(hidden, shop / ".suspectra")
    client.wait_for_state("ready")
    client.wait(lambda: vouchers(client, shop) == [5, 7, 16, 17, 18])


@pytest.mark.slow
def test_when_the_fault_is_fixed_and_the_tests_re_run_the_marks_go(client, shop, record):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    path.write_text(path.read_text().replace(FAULT, "off = amount"))
    assert record(shop).returncode == 0
    client.wait_for_state("noFailingTests")
    client.wait(lambda: not client.marks(shop))


@pytest.mark.slow
def test_a_rerun_of_some_tests_changes_the_ranking(client, shop, record):
    client.start(shop)
    tests = shop / "tests/test_shop.py"
    tests.write_text(tests.read_text().replace('basket(8).total("5") == 3', 'basket(8).total("5") == 4'))
    record(shop, "tests/test_shop.py::test_amount")
    client.wait(lambda: client.statuses[-1]["failed"] == 4)
    assert client.suspects()["passed"] == 6


def test_broken_evidence_leaves_the_last_good_ranking(client, shop):
    client.start(shop)
    marks = client.marks(shop)
    (log,) = (shop / ".suspectra/recording").iterdir()
    log.write_bytes(b"not a recording at all, but long enough to be looked at" * 10)
    client.wait_for_state("error")
    assert client.marks(shop) == marks
    answer = client.suspects()
    assert answer["suspects"]
    assert answer["problems"][0]["cause"]
    assert answer["problems"][0]["cure"]


def test_a_problem_is_reported_once_to_a_client_that_has_no_other_way_to_see_it(client, shop):
    client.start(shop, capabilities={})
    (log,) = (shop / ".suspectra/recording").iterdir()
    damaged = shop / "damaged"
    damaged.write_bytes(b"not a recording at all, but long enough to be looked at" * 10)
    damaged.replace(log)  # at once: nobody sees it empty
    client.wait(lambda: client.messages)
    for _ in range(3):
        client.command("localize")
        client.suspects()
    (said,) = [one["message"] for one in client.messages if one["type"] == ERROR]  # the command answers each time
    assert "Fix: " in said
    assert "Traceback" not in str(client.received)


def test_a_coverage_file_that_is_still_being_written_waits(client, covered_shop):
    written = covered_shop / ".coverage"
    whole = written.read_bytes()
    written.unlink()
    client.start(covered_shop)
    pieces = [whole[start : start + len(whole) // 5 + 1] for start in range(0, len(whole), len(whole) // 5 + 1)]
    paused = longest_pause(client, written, pieces)
    client.wait_for_state("ready")
    client.wait(lambda: vouchers(client, covered_shop) == [5, 7, 16, 17, 18])
    states = {status["state"] for status in client.statuses}
    # what does not grow for longer, as on a machine too busy to write it, is taken as complete
    assert "error" not in states or paused > EVIDENCE_DEBOUNCE_S


def longest_pause(client, path, pieces):
    """Write a file piece by piece while the server answers; the longest pause between two of them, in seconds."""
    times = []
    with open(path, "wb", buffering=0) as file:
        for piece in pieces:
            file.write(piece)
            os.fsync(file.fileno())
            times.append(time.monotonic())
            client.suspects()
    return max(after - before for before, after in itertools.pairwise(times))


def test_coverage_without_the_texts_that_ran_still_follows_the_edits_since(client, covered_shop):
    client.start(covered_shop)
    path = covered_shop / "shop/vouchers.py"
    path.write_text("# new\n" + path.read_text())
    client.wait(lambda: vouchers(client, covered_shop) == [6, 8, 17, 18, 19])
    seen = len(client.statuses)
    client.command("selectTechnique", "tarantula")
    client.wait(lambda: any(status["technique"] == "tarantula" for status in client.statuses[seen:]))
    assert vouchers(client, covered_shop) == [6, 8, 17, 18, 19]


def test_named_evidence_is_read_instead(client, shop):
    client.start(shop, options={"coverage": "missing/.coverage", "junit": "missing/results.xml"})
    assert client.statuses[-1]["state"] == "noEvidence"
    client.configuration = {"coverage": "", "junit": ""}
    client.notify("workspace/didChangeConfiguration", {"settings": {}})
    client.wait_for_state("ready")


def test_a_read_only_workspace_is_served(client, shop):
    for folder, _, files in os.walk(shop):
        for name in files:
            os.chmod(Path(folder, name), 0o444)
        os.chmod(folder, 0o555)
    before = sorted(shop.rglob("*"))
    client.start(shop)
    assert vouchers(client, shop) == [5, 7, 16, 17, 18]
    assert sorted(shop.rglob("*")) == before
    for folder, _, _ in os.walk(shop):
        os.chmod(folder, 0o755)


def test_loops_of_links_are_no_trap(client, shop):
    (shop / "shop/again").symlink_to(shop)
    (shop / ".suspectra/loop").symlink_to(shop / ".suspectra")
    (shop / ".suspectra/recording/loop").symlink_to(shop)
    client.start(shop)
    assert vouchers(client, shop) == [5, 7, 16, 17, 18]


def test_a_workspace_behind_a_link(client, shop, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(shop)
    client.start(link)
    assert vouchers(client, link) == [5, 7, 16, 17, 18]
    # and a document named by its real path
    uri = (shop / "shop/vouchers.py").as_uri()
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [lens["command"]["title"].split()[0] for lens in lenses] == ["Most", "Why?", "Next"]


def test_many_files_changed_at_once_settle(client, shop):
    client.start(shop)
    for n in range(500):
        (shop / f"shop/new_{n}.py").write_text("x = 1\n")
        (shop / f".suspectra/recording/{n}.tmp").write_text("")
    seen = len(client.statuses)
    path = shop / "shop/vouchers.py"
    path.write_text("# new\n" + path.read_text())
    client.wait(lambda: vouchers(client, shop) == [6, 8, 17, 18, 19])
    assert len(client.statuses) - seen < 20


def test_test_code_is_suspected_when_asked_for(client, covered_shop):
    client.start(covered_shop)
    assert "tests/test_shop.py" not in {s["file"] for s in client.suspects()["suspects"]}
    client.configuration = {"includeTests": True}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: (covered_shop / "tests/test_shop.py").as_uri() in client.diagnostics)


# folders


def test_each_folder_of_a_workspace_has_its_own_evidence_and_settings(client, shop, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    client.start(shop, other)
    client.wait(lambda: len(client.marks(shop)) > 0 and client.statuses[-1]["failed"] == 6)
    answer = client.suspects()
    # the first function of each folder comes before the second one of any
    ranks = [suspect["functionRank"] for suspect in answer["suspects"]]
    assert ranks[: ranks.count(1)] == [1] * ranks.count(1)
    first = [suspect["uri"] for suspect in answer["suspects"][: ranks.count(1)]]
    assert {uri.startswith(other.as_uri()) for uri in first} == {True, False}
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        {"event": {"added": [], "removed": [{"uri": other.as_uri(), "name": "other"}]}},
    )
    client.wait(lambda: not client.diagnostics[(other / "shop/vouchers.py").as_uri()])
    assert client.suspects()["failed"] == 3
    client.notify(
        "workspace/didChangeWorkspaceFolders",
        {"event": {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}},
    )
    client.wait(lambda: client.diagnostics[(other / "shop/vouchers.py").as_uri()])


@pytest.mark.slow
def test_the_tests_of_one_folder_are_run_alone(client, shop, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    client.start(shop, other)
    for folder in (shop, other):
        source = folder / "shop/vouchers.py"
        source.write_text(source.read_text().replace("off = off - amount", "off = amount"))
    assert client.command("runTests", [other.as_uri()]) is True
    client.wait(lambda: client.statuses[-1]["failed"] == 3 and client.statuses[-1]["state"] != "runningTests")
    assert {s["uri"].startswith(shop.as_uri()) for s in client.suspects()["suspects"]} == {True}
    for folders in ([shop.as_uri() + "/none"], shop.as_uri(), [1]):
        with pytest.raises(client.Error):
            client.command("runTests", folders)


def test_no_folder_at_all(client):
    client.initialize()
    client.wait_for_state("noEvidence")
    assert client.suspects()["suspects"] == []
    assert client.command("nextSuspect") is None


@pytest.mark.slow
def test_examined_marks_outlive_a_run_in_which_lines_moved(client, shop, record, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    client.command("markExamined", path.as_uri(), find_line(path, FAULT))
    path.write_text("# new\n" + path.read_text())
    client.wait(lambda: vouchers(client, shop) == [6, 8, 17, 19])
    record(shop)
    client.wait_for_state("ready", after=len(client.statuses) - 1)
    client.wait(lambda: vouchers(client, shop) == [6, 8, 17, 19])
    first = client.suspects()["suspects"][0]
    assert (first["line"], first["examined"]) == (18, True)


# evidence of another checkout


def test_coverage_of_another_checkout_is_used_and_said(client, covered_shop):
    moved = covered_shop.rename(covered_shop.with_name("another"))
    client.configuration = {"showNotifications": "onWarning"}
    client.start(moved)
    client.wait(lambda: client.messages)
    assert "it was recorded in another folder" in client.messages[0]["message"]
    assert "run the tests here" in client.messages[0]["message"]
    assert vouchers(client, moved) == [5, 7, 16, 17, 18]


def test_problems_of_evidence_that_a_setting_names_are_reported(client, covered_shop):
    moved = covered_shop.rename(covered_shop.with_name("another"))
    for name, other in ((".coverage", "tests.coverage"), ("results.xml", "tests.xml")):
        (moved / name).rename(moved / other)
    client.configuration = {"coverage": "tests.coverage", "junit": "tests.xml", "showNotifications": "onWarning"}
    client.start(moved)
    client.wait(lambda: client.messages)
    assert "it was recorded in another folder" in client.messages[0]["message"]


def test_of_many_problems_only_the_first_are_reported_one_by_one(client, shop):
    (log,) = (shop / ".suspectra" / "recording").glob("*.log")
    problems = [{"file": f"shop/{n}.py", "place": "", "cause": f"it is odd: {n}", "cure": "fix it"} for n in range(40)]
    with log.open("ab") as recorded:
        recorded.writelines(frame(FrameKind.PROBLEM, json.dumps(problem).encode()) for problem in problems)
    client.start(shop, options={"showNotifications": "onWarning"})
    client.wait(lambda: len(client.messages) == 6 and len(client.logged) >= 35)
    assert "35 more problems" in client.messages[-1]["message"]
    assert "shop/39.py: it is odd: 39" in client.logged[-1]["message"]


def test_a_recording_of_other_sources_marks_no_wrong_line(client, shop):
    vouchers_py, basket_py = shop / "shop" / "vouchers.py", shop / "shop" / "basket.py"
    vouchers_py.write_text("# another branch\n" * 40)
    basket_py.unlink()
    client.start(shop)
    client.open(vouchers_py)
    client.wait(lambda: client.diagnostics.get(vouchers_py.as_uri()))
    (reported,) = client.diagnostics[vouchers_py.as_uri()]
    assert reported["code"] == "changed-since-run"
    assert not client.diagnostics.get(basket_py.as_uri())
