"""What the editor tests share: a recorded project, the command line to compare with, and the editors themselves."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pynvim
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, FrameLocator, Locator, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PlaywrightTimeout

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
MANIFEST = ROOT / "vscode-extension" / "package.json"
TOOLS = ROOT / ".e2e"
ARTIFACTS = ROOT / "artifacts"
SCRIPTS = Path(sys.executable).parent
TIMEOUT_S = 120.0  # seconds: how long something that should happen soon may take on a slow and busy machine
QUICK_S = 10.0  # seconds: after which what a click or a key should have done at once is tried again
POLL_S = 0.02, 0.25  # seconds between two looks at an editor, at first and later; each look takes processor time


def until(happened: Callable[[], object], what: str, patience: float = TIMEOUT_S):
    """Wait for something to become true, and return what it then is."""
    __tracebackhide__ = True  # a failure shows who waited
    return happens(happened, patience) or pytest.fail(f"never happened: {what}")


def happens(done: Callable[[], object], patience: float = QUICK_S, longest_pause: float = POLL_S[1]):
    """Wait for something, by default until it is worth another try, and return what it then is, true or not."""
    deadline = time.monotonic() + patience
    pause = POLL_S[0]
    while not (result := done()) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(1.5 * pause, longest_pause)
    return result


def looked_again(look: Callable[[], object], patience: float = TIMEOUT_S):
    """Look until what is seen is right, as marks come later than the text they belong to; fail as the last look did."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return look()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S[1])


@dataclass(frozen=True)
class Project:
    """A project on disk, looked at through the command line."""

    folder: Path
    tests: tuple[str, ...] = ()

    def suspectra(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [SCRIPTS / "suspectra", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def record(self, *pytest_arguments: str) -> subprocess.CompletedProcess:
        """Record a run, by default of all tests."""
        command = ["pytest", "-q", "-p", "no:cacheprovider", *(pytest_arguments or self.tests)]
        return self.suspectra("record", "--", *command)

    def rank(self, top: int = 20) -> dict:
        done = self.suspectra("rank", "--format", "json", "--top", str(top))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def ranked(self, top: int = 20) -> list[tuple[str, int]]:
        """What an editor lists of what the command line ranks, as (file, line), in the order of a reader.

        That is: function by function, the three best lines of each, then the others. Without the lines that no failing
        test executes: they only fill the table, no editor marks them.
        """
        found = self.rank(1000)
        functions = [(one["file"], one["function"], one["lines"]) for one in found["functions"]]
        leading = [(file, line) for file, _, lines in functions[: top // 4] for line in lines]
        best_first = [(one["file"], one["line"]) for one in found["suspects"] if one["ef"]]
        listed = list(dict.fromkeys(leading + best_first))[:top]
        owners = {(one["file"], one["line"]): (one["file"], one["function"]) for one in found["suspects"]}
        first, others = [], []
        for file, name, _ in functions:
            own = [one for one in best_first if one in listed and owners[one] == (file, name)]
            first += own[:3]
            others += own[3:]
        return first + others

    def uri(self, file: str) -> str:
        return (self.folder / file).as_uri()

    def path(self, uri: str) -> str:
        """The file a URI or an absolute path names."""
        return os.path.relpath(unquote(uri.removeprefix("file://")), self.folder)

    def lines(self, file: str) -> list[str]:
        return (self.folder / file).read_text().split("\n")

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the browser comes last: from its start on an event loop runs, and Neovim's client wants its own.

    Two stories run at a time, each worker in this order, so the longest come first among those.
    """
    items.sort(key=lambda item: ("new_page" in item.fixturenames, item.get_closest_marker("long") is None))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: begins before shorter ones, so that no worker is left alone with it")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Print what was measured, and why tests failed or ran again: last, as of a long log the end is read."""
    yield
    for report in (report for report in terminalreporter.getreports("passed") if report.when == "call"):
        for what, figure in report.user_properties:
            terminalreporter.write_line(f"{what}: {figure}")
    for outcome, said in (("rerun", "again"), ("failed", "failed"), ("error", "failed")):
        for report in terminalreporter.getreports(outcome):
            lines = report.longreprtext.splitlines()
            places = [line for line in lines if re.match(r"tests/\S+:\d+: ", line)]  # that of the test comes first
            reason = [line for line in lines if re.match("E  ", line)] or [line for line in lines if line][-8:]
            terminalreporter.write_line(f"{said}: {report.nodeid} ({report.when})")
            for line in places[:1] + reason[:8]:
                terminalreporter.write_line(f"    {line}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-projects", action="store_true", help="run every project of projects.toml, not CI's alone")
    parser.addoption("--update-pictures", action="store_true", help="take the pictures in docs/pictures anew")
    parser.addoption("--update-clients", action="store_true", help="write tests/fixtures/clients anew")


@pytest.fixture
def make_project() -> Callable[..., Project]:
    """A project of a folder and what of it is to be tested: `make_project(folder, *tests)`."""
    return lambda folder, *tests: Project(folder, tests)


@pytest.fixture
def unpacked(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks the source distribution of a project from PyPI, which is downloaded once: `unpacked(requirement)`."""
    of_worker = tmp_path_factory.getbasetemp()
    downloads = (of_worker.parent if "PYTEST_XDIST_WORKER" in os.environ else of_worker) / "downloads"

    def unpack(requirement: str) -> Path:
        name = requirement.partition("==")[0]
        kept = downloads / f"{requirement}.tar.gz"
        if not kept.exists():
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            command += ["--no-binary", name, "--dest", tmp_path, requirement]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
            downloads.mkdir(exist_ok=True)
            next(tmp_path.glob("*.tar.gz")).rename(kept)
        with tarfile.open(kept) as archive:
            archive.extractall(tmp_path, filter="data")
        return next(tmp_path.glob(f"{name}-*/")).rename(tmp_path / name)  # as a clone is named

    return unpack


def copied(source: Path, folder: Path, *but: str) -> Project:
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache", *but))
    return Project(folder)


@pytest.fixture
def unrecorded(tmp_path: Path) -> Project:
    """The example project, fresh from the repository."""
    return copied(ROOT / "examples" / "ledger", tmp_path / "ledger", ".suspectra")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example project with a recording of its failing tests; not to be changed."""
    project = copied(ROOT / "examples" / "ledger", tmp_path_factory.mktemp("recorded") / "ledger", ".suspectra")
    done = project.record()
    assert done.returncode == 1, done.stdout + done.stderr
    return project


@pytest.fixture
def ledger(recorded: Project, tmp_path: Path) -> Project:
    """A copy of the recorded example project."""
    return copied(recorded.folder, tmp_path / "ledger")


@pytest.fixture
def head() -> str:
    """What is above the function of `broken_shop`."""
    return ""


@pytest.fixture
def broken_shop(tmp_path: Path, head: str) -> Project:
    """A small project with a recording in which a test fails that passed before one line was changed."""
    project = Project(tmp_path / "shop")
    project.folder.mkdir()
    code = "def discount(amount):\n    if amount >= 10:\n        return amount // 10\n    return 0\n"
    project.folder.joinpath("shop.py").write_text(head + code)
    tests = [("ten", 10, 1), ("more", 20, 2), ("less", 5, 0)]
    checks = [f"def test_{name}():\n    assert shop.discount({given}) == {off}\n" for name, given, off in tests]
    project.folder.joinpath("test_shop.py").write_text("\n".join(["import shop\n", *checks]))
    assert project.record().returncode == 0
    project.edit("shop.py", ">=", ">")
    assert project.record().returncode == 1
    return project


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A Python that has nothing: neither Suspectra nor pytest."""
    venv.create(tmp_path / "bare", with_pip=False)
    return str(tmp_path / "bare" / "bin" / "python")


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workbench has a home of its own; pip is to find its settings and what it has downloaded before.

    It must come before `workbench` in the arguments of a test: that hands its environment on.
    """
    reported = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True)
    monkeypatch.setenv("PIP_CACHE_DIR", reported.stdout.strip())
    for file in (Path.home() / ".config" / "pip" / "pip.conf", Path.home() / ".pip" / "pip.conf"):
        if file.exists():
            monkeypatch.setenv("PIP_CONFIG_FILE", str(file))


@pytest.fixture
def wait() -> Callable:
    return until


@pytest.fixture
def look_again() -> Callable:
    return looked_again


def documented(page: str, marker: str) -> str:
    """The block of code in docs/guide/editors that contains `marker`: what is documented is what is tested."""
    text = (ROOT / "docs" / "guide" / "editors" / page).read_text()
    blocks = [part.split("\n", 1)[1] for part in text.split("```")[1::2]]
    return next(block for block in blocks if marker in block)


@pytest.fixture
def snippet() -> Callable[[str, str], str]:
    return documented


@dataclass(frozen=True)
class Neovim:
    """A Neovim without a screen, driven over its own protocol."""

    nvim: pynvim.Nvim

    def start(self, project: Project, file: str, technique: str = "evidence") -> None:
        """Set up as docs/guide/editors/neovim.md says for this version, with a technique, and open a file."""
        minor = self.lua("return vim.version().minor")
        marker = "vim.lsp.config" if minor >= 11 else "vim.lsp.start(" if minor >= 8 else "start_client"
        self.nvim.command(f"cd {project.folder}")
        self.nvim.command("filetype on")
        self.lua(documented("neovim.md", marker).replace("technique = 'evidence'", f"technique = '{technique}'"))
        if minor >= 11:
            self.lua(documented("neovim.md", "vim.keymap.set"))
        self.nvim.command(f"edit {file}")
        until(
            lambda: self.lua("return #(vim.lsp.get_clients or vim.lsp.get_active_clients)() > 0"),
            "a language server runs",
        )

    def show(self, project: Project, file: str) -> list[tuple[str, int]]:
        """Start, and wait until everything that the command line ranks is marked; return that."""
        ranked = project.ranked()
        self.start(project, file)
        until(lambda: self.marked(project) == ranked, "the editor marks what the command line ranks")
        return ranked

    def lua(self, code: str, *arguments):
        return self.nvim.exec_lua(code, *arguments)

    def diagnostics(self) -> list[dict]:
        """Every diagnostic of every file: path, first and last line from 1, and what the server sent with it."""
        return self.lua("""
            local found = {}
            for _, d in ipairs(vim.diagnostic.get(nil)) do
                local lsp = d.user_data and d.user_data.lsp or {}
                table.insert(found, {
                    file = vim.api.nvim_buf_get_name(d.bufnr), line = d.lnum + 1, end_line = d.end_lnum + 1,
                    message = d.message, severity = d.severity, code = d.code or lsp.code, source = d.source,
                    data = lsp.data,
                })
            end
            return found""")

    def marked(self, project: Project) -> list[tuple[str, int]]:
        """What the server lists and signs mark, without what was examined, in the form of `Project.ranked`."""
        if not self.diagnostics():  # no server runs yet
            return []
        listed = self.request("suspectra/suspects", {"limit": 1000})["suspects"]
        return [(project.path(s["uri"].removeprefix("file://")), s["line"]) for s in listed if not s["examined"]]

    def first_marked(self, project: Project) -> list[tuple[str, int]]:
        """The suspects that have a diagnostic."""
        return [(project.path(d["file"]), d["line"]) for d in self.diagnostics() if d.get("data")]

    def request(self, method: str, params: object):
        """Ask the server, and return its result."""
        answer = self.lua(
            """
            local method, params = ...
            for _, client in pairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do
                if client.name == "suspectra" then
                    return client.request_sync(method, params, 30000, 0)
                end
            end""",
            method,
            params,
        )
        assert answer is not None, f"no answer to {method}"
        assert "error" not in answer, answer
        return dict(answer).get("result")  # a result of null makes Lua's table empty

    def command(self, command: str, *arguments):
        """Run one of the server's commands."""
        return self.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})


@contextlib.contextmanager
def started_neovim(program: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Neovim]:
    # the documented set-up starts `suspectra`: the one that is being tested
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}")
    nvim = pynvim.attach("child", argv=[program, "--embed", "--headless", "-u", "NONE", "-i", "NONE", "-n"])
    yield Neovim(nvim)
    nvim.command("silent! lua vim.lsp.stop_client((vim.lsp.get_clients or vim.lsp.get_active_clients)(), true)")
    nvim.close()


@pytest.fixture
def neovim(monkeypatch: pytest.MonkeyPatch) -> Iterator[Neovim]:
    """The Neovim of this machine, which may be old."""
    with started_neovim("nvim", monkeypatch) as neovim:
        yield neovim


@pytest.fixture
def current_neovim(monkeypatch: pytest.MonkeyPatch) -> Iterator[Neovim]:
    """A Neovim of today, which has `vim.lsp.config`."""
    home = TOOLS / "neovim" / "root" / "usr"
    assert (home / "bin" / "nvim").exists(), "There is no Neovim in .e2e. Run: tests/e2e/setup"
    monkeypatch.setenv("VIMRUNTIME", str(home / "share" / "nvim" / "runtime"))
    with started_neovim(str(home / "bin" / "nvim"), monkeypatch) as neovim:
        yield neovim


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as `npm run package` makes it."""
    packages = sorted((ROOT / "vscode-extension").glob("suspectra-*.vsix"), key=lambda path: path.stat().st_mtime)
    assert packages, "There is no .vsix. Run: npm ci && npm run package"
    return packages[-1]


class Picture:
    """A screenshot, to be asked for what it must show: colours in places, the same with the fonts of any machine."""

    def __init__(self, file: Path):
        self.pixels = np.asarray(Image.open(file).convert("RGB")).astype(int)

    def share(self, color: str, box: dict | None = None, ground: str = "#000000") -> float:
        """How much of a box, or of it all, has about this colour, laid over the ground where it has transparency."""
        left, top, right, bottom = corners(box) if box else (0, 0, self.pixels.shape[1], self.pixels.shape[0])
        part = self.pixels[top:bottom, left:right]
        ink, alpha = rgba(color)
        mixed = alpha * ink + (1 - alpha) * rgba(ground)[0]
        return float((abs(part - mixed).max(axis=2) <= (20 if alpha == 1 else 5)).mean())

    def differs_from(self, other: Picture) -> float:
        """How much of it, looked at from afar, differs from another one of the same size."""
        assert self.pixels.shape == other.pixels.shape
        return float((abs(self._blurred() - other._blurred()).max(axis=2) > 32).mean())

    def _blurred(self, cell: int = 40) -> np.ndarray:
        rows, columns = (size // cell for size in self.pixels.shape[:2])
        cells = self.pixels[: rows * cell, : columns * cell].reshape(rows, cell, columns, cell, 3)
        return cells.mean(axis=(1, 3))


def corners(box: dict) -> tuple[int, int, int, int]:
    return tuple(round(number) for number in (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]))


def rgba(color: str) -> tuple[np.ndarray, float]:
    """A colour written as #rrggbb or #rrggbbaa, or as a style says it, and how opaque it is."""
    if color.startswith("#"):
        *parts, alpha = bytes.fromhex(color[1:] + ("" if color[7:] else "ff"))
        return np.array(parts), alpha / 255
    parts = [float(part) for part in re.findall(r"[\d.]+", color)]
    return np.array(parts[:3]), parts[3] if parts[3:] else 1.0


@pytest.fixture
def look() -> Callable[[Path], Picture]:
    """Looks at a screenshot."""
    return Picture


@pytest.fixture(scope="session")
def palette() -> Callable[[str], dict[str, str]]:
    """What the extension declares its colours to be in a kind of theme: dark, light, highContrast…"""
    colors = json.loads(MANIFEST.read_text())["contributes"]["colors"]
    return lambda kind: {color["id"].removeprefix("suspectra."): color["defaults"][kind] for color in colors}


@pytest.fixture
def document(request: pytest.FixtureRequest, palette) -> Callable[..., Picture]:
    """Takes a picture for the docs: `document(bench, name, kind of theme)`.

    With `--update-pictures` it is kept. Without, the one that is kept must show the same: from afar, and in the colours
    of the heat maps at the edges of the text.
    """

    update = request.config.getoption("--update-pictures")

    def keep(taken: Path, name: str) -> None:
        # a palette keeps it small; what is drawn in few pixels must keep its colours too
        small = Image.open(taken).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, 2, dither=Image.Dither.NONE)
        small.save(PICTURES / name, optimize=True)

    def compare(bench: Workbench, name: str, kind: str) -> Picture:
        taken = bench.picture(name.removesuffix(".png"), still=True, kept=update)
        assert bench.toasts() == []
        picture, kept = Picture(taken), Picture(taken if update else PICTURES / name)
        assert picture.differs_from(kept) < 0.2, f"docs/pictures/{name} is out of date: run with --update-pictures"
        for place, box in bench.heat_maps().items():
            for heat in (3, 5):
                shares = [each.share(palette(kind)[f"heat{heat}"], box) for each in (picture, kept)]
                both = f"heat {heat} in the {place}: {shares} now and in docs"
                assert max(shares) < 3 * min(shares) + 0.001, both
                # the only mark of its colour in the ruler may be below that of the cursor
                assert heat < 5 or place == "ruler" or max(shares) > 0.001, both
        if update:
            keep(taken, name)
        return picture

    def take(bench: Workbench, name: str, kind: str = "light") -> Picture:
        return looked_again(lambda: compare(bench, name, kind))

    return take


class Film:
    """The moving picture on the extension's page, of what is on the screen at some moments of a story."""

    KEPT = ROOT / "vscode-extension" / "media" / "day.gif"
    WIDTH = 1040

    def __init__(self, update: bool):
        self._update = update
        self._frames: list[tuple[Image.Image, float]] = []

    def take(self, bench: Workbench, seconds: float) -> None:
        """Show this for some seconds."""
        frame = bench.picture(f"film-{len(self._frames)}", still=self._update, kept=self._update)
        taken = Image.open(frame).convert("RGB")
        size = self.WIDTH, taken.height * self.WIDTH // taken.width
        self._frames.append((taken.resize(size, Image.Resampling.LANCZOS), seconds))

    def end(self) -> None:
        """Keep it if pictures are taken anew; else the one that is kept must tell the same story."""
        if self._update:
            first, *others = [
                frame.quantize(128, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE) for frame, _ in self._frames
            ]
            lengths = [round(1000 * seconds) for _, seconds in self._frames]
            first.save(self.KEPT, save_all=True, append_images=others, duration=lengths, loop=0, optimize=True)
        with Image.open(self.KEPT) as kept:
            again = f"{self.KEPT.name} is out of date: run with --update-pictures"
            assert (kept.n_frames, kept.size) == (len(self._frames), self._frames[0][0].size), again
        assert self.KEPT.stat().st_size < 1_500_000, "it takes long to load"


@pytest.fixture
def film(request: pytest.FixtureRequest) -> Film:
    return Film(request.config.getoption("--update-pictures"))


STATUS = "#suspectra\\.suspectra\\.status"
SIDEBAR = "#workbench\\.parts\\.sidebar"
ROWS = f"{SIDEBAR} .monaco-list-row"


class Workbench:
    """A real VS Code workbench in a browser, with the extension installed."""

    def __init__(self, page: Page, name: str, home: Path):
        self.page = page
        self.name = name
        self.home = home

    def picture(self, name: str, *, still: bool = False, kept: bool = False) -> Path:
        """Take what is on the screen; `still` is without what comes with the mouse, `kept` once all is drawn."""
        if still:
            self.page.mouse.move(self.page.viewport_size["width"] / 2, self.page.viewport_size["height"] - 4)
            with contextlib.suppress(PlaywrightTimeout):  # where it stays it belongs there
                self.page.locator(".editor-instance .scrollbar.visible").first.wait_for(state="hidden", timeout=2000)
        if kept:
            self.page.wait_for_timeout(1000)
        path = ARTIFACTS / f"vscode-{self.name}-{name}.png"
        self.page.screenshot(path=path, caret="hide", animations="disabled")
        return path

    def heat_maps(self) -> dict[str, dict]:
        """Where the marks of a text are, as the page says: sizes differ with the fonts of a machine."""
        if self.visible(".monaco-diff-editor").count():  # of which neither text is one with marks
            return {}
        editor, gutter, ruler = (
            self.see(f".editor-instance {part}").bounding_box()
            for part in (".monaco-editor", ".glyph-margin", ".decorationsOverviewRuler")
        )
        return {"gutter": {**gutter, "y": editor["y"], "height": editor["height"]}, "ruler": ruler}

    def at_ends_of_lines(self) -> list[str]:
        """What decorations say after the text of lines."""
        return self.page.evaluate(
            "() => [...document.querySelectorAll('.editor-instance .view-line span')]"
            ".map((part) => getComputedStyle(part, '::after').content).filter((said) => said !== 'none')"
        )

    def color(self, name: str) -> str:
        """A colour of the theme."""
        variable = "--vscode-" + name.replace(".", "-")
        script = "name => getComputedStyle(document.querySelector('.monaco-workbench')).getPropertyValue(name)"
        return self.page.evaluate(script, variable)

    def drag(self, x: float, to: float) -> None:
        """Drag the border between two parts of the window."""
        self.page.mouse.move(x, 300)
        self.page.mouse.down()
        self.page.mouse.move(to, 300, steps=5)
        self.page.mouse.up()

    def see(self, selector: str, text: str | re.Pattern[str] | None = None, patience: float = TIMEOUT_S) -> Locator:
        """Wait for something to be visible."""
        found = self.visible(selector, text).first
        found.wait_for(timeout=patience * 1000)
        return found

    def visible(self, selector: str, text: str | re.Pattern[str] | None = None) -> Locator:
        """What is visible of something, which may be nothing."""
        return self.page.locator(selector, has_text=text).filter(visible=True)

    def shows(self, selector: str, text: str) -> bool:
        """Whether something with a text is visible now."""
        return self.visible(selector, text).count() > 0

    def command(self, title: str, done: Callable[[], object] | None = None) -> None:
        """Give a command of the palette, which closes when something else takes the focus.

        What may happen twice says whether it is done, so that a command that was lost is repeated, too.
        """

        def given() -> bool:
            self.page.keyboard.press("F1")
            with contextlib.suppress(PlaywrightTimeout):
                self.pick(title, prefix=">", patience=QUICK_S)
                return done is None or bool(happens(done))
            self.press("Escape")  # a list that stays open is not made again, so what it lacks it lacks for ever
            return False

        until(given, f"the command {title}")

    def open(self, file: str, line: int | None = None) -> None:
        self.page.keyboard.press("Control+P")
        self.fill(f"{file}:{line}" if line else file)
        self.see(".quick-input-list .monaco-list-row", file).click()
        if line:
            until(lambda: self.cursor() == (file, line), f"line {line} of {file} is open")

    def fill(self, text: str, patience: float = TIMEOUT_S) -> None:
        """Write into the list of choices that opens or is open; typed keys could go astray before it has the focus."""
        self.see(".quick-input-widget .quick-input-box input", patience=patience).fill(text, timeout=patience * 1000)

    def pick(self, text: str, prefix: str = "", patience: float = TIMEOUT_S) -> None:
        """Choose from the list of choices that opens or is open."""
        self.fill(prefix + text, patience)
        self.see(".quick-input-list .monaco-list-row", text, patience).click(timeout=patience * 1000)

    def experiment(self, title: str) -> None:
        """Choose what to find out from the list that the lens of the failing test opens."""
        lens = self.visible(".codelens-decoration a", "Why Does It Fail? ▾")
        listed = self.visible(".quick-input-list .monaco-list-row", title)

        def opened() -> bool:  # a lens that is drawn anew takes no click
            with contextlib.suppress(PlaywrightTimeout):
                lens.first.click(timeout=QUICK_S * 1000)
                listed.first.wait_for(timeout=QUICK_S * 1000)
            return listed.count() > 0

        until(opened, "the list of experiments")
        self.pick(title)

    def agree(self) -> None:
        """Allow altered runs, in the dialogue that asks."""
        self.see(".monaco-dialog-box", "with wrong values and with checks skipped")
        self.see(".monaco-dialog-box .monaco-button", "Run Altered Tests").click()

    def choose_in_view(self, *titles: str) -> None:
        """Choose from the menu … of the view in the side bar, again where that was still opening."""
        more = self.visible(
            f"{SIDEBAR} .title-actions .codicon-toolbar-more, {SIDEBAR} .pane-header .codicon-toolbar-more"
        )

        menu = self.visible(".monaco-menu")

        *above, last = (self.visible(".monaco-menu .action-label", title).last for title in titles)

        def chosen() -> bool:
            with contextlib.suppress(PlaywrightTimeout):
                if not menu.count():
                    more.first.click(timeout=QUICK_S * 1000)
                for item in above:
                    item.hover(timeout=QUICK_S * 1000)  # a click would close the menu below that this opens
                for _ in range(3):  # one that was just opening takes no click
                    last.click(timeout=QUICK_S * 1000)
                    if happens(lambda: not menu.count(), 2):
                        return True
            for _ in titles:
                self.press("Escape")
            return False

        until(chosen, f"{' → '.join(titles)} is chosen")

    def show(self, view: str) -> None:
        """Open a view of the activity bar. A badge may come to lie over its button, or take a click away."""
        label = f".action-label[aria-label^='{view}']"
        button = self.see(f".activitybar {label}")
        chosen = self.page.locator(f".activitybar .action-item.checked {label}")

        def shown() -> bool:
            if not chosen.count():
                button.click(force=True)
                with contextlib.suppress(PlaywrightTimeout):
                    chosen.wait_for(timeout=QUICK_S * 1000)
            return chosen.count() > 0

        until(shown, f"the view {view} is open")

    def act(self, row: Locator, action: str, done: Callable[[], object] | None = None) -> None:
        """Press the button of a row that is there under the mouse, again where the row was drawn anew meanwhile.

        What may happen twice says whether it is done, so that a click that was lost is repeated, too.
        """
        button = row.locator(f".action-label[aria-label*='{action}']").first
        choices = self.visible(".quick-input-widget")

        def pressed() -> bool:
            with contextlib.suppress(PlaywrightTimeout):
                if done and choices.count():  # the row was drawn anew under the click, so the command asks which one
                    self.press("Escape")
                self.page.mouse.move(0, 0)  # what is told of another row may lie over this one
                row.hover(timeout=QUICK_S * 1000)
                button.click(timeout=QUICK_S * 1000)
                return done is None or happens(done)
            return done is not None and bool(done())

        until(pressed, f"{action!r} is pressed")

    def choose(self, row: Locator, action: str, done: Callable[[], object]) -> None:
        """Choose from the menu of a row, again where that was still opening, which loses the click."""
        item = self.visible(".monaco-menu .action-label", action).first

        def chosen() -> bool:
            with contextlib.suppress(PlaywrightTimeout):
                if not item.is_visible():
                    row.click(button="right", timeout=QUICK_S * 1000)
                item.click(timeout=QUICK_S * 1000)
            return bool(happens(done))

        until(chosen, f"{action!r} is chosen")

    def seconds_to(self, key: str, done: Callable[[], object]) -> float:
        """Press a key, again where it was lost, and return how long what it does takes."""
        took = 0.0

        def pressed() -> bool:
            nonlocal took
            began = time.perf_counter()
            self.press(key)
            there = bool(happens(done, longest_pause=POLL_S[0]))
            took = time.perf_counter() - began
            return there

        until(pressed, f"what {key} does")
        return took

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def configure(self, *, reload: bool = True, **settings: object) -> None:
        """Change settings, and load the window again with them unless told otherwise; `_` stands for a dot.

        A window reads the file of the machine again when it changes, the user's only when it is loaded.
        """
        chosen = {name.replace("_", "."): value for name, value in settings.items()}
        set_settings(self.home / "data", chosen, only_machine=not reload)
        if reload:
            self.page.reload()

    def choices(self) -> list[str]:
        """What the open list of choices offers, as a screen reader reads it."""
        return self._spoken(".quick-input-list .monaco-list-row")

    def rows(self) -> list[str]:
        """The rows of the views in the side bar, as a screen reader reads them."""
        return self._spoken(ROWS)

    def suspects(self) -> list[str]:
        """The rows of suspects in the Suspects view, as a screen reader reads them."""
        return [row for row in self.rows() if row.startswith("Rank ")]

    @property
    def ranked(self) -> Locator:
        """The rows of suspects in the Suspects view."""
        return self.page.locator(f"{ROWS}[aria-label^='Rank ']")

    def unfold(self, text: str) -> Locator:
        """Open a row of the side bar, so that those below it are listed."""
        row = self.see(ROWS, text)

        def opened() -> bool:  # a row that is drawn anew takes no click, and a second click would close it
            with contextlib.suppress(PlaywrightTimeout):
                if row.get_attribute("aria-expanded", timeout=QUICK_S * 1000) == "false":
                    row.locator(".monaco-tl-twistie").click(timeout=QUICK_S * 1000)
                return happens(lambda: row.get_attribute("aria-expanded", timeout=QUICK_S * 1000) == "true")
            return False

        until(opened, f"{text!r} is open")
        return row

    def open_suspect(self, function: str, line: int) -> None:
        """Open a line of a function that has several suspects by its row in the Suspects view."""
        self.unfold(f"{function.rpartition('.')[2]}:")
        row = self.page.locator(f"{ROWS}[aria-label*=', line {line},']").first
        if not happens(row.is_visible):
            self.unfold("more line")

        def opened() -> bool:
            with contextlib.suppress(PlaywrightTimeout):
                row.click(timeout=QUICK_S * 1000)
                return happens(lambda: self.cursor()[1] == line)
            return False

        until(opened, f"line {line} is open")

    def _spoken(self, rows: str) -> list[str]:
        # all at once, since rows come and go
        return self.page.locator(rows).evaluate_all("rows => rows.map(row => row.getAttribute('aria-label') ?? '')")

    def status(self) -> str:
        return self.page.locator(STATUS).get_attribute("aria-label") or ""

    def status_menu(self) -> list[str]:
        """Click on the status item, and see what it offers."""
        self.page.locator(STATUS).click()
        self.see(".quick-input-title", "Suspectra")
        return until(self.choices, "the menu of the status item")

    def explanation(self) -> FrameLocator:
        """The inside of the panel that explains a suspect."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    def code(self) -> str:
        """The visible text of the active editor."""
        return self.page.locator(".editor-instance .view-lines").first.inner_text().replace("\xa0", " ")

    def toasts(self) -> list[str]:
        """What popped up."""
        return self.page.locator(".notifications-toasts .notification-list-item-message").all_inner_texts()

    def hover_at_cursor(self, text: str) -> None:
        """Ask for the hover of the editor with the mouse out of the way."""
        self.page.mouse.move(700, 5)
        hover = self.visible(".monaco-hover", text)

        def shown() -> bool:  # an answer that takes long is not waited for by the editor once something else moves
            self.see(".editor-instance .monaco-editor.focused")
            self.press("Control+K", "Control+I")
            with contextlib.suppress(PlaywrightTimeout):
                hover.first.wait_for(timeout=QUICK_S * 1000)
            return hover.count() > 0

        until(shown, f"a hover with {text!r}")

    def server(self) -> int | None:
        """The process of the language server."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                ours = f"\0HOME={self.home}\0".encode() in b"\0" + (process / "environ").read_bytes()
                if ours and b"suspectra_server" in (process / "cmdline").read_bytes():
                    return int(process.name)
        return None

    def cursor(self) -> tuple[str, int]:
        """The title of the active editor, and the line the cursor is on."""
        title = self.page.locator(".tabs-container .tab.active").first.get_attribute("data-resource-name") or ""
        place = self.page.locator("#status\\.editor\\.selection").inner_text()
        return title, int(place.removeprefix("Ln ").split(",")[0])


# What is not being tested is kept off the screen, and nothing moves: each frame costs processor time.
SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.layoutControl.enabled": False,
    "window.commandCenter": False,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "chat.disableAIFeatures": True,
    "workbench.reduceMotion": "on",
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "editor.accessibilitySupport": "off",
    "git.enabled": False,
    "remote.autoForwardPorts": False,  # other programs of this machine open ports
    "files.autoSave": "off",  # the default of the web would write typed edits back
    "suspectra.run": "manual",  # chosen, so that it is not offered in front of what is tested
}


def set_settings(data: Path, chosen: dict[str, object], *, only_machine: bool = False) -> None:
    """Write settings to the files they are read from.

    Which Python there is, and what is personal, is a matter of the machine; the rest is the user's. In a user's file,
    VS Code reads the first kind only until it knows which kind it is, which is by chance.
    """
    sections = json.loads(MANIFEST.read_text())["contributes"]["configuration"]
    scopes = {name: setting.get("scope", "") for section in sections for name, setting in section["properties"].items()}
    machine = {name for name in chosen if only_machine or scopes.get(name, "").startswith("machine")}
    for kind, names in (("Machine", machine), ("User", chosen.keys() - machine)):
        path = data / kind / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **{name: chosen[name] for name in names}}))


# Also what the workbench moves all the same, such as the bars of progress
STILL = """addEventListener("DOMContentLoaded", () => {
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { animation: none !important; transition: none !important; }";
    document.head.append(style);
});"""


CODE_SERVER = (str(TOOLS / "node24/bin/node"), str(TOOLS / "code-server/node_modules/code-server/out/node/entry.js"))


@pytest.fixture(scope="session")
def extensions(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of extensions, with this one installed from its .vsix."""
    home = tmp_path_factory.mktemp("installed")
    command = [*CODE_SERVER, "--config", str(home / "config.yaml"), "--user-data-dir", str(home / "data")]
    command += ["--extensions-dir", str(home / "extensions"), "--install-extension", str(vsix)]
    done = subprocess.run(command, env={**os.environ, "HOME": str(home)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "extensions"


@pytest.fixture(scope="session")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, dict, str], Path]:
    """Copies a folder of extensions, with one more of a manifest and a program: `extended(folder, manifest, main)`."""

    def extend(extensions: Path, manifest: dict, main: str) -> Path:
        folder = tmp_path_factory.mktemp(manifest["name"]) / "extensions"
        shutil.copytree(extensions, folder, ignore=shutil.ignore_patterns("extensions.json"))  # VS Code looks itself
        source = folder / f"{manifest['publisher']}.{manifest['name']}-1.0.0"
        source.mkdir()
        (source / "package.json").write_text(
            json.dumps({"version": "1.0.0", "engines": {"vscode": "^1.96.0"}, "main": "./main.js", **manifest})
        )
        (source / "main.js").write_text(main)
        return folder

    return extend


@pytest.fixture(scope="session")
def new_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int, int], Page]]:
    """Opens a page of a width and a height in Chromium: `new_page(1300, 860)`.

    One browser for all tests, and another one if that is lost. Its profile is on disk, so that what it has fetched and
    compiled for one test it has for the next.
    """
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--force-color-profile=srgb"]
    started: list[BrowserContext] = []

    def launch() -> Page:
        profile = tmp_path_factory.mktemp("profile")
        path = shutil.which("chromium-headless-shell")
        started.append(playwright.chromium.launch_persistent_context(profile, executable_path=path, args=arguments))
        started[-1].add_init_script(STILL)
        return started[-1].new_page()

    def open_page(width: int, height: int) -> Page:
        try:
            page = started[-1].new_page()
        except (IndexError, PlaywrightError):  # there is none yet, or none any more
            page = launch()
        page.set_viewport_size({"width": width, "height": height})
        return page

    with sync_playwright() as playwright:
        yield open_page
        for each in started:
            each.close()


def forget(page: Page, origin: str) -> None:
    """Forget what tests before this one stored in the browser, but for what was only fetched."""
    kinds = "cookies,file_systems,indexeddb,local_storage,websql,service_workers,cache_storage"
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": kinds})


@pytest.fixture
def workbench(
    extensions: Path,
    new_page: Callable[[int, int], Page],
    port: int,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., Workbench]]:
    """Opens a folder, or a file .code-workspace, in VS Code: `workbench(folder, settings)`."""
    origin = f"http://127.0.0.1:{port}"
    home = tmp_path / "home"
    data = home / "data"
    name = request.node.name.removeprefix("test_").replace("_", "-")
    if (attempt := getattr(request.node, "execution_count", 1)) > 1:  # what the attempt before it left is kept
        name += f"-{attempt}"
    code_server = [
        *CODE_SERVER,
        *("--config", str(home / "config.yaml")),
        *("--user-data-dir", str(data)),
        *("--extensions-dir", str(extensions)),
    ]
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "EXTENSIONS_GALLERY": "{}",  # no marketplace
        "NODE_COMPILE_CACHE": str(tmp_path_factory.getbasetemp() / "compiled"),  # for the windows after this one
    }
    started = []

    def start(folder: Path, settings: dict | None = None, *, interpreter=None, trusted: bool = True) -> Workbench:
        set_settings(data, {"suspectra.interpreter": interpreter or [sys.executable], **SETTINGS, **(settings or {})})
        (home / "config.yaml").write_text(f"bind-addr: 127.0.0.1:{port}\nauth: none\ncert: false\n")
        log = (ARTIFACTS / f"vscode-{name}.log").open("w")
        options = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
        options += ["--disable-workspace-trust"] * trusted
        until(lambda: not answers(port), "the workbench of the test before has ended")
        server = subprocess.Popen(
            [*code_server, *options, str(folder)], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        started.append(server)
        until(lambda: answers(port), "code-server answers")
        page = new_page(1400, 860)
        page.set_default_timeout(TIMEOUT_S * 1000)
        bench = Workbench(page, name, home)
        opened.append(bench)
        forget(page, origin)
        kind = "workspace" if folder.suffix == ".code-workspace" else "folder"
        page.goto(f"{origin}/?{kind}={folder}")
        bench.see(".monaco-workbench .statusbar-item", patience=90)
        return bench

    opened: list[Workbench] = []
    ARTIFACTS.mkdir(exist_ok=True)
    yield start
    for bench in opened:
        with contextlib.suppress(PlaywrightError):  # its browser may be lost
            bench.picture("end")
            bench.page.close()
    for server in started:
        os.killpg(server.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(5)
        with contextlib.suppress(ProcessLookupError):  # what is left of it would answer the next window
            os.killpg(server.pid, signal.SIGKILL)
    if (data / "logs").exists():
        shutil.copytree(data / "logs", ARTIFACTS / f"vscode-{name}-logs", dirs_exist_ok=True)


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    """Where every workbench answers: always the same, as the browser keeps by it what it has fetched.

    The next port is taken all the time, so that no other run chooses the same one while there is no workbench. A system
    gives out neither by itself.
    """
    for port in range(18_200, 18_400, 2):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port + 1)):
            socket.create_server(("127.0.0.1", port)).close()
            yield port
            return


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True
