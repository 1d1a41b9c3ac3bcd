"""What the extension shows in a real VS Code workbench, and what can be done there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

TAX = "src/ledger/tax.py"
FAULT = "ends = [*starts[1:], last]"
FUNCTION = "TaxTable._tax_by_days"
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"
PANEL = "#workbench\\.parts\\.panel"


def message(bench) -> str:
    """The line above the suspects."""
    return bench.page.locator(f"{SIDEBAR} .tree-explorer-viewlet-tree-view .message").inner_text()


@pytest.fixture
def opened(ledger, workbench, wait):
    """The recorded example project, with its suspects in the view and the faulty line under the cursor."""

    def start(settings=None):
        bench = workbench(ledger.folder, settings)
        bench.page.set_viewport_size({"width": 1440, "height": 760})
        bench.show("Suspectra")
        wait(bench.suspects, "suspects in the view")
        bench.drag(349, 450)
        fault = ledger.lines(TAX).index(f"        {FAULT}") + 1
        bench.open_suspect(FUNCTION, fault)
        assert bench.cursor() == ("tax.py", fault)
        return bench, fault

    return start


def test_the_walkthrough_can_be_walked_activation_is_quick_and_a_run_can_be_stopped(
    workbench, make_project, tmp_path, wait, record_property
):
    folder = tmp_path / "slow"
    (folder / "tests").mkdir(parents=True)
    (folder / "conftest.py").touch()
    (folder / "slow.py").write_text("def slow(x):\n    return x + 1\n")
    (folder / "tests/test_slow.py").write_text(
        "import os\nimport time\nfrom slow import slow\n\n\ndef test_wrong():\n    assert slow(1) == 1\n\n\n"
        "def test_that_takes_long():\n    open(f'started {os.getpid()}', 'w').close()\n"
        "    print('printed while it runs', flush=True)\n    time.sleep(250)\n"
    )
    bench = workbench(folder, {"suspectra.testCommand": ["pytest", "-s"]})
    size = bench.page.viewport_size
    bench.command("Welcome: Open Walkthrough")
    bench.pick("Find a Fault with Suspectra")
    bench.see(".gettingStartedContainer", "Record a test run")
    bench.see(".gettingStartedContainer .monaco-button", "Record in a Terminal")
    bench.picture("walkthrough")

    # how long the activation took, for people to read
    wait(lambda: bench.status() == "Suspectra: No test run", "the extension is active")
    bench.page.set_viewport_size({"width": 1280, "height": 2600})
    bench.command("Developer: Show Running Extensions")
    row = bench.see(".runtime-extensions-editor .monaco-list-row", "Suspectra")
    milliseconds = int(re.search(r"(\d+)ms", row.locator(".activation-time").inner_text())[1])
    record_property("activation of the extension", f"{milliseconds} ms")
    bench.page.set_viewport_size(size)

    def started(runs: int):
        wait(lambda: len(list(folder.glob("started *"))) == runs, "the slow test runs", 60)
        wait(lambda: bench.status() == "Suspectra: 1 of 2 tests, 1 failed", "the status item counts the tests")
        assert bench.toasts() == []

    # in the Test Explorer, where the run counts as neither failed nor passed
    bench.show("Testing")
    row = bench.see(ROWS, "slow")
    bench.act(row, "Run Test")
    started(1)
    bench.picture("running")
    bench.command("Suspectra: Show Output", lambda: bench.shows(PANEL, "printed while it runs"))
    bench.command("Test: Cancel Test Run")
    wait(lambda: bench.status() == "Suspectra: 1 failing · slow:2", "what was recorded so far is ranked")
    wait(lambda: "Skipped" in (row.get_attribute("aria-label") or ""), "the run was skipped")

    # and by the status item
    bench.command("Suspectra: Run Tests and Localize")
    started(2)
    assert [choice.split(",")[0] for choice in bench.status_menu()] == ["Cancel Test Run", "Show Output"]
    bench.pick("Cancel Test Run")
    wait(lambda: bench.status() == "Suspectra: 1 failing · slow:2", "the run is over")
    assert bench.toasts() == []


def test_goes_where_the_model_leads_and_back_and_previews_techniques(opened, ledger, wait, document):
    bench, _ = opened({"suspectra.learnJumps": True})
    page = bench.page
    first = ("tax.py", ledger.ranked()[0][1])
    bench.command("Suspectra: First Suspect")
    wait(lambda: bench.cursor() == first, "the first suspect")
    bench.command("Suspectra: Debug Here")  # of which nobody has installed the debugger
    bench.see(".notifications-toasts", "needs the extension Python Debugger")
    bench.see(".notifications-toasts .monaco-button", "Install")  # its page would come from a marketplace
    bench.command("Notifications: Clear All Notifications")
    bench.command("View: Focus Active Editor Group")
    bench.press("Control+;", "j")
    bench.see(".quick-input-title", "Where to look next from")
    choices = wait(bench.choices, "places to go to")
    places = [number for number, choice in enumerate(choices) if re.search(r"\w+\.py:\d+", choice)]
    planned = [number for number in places if not re.search(r"\d %", choices[number])]
    assert 0 < len(planned) < len(places)
    assert planned == places[: len(planned)], "first the order that leads to the fault soon"
    document(bench, "vscode-jump.png")
    place = re.search(r"(\w+\.py):(\d+)", choices[places[1]])
    page.locator(".quick-input-list .monaco-list-row").nth(places[1]).click()
    wait(lambda: bench.cursor() == (place[1], int(place[2])), "the place that was chosen")
    bench.press("Control+;", "b")
    wait(lambda: bench.cursor() == first, "the first suspect again")

    # what was learned from that is shown, and forgotten
    bench.choose_in_view("Show Learned Jumps")
    bench.see(".monaco-dialog-box", "of your")
    bench.see(".monaco-dialog-box", str(bench.home))
    bench.picture("learned")
    bench.press("Escape")
    bench.choose_in_view("Reset Learned Jumps")
    bench.choose_in_view("Show Learned Jumps")
    bench.see(".monaco-dialog-box", "No moves were counted yet")
    bench.press("Escape")

    # other techniques order the suspects otherwise, at first for a look
    bench.command("Suspectra: Select Technique")
    bench.see(".quick-input-list .monaco-list-row", "evidence")
    bench.press("ArrowDown")
    wait(lambda: not message(bench).startswith("All evidence"), "the next technique is previewed")
    document(bench, "vscode-techniques.png")
    bench.fill("tarantula")
    wait(lambda: message(bench).startswith("Tarantula"), "the order is previewed")
    bench.press("Escape")
    wait(lambda: message(bench).startswith("All evidence"), "Escape brings the order back")
    assert not (ledger.folder / ".vscode").exists()

    bench.command("Suspectra: Select Technique")
    bench.see(".quick-input-list .monaco-list-row", "evidence")
    bench.fill("dstar")
    bench.act(bench.see(".quick-input-list .monaco-list-row", "dstar"), "Keep it")
    settings = ledger.folder / ".vscode" / "settings.json"
    wait(lambda: settings.exists() and "dstar" in settings.read_text(), "the technique is kept")
    wait(lambda: message(bench).startswith("DStar"), "the technique is used")


@pytest.mark.long
def test_the_view_groups_filters_and_says_what_is_left(opened, wait, document):
    bench, fault = opened({"suspectra.technique": "ochiai"})  # so that the first suspects are in several files
    page = bench.page

    for title, group in (
        ("Group by Failing Test", "test_a_month_of_service["),
        ("Group by File", "tax.py, src/ledger, 14 suspects"),
    ):
        bench.choose_in_view("Group the Suspects", title)
        wait(lambda group=group: [row for row in bench.rows() if row.startswith(group)], title)
    document(bench, "vscode-groups.png")
    page.add_init_script("""
        window.texts = new Set();
        new MutationObserver(() => document.querySelectorAll('.welcome-view-content').forEach((shown) => {
            if (shown.checkVisibility()) window.texts.add(shown.innerText);
        })).observe(document, { childList: true, subtree: true, attributes: true });""")
    page.reload()  # it is remembered
    wait(lambda: [row for row in bench.rows() if row.startswith("tax.py, ")], "the grouping is kept", 90)
    # and until the suspects were known again, no text was about them
    texts = page.evaluate("[...window.texts]")
    assert not [text for text in texts if "No line" in text or "no recorded test run" in text], texts
    bench.choose_in_view("Group the Suspects", "Do Not Group")
    wait(lambda: len(bench.suspects()) == 20, "a row for each line")
    everything = bench.suspects()

    bench.command("Suspectra: Filter the Suspects")
    bench.see(".quick-input-title", "Filter the suspects")
    bench.fill("journal")
    wait(lambda: {"journal.py" in row for row in bench.suspects()} == {True}, "what matches")
    bench.press("Escape")
    wait(lambda: bench.suspects() == everything, "Escape takes the filter back")
    bench.command("Suspectra: Filter the Suspects")
    bench.see(".quick-input-title", "Filter the suspects")
    bench.fill("no such thing")
    bench.press("Enter")
    bench.see(SIDEBAR, "No suspect matches the filter")
    shown = page.evaluate("[...window.texts]")  # what was said before was watched, too
    assert any("No suspect matches the filter" in text for text in shown), shown
    bench.see(f"{SIDEBAR} .monaco-button", "Clear the Filter").click()
    wait(lambda: bench.suspects() == everything, "all suspects")

    # one by one they are examined, till none is left
    row = page.locator(ROWS, has_text=f"{FUNCTION.rpartition('.')[2]}:{fault}").first
    is_innocent = lambda: [r for r in bench.suspects() if f"line {fault}," in r and r.endswith(", innocent")]  # noqa: E731
    bench.choose(row, "Mark as Innocent", is_innocent)
    bench.configure(suspectra_top=3)
    wait(lambda: len(bench.suspects()) == 3, "three suspects")
    innocent = next(index for index, row in enumerate(bench.suspects()) if row.endswith(", innocent"))
    first, last = (index for index in range(3) if index != innocent)
    mark = "Mark as Examined"
    bench.act(bench.ranked.nth(first), mark, lambda: bench.suspects()[first].endswith(", examined"))
    bench.act(bench.ranked.nth(last), mark, lambda: bench.shows(SIDEBAR, "You have looked at every suspect"))
    bench.picture("all-examined")
    bench.see(f"{SIDEBAR} .monaco-button", "List the Examined Suspects").click()
    wait(lambda: len(bench.suspects()) == 3, "the examined suspects")
    bench.picture("examined")
    bench.command("Suspectra: Clear Examined Marks")
    wait(lambda: not [r for r in bench.suspects() if r.endswith(("examined", "innocent"))], "nothing is marked")


@pytest.mark.long
def test_an_explanation_keeps_up(opened, ledger, wait, document):
    bench, fault = opened()
    page, inside = bench.page, bench.explanation()
    bench.command("Suspectra: First Suspect")
    wait(lambda: bench.cursor()[1] == ledger.ranked()[0][1], "the first suspect")
    bench.command("Suspectra: Explain Suspect")
    inside.locator("pre", has_text="return total(parts)").wait_for()
    ranked = [place[1] for place in ledger.ranked()]
    for line in ranked[1 : ranked.index(fault) + 1]:
        bench.command("Suspectra: Next Suspect")
        wait(lambda line=line: bench.cursor()[1] == line, "the next suspect")
    inside.locator("pre", has_text=FAULT).wait_for()
    assert inside.locator(".chart [role=img]").first.get_attribute("aria-label") == "failing: 3 of 3"
    document(bench, "vscode-explain.png")

    # it follows edits, and says when there is nothing left to explain
    bench.press("Control+Home")
    page.keyboard.type("#\n")
    inside.locator("button", has_text=f"tax.py:{fault + 1}").wait_for()
    for _ in range(fault - 1):  # from line 2 to line fault + 1
        bench.press("ArrowDown")
    wait(lambda: bench.cursor() == ("tax.py", fault + 1), "the moved line")
    bench.press("End", "x")
    inside.locator("h1", has_text="tax.py").wait_for()
    inside.locator(".notice", has_text="not a suspect any more").wait_for()
    bench.picture("gone")
    bench.press("Backspace")
    inside.locator("pre", has_text=FAULT).wait_for()

    # tests are opened where they are defined
    inside.locator("#content li button").last.click()
    wait(lambda: bench.cursor()[0].startswith("test_"), "a test is open")
    assert bench.toasts() == []


def shows_the_marks(bench, picture, colors):
    """A picture shows what marks a suspicious line, in the colours that are declared for its theme."""
    places = {**bench.heat_maps(), "view": bench.page.locator(f"{SIDEBAR} .monaco-list").first.bounding_box()}
    for heat in (3, 5):
        for name, least in (("gutter", 0.002), ("ruler", 0.001), ("view", 0.0001)):
            assert picture.share(colors[f"heat{heat}"], places[name]) > least, f"heat {heat} in the {name}"
    here = bench.see(".editor-instance .view-line", FAULT).bounding_box()
    assert picture.share(colors["reason"], {**here, "width": 900}) > 0.002, "the reason at the cursor"


def shows_the_tint(bench, picture, colors):
    text = bench.see(".editor-instance .view-lines").bounding_box()
    hot = bench.see(".editor-instance .view-line", "whole = sum(days)")  # as hot as the fault
    whole_line = {**hot.bounding_box(), "x": text["x"], "width": 600}
    assert picture.share(colors["heat5Background"], whole_line, bench.color("editor.background")) > 0.5


@pytest.mark.long
def test_suspicion_is_recognised_in_every_theme_and_without_colours(opened, wait, document, palette, look, look_again):
    bench, fault = opened({"suspectra.technique": "ochiai"})
    row = next(row for row in bench.suspects() if f"line {fault}," in row)
    assert "score 0.866, high suspicion" in row
    for theme, name, kind in (
        ("Light Modern", "light", "light"),
        ("Dark Modern", "dark", "dark"),
        ("Dark High Contrast", "contrast-dark", "highContrast"),
        ("Light High Contrast", "contrast-light", "highContrastLight"),
    ):
        bench.command("Preferences: Color Theme")
        bench.see(".quick-input-box input[placeholder^='Select Color Theme']")
        bench.pick(theme)
        bench.page.locator(".quick-input-widget").wait_for(state="hidden")
        wait(lambda kind=kind: bench.color("suspectra.heat5") == palette(kind)["heat5"], f"the theme {theme}")
        said = "3 of 3 failing, 1 of 80 passing · test_a_month_of_service and 2 more"
        wait(lambda said=said: said in "".join(bench.at_ends_of_lines()), "the reason at the cursor's line")
        bench.see(".codelens-decoration a", "Most suspicious (3 of 3 failing)")
        lines = bench.page.locator(".editor-instance .squiggly-info")
        wait(lambda lines=lines: lines.count() == 1, "the first line of the first function is underlined")
        look_again(
            lambda name=name, kind=kind: shows_the_marks(
                bench, document(bench, f"vscode-{name}.png", kind), palette(kind)
            )
        )

    # who wants more gets it: a tint, an underline for each, and the rank in words
    more = {"suspectra_tint": True, "suspectra_diagnostics": "all", "suspectra_inlayHints": True}
    bench.configure(workbench_colorTheme="Default Light Modern", **more)
    wait(bench.suspects, "suspects in the view", 90)
    bench.see(".view-lines", "suspect 1–9 · 0.866")
    bench.see(".squiggly-warning")
    look_again(lambda: shows_the_tint(bench, look(bench.picture("tinted", still=True)), palette("light")))

    # a picture that lacks the marks would not pass
    bench.configure(reload=False, suspectra_decorations=False)

    def lacks_the_marks() -> bool:
        picture = look(bench.picture("without-decorations", still=True))
        try:
            shows_the_marks(bench, picture, palette("light"))
        except AssertionError as missing:
            return "gutter" in str(missing)
        return False

    wait(lacks_the_marks, "a picture without marks in the gutter")


def test_the_test_explorer_shows_the_coverage_of_each_test_and_runs_one_alone(ledger, workbench, wait, document):
    bench = workbench(ledger.folder)
    page = bench.page
    page.set_viewport_size({"width": 1440, "height": 760})
    # at first: a suspect that is opened is selected in the Suspects view, which comes back for that if it was just left
    bench.show("Testing")
    bench.drag(349, 450)
    bench.unfold("ledger")
    bench.unfold("tests/test_tax.py")
    bench.see(ROWS, "test_rates[")
    bench.picture("tests")
    assert bench.toasts() == []
    bench.open("tax.py", ledger.lines(TAX).index(f"        {FAULT}") + 1)
    assert not page.locator(".coverage-deco-gutter").count()  # until it is asked for
    bench.command("Test: Run All Tests with Coverage")
    bench.see(f"{SIDEBAR} .pane-header", "Test Coverage", 60)
    bench.command("Test: Toggle Inline Coverage")
    bench.see(".coverage-deco-gutter")
    document(bench, "vscode-coverage.png")
    executed = page.locator(".coverage-deco-gutter.coverage-deco-hit")
    by_all = executed.count()
    assert by_all > 10

    # what one test executed
    bench.command("Test: Filter Coverage by Test")
    bench.pick("test_a_period_must_not_run_backwards")
    wait(lambda: 0 < executed.count() < by_all, "the lines of that test alone")
    bench.picture("coverage-of-one-test")

    # one test runs alone
    names = [name for name in ledger_tests(ledger) if name.startswith("tests/test_money.py::")]
    conftest = ledger.folder / "tests" / "conftest.py"
    conftest.write_text(
        conftest.read_text() + "\n\n@pytest.fixture(autouse=True)\ndef ran(request):\n"
        "    with open('ran', 'a') as out:\n        out.write(request.node.nodeid + '\\n')\n"
    )
    ran = ledger.folder / "ran"
    page.set_viewport_size({"width": 1440, "height": 1600})  # above the coverage there is room for the tests
    bench.unfold("tests/test_money.py")
    bench.act(bench.see(ROWS, names[0].partition("::")[2]), "Run Test")
    wait(lambda: ran.exists() and ran.read_text().splitlines() == names[:1], "that test ran", 60)
    wait(lambda: "failing" in bench.status(), "the run is over", 60)
    assert ran.read_text().splitlines() == names[:1]
    bench.picture("one-test")
    ran.unlink()

    # and so do those of a file
    bench.act(bench.see(ROWS, "tests/test_money.py"), "Run Test")
    wait(
        lambda: ran.exists() and sorted(ran.read_text().splitlines()) == sorted(names), "the tests of the file ran", 60
    )


def ledger_tests(ledger) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ledger.folder, capture_output=True, text=True, timeout=60)
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.long
def test_why_no_test_could_run_stays_in_the_view(workbench, make_project, tmp_path, wait, bare):
    folder = tmp_path / "broken"
    (folder / "tests").mkdir(parents=True)
    (folder / "conftest.py").touch()
    test = folder / "tests" / "test_broken.py"
    test.write_text("def test_it():\n    assert 1 == 2\n\n\n1 / 0\n")
    missing = folder / "tests" / "test_missing.py"
    missing.write_text("import nowhere_at_all\n")
    bench = workbench(folder)
    bench.show("Suspectra")
    bench.see(SIDEBAR, "There is no recorded test run yet", 90)
    bench.see(f"{SIDEBAR} .monaco-button", "Record in a Terminal")
    bench.command("Suspectra: Run Tests and Localize")
    bench.see(ROWS, "1 file needs `nowhere_at_all`", 60)
    for button in ("Copy Install Command", "Run the Other Tests", "Open Setting"):
        bench.see(ROWS, button)
    bench.picture("card")
    bench.command("Notifications: Clear All Notifications")
    wait(lambda: not bench.toasts(), "no notification is left")
    missing.unlink()
    assert "ZeroDivisionError: division by zero" in bench.rows()[0]
    bench.see(ROWS, "Go to Error").click()
    wait(lambda: bench.cursor() == ("test_broken.py", 5), "the cursor is on the error")
    bench.see(".squiggly-error")
    bench.see(ROWS, "Show Output").click()
    bench.see(PANEL, "division by zero")
    test.write_text("def test_it():\n    assert 1 == 2\n")
    bench.see(ROWS, "Run Again").click()
    wait(lambda: not any("division" in row for row in bench.rows()), "the error is gone", 60)

    bench.see(ROWS, "no statement of the workspace was measured", 60)  # there is nothing but the test
    wait(lambda: not re.search(r"Running|\d of \d", bench.status()), "the run is over", 60)

    bench.configure(suspectra_testInterpreter=bare)
    bench.see(ROWS, "no statement of the workspace was measured", 60)
    bench.command("Suspectra: Run Tests and Localize")
    bench.see(ROWS, "this interpreter has no pytest", 60)
    assert bench.toasts() == []  # its card says it

    # what is not even a run of pytest is kept just so
    bench.configure(suspectra_testInterpreter="", suspectra_testCommand=["no-such-program"])
    bench.see(ROWS, "no statement of the workspace was measured", 60)
    bench.command("Suspectra: Run Tests and Localize")
    bench.see(ROWS, "The tests could not be run", 60)
    bench.picture("card-of-a-run")


def test_a_window_without_a_folder_asks_for_one(workbench, tmp_path, wait):
    nothing = tmp_path / "nothing.code-workspace"
    nothing.write_text('{"folders": []}')
    bench = workbench(nothing)
    bench.show("Suspectra")
    bench.see(f"{SIDEBAR} .monaco-button", "Open Folder", 60)
    assert bench.server() is None
    assert bench.status() == "Suspectra: Suspectra"
