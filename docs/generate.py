"""Write what follows from the code: the reference of settings, options, protocol, techniques and API; of the VS Code
extension the settings and commands in its manifest, and the types of messages.

``python docs/generate.py`` writes them; a test fails when one is out of date.
"""

# ruff: noqa: E501 (paragraphs of Markdown)

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from api_page import api_page
from protocol_page import protocol_page
from tables import code, table
from typescript import protocol_module

from suspectra import __version__
from suspectra.base.technique_info import Need, TechniqueInfo
from suspectra.techniques import technique_infos
from suspectra_recorder.options import OPTIONS, SUSPECTS, Option
from suspectra_server import vscode_manifest
from suspectra_server.settings import ADVANCED, EXPERIMENTS, GENERAL, SECTION, SETTINGS, Setting

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "vscode-extension" / "package.json"
TYPESCRIPT = ROOT / "vscode-extension" / "src" / "protocol.ts"
TEXTS = ROOT / "vscode-extension" / "package.nls.json"
LOCK = ROOT / "package-lock.json"
PROJECT = ROOT / "pyproject.toml"
DOCS = ROOT / "docs"
RECORDING = DOCS / "guide" / "recording.md"
NOTE = "<!-- Written by docs/generate.py from the code. Change it there. -->\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page that is committed: its path, and its text."""
    yield MANIFEST, manifest()
    yield TEXTS, manifest_texts()
    yield TYPESCRIPT, protocol_module()
    yield LOCK, lock()
    yield PROJECT, project()
    yield RECORDING, recording_page()
    yield DOCS / "reference" / "settings.md", settings_page()
    yield DOCS / "reference" / "lsp-extensions.md", f"{NOTE}\n{protocol_page()}"
    yield DOCS / "background" / "techniques.md", techniques_page()
    techniques = ROOT / "server" / "suspectra_server" / "docs" / "techniques"
    for info in technique_infos():
        yield techniques / f"{info.name}.md", technique_page(info)


def built_pages() -> Iterator[tuple[Path, str]]:
    """Every generated page that git ignores: the reference of the library, which follows from its docstrings."""
    yield ROOT / "dist" / "api.md", f"{NOTE}\n{api_page()}"


def manifest() -> str:
    """The extension's manifest, with the settings and commands as they are declared."""
    package = json.loads(MANIFEST.read_text("utf-8"))
    package["version"] = __version__
    package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = vscode_manifest.restricted()
    package["contributes"]["commands"] = vscode_manifest.commands()
    package["contributes"]["configuration"] = vscode_manifest.configuration()
    package["contributes"]["languageModelTools"] = vscode_manifest.language_model_tools()
    return _json(package)


def manifest_texts() -> str:
    """The texts of the manifest: those written by hand, and those that are declared."""
    texts = json.loads(TEXTS.read_text("utf-8"))
    declared = ("command.", "setting.", "configuration.", "tool.")
    by_hand = {key: text for key, text in texts.items() if not key.startswith(declared)}
    return _json(by_hand | vscode_manifest.texts())


def lock() -> str:
    """The exact versions of packages from npm, with the version of the extension."""
    packages = json.loads(LOCK.read_text("utf-8"))
    packages["packages"]["vscode-extension"]["version"] = __version__
    return _json(packages)


def project() -> str:
    """The settings of the Python project, which needs the recorder of its own version."""
    return re.sub(r"(?<=\"pytest-suspectra==)[^\"]+", __version__, PROJECT.read_text("utf-8"))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def recording_page() -> str:
    """The page about recording, with the table of its options."""
    begin, end = "<!-- Options: written by docs/generate.py -->\n", "<!-- End of the options -->"
    before, _, rest = RECORDING.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    rows = [(f"`{_record_flag(o)}`", f"`{_pytest_flag(o)}`", f"`{_ini(o)}`", _effect(o)) for o in (*OPTIONS, SUSPECTS)]
    options = table(("`suspectra record`", "pytest", "ini value", "effect"), rows)
    return f"{before}{begin}\n{options}\n\n{end}{after}"


def _record_flag(option: Option) -> str:
    return f"--{'no-' if option.default is True else ''}{option.word}{_value(option)}"


def _pytest_flag(option: Option) -> str:
    return f"{option.pytest_flag}{_value(option)}"


def _value(option: Option) -> str:
    return "" if isinstance(option.default, bool) else " NAME"


def _ini(option: Option) -> str:
    return option.ini_name + (f" = {json.dumps(not option.default)}" if isinstance(option.default, bool) else "")


def _effect(option: Option) -> str:
    values = "; ".join(f"`{value}`: {text[0].lower()}{text[1:-1]}" for value, text in option.values.items())
    text = option.negative or option.help
    return f"{text} {values}. The default is `{option.default}`." if values else text


def settings_page() -> str:
    """The settings of the server."""
    return f"""{NOTE}
# Settings

The client gives these settings to the server: in `initializationOptions` when the server starts, and in the section `suspectra`
of `workspace/configuration`. The server asks for that section, for each workspace folder, whenever the client says that settings
have changed. A client that does not support these requests can send the settings with `workspace/didChangeConfiguration`.
Settings can change while the server runs. If a value is not valid, one message names it, and the default is used.

{_settings(setting for setting in SETTINGS if setting.heading == GENERAL)}

`initializationOptions` may also contain `trusted`. With `false` the server runs no tests, and ignores settings that name files or
programs. Over a [socket](security.md#sockets) they must contain the `token`, and the workspace is not trusted unless the server was
started with `--trusted`.

## {EXPERIMENTS}

What [experiments](../guide/experiments.md) may do. Each switch, and the list of markers, is also an option of `suspectra investigate`:

{_settings(setting for setting in SETTINGS if setting.heading == EXPERIMENTS)}

## {ADVANCED}

The parameters of the [debugging model](../background/markov.md):

{_settings(setting for setting in SETTINGS if setting.heading == ADVANCED)}

## Only in the VS Code extension

{_settings(vscode_manifest.EXTENSION_SETTINGS)}
"""


def _settings(settings: Iterable[Setting]) -> str:
    """A table of settings."""
    rows = [
        (
            f"`{SECTION}.{s.name}`",
            code(s.type),
            code(json.dumps(s.default)),
            re.sub(r"#(suspectra\.\w+)#", r"\1", s.text),
        )
        for s in settings
    ]
    return table(("setting", "type", "default", "what it does"), rows)


NEEDS = {
    Need.LINES: "which lines each test executes: any recording, or coverage.py data with contexts",
    Need.EDGES: "which branches each test takes: any recording (`suspectra record`), or coverage.py data with contexts measured\n"
    "with `--branch`",
    Need.COUNTS: "how often each test takes a branch: a recording made with `suspectra record --counts`",
    Need.VALUES: "how values compare in some tests: `suspectra investigate --technique value-predicates`; without it, only\n"
    "lines are used",
    Need.EXPERIMENTS: "how failing tests end when something is altered: `suspectra investigate`; without it, only lines are used",
    Need.DEPENDENCES: "what failures depend on: `suspectra slice --failure`; without it, only lines are used",
    Need.PATHS: "where failing tests and runs that pass part: `suspectra paths`; without it, only lines are used",
}


# What a formula makes of its counts, as far as it follows from the algebra; by name, else by the group it belongs to.
MAKES = {
    "ER1": "A line that some failing test misses comes after every line that all of them execute.",
    "ER2": "A failing test that misses the line counts against it as much as a passing test that executes it.",
    "ER3": "Only the share of failing tests among those that execute the line counts; how many failing tests miss it does not matter. "
    "A line that only one failing test executes, and no other test, is at the top.",
    "ER4": "It orders lines by `ef - ep`: a passing test that executes the line weighs as much as a failing one. If there are many passing tests, "
    "code that every test needs is ranked last, whether it is at fault or not.",
    "ER5": "Passing tests don't count at all, so ties are large.",
    "ER6": "It measures how far execution and failure agree beyond chance.",
    "binary": "A line is suspected only if all failing tests execute it, so there are only two ties.",
    "ample": "The difference between the shares of failing and of passing tests that execute the line, without its sign: a line that only passing "
    "tests execute is as suspicious as one that only failing tests execute.",
    "ample2": "The share of the failing tests that execute the line, minus that of the passing tests.",
    "arithmetic-mean": "The covariance of executing the line and failing, over the arithmetic mean of their variances.",
    "cohen": "Kappa, the usual measure of agreement beyond chance, between executing the line and failing.",
    "fleiss": "Like [Scott](scott.md), but not divided by how much agreement is possible.",
    "kulczynski1": "A failing test that misses the line counts as much against it as a passing test that executes it, so the order is that of "
    "[Jaccard](jaccard.md).",
    "kulczynski2": "The mean of two shares: how many of the failing tests execute the line, and how many of the tests that execute it fail.",
    "m1": "Tests that agree (executed and failed, or neither) divided by those that don't. The number of all tests is the same for every line, so the order is that of "
    "[Hamming](hamming.md).",
    "m2": "Like [Jaccard](jaccard.md), but tests that disagree count twice, and passing tests that miss the line count a little.",
    "ochiai": "The geometric mean of two shares: how many of the failing tests execute the line, and how many of the tests that execute it fail.",
    "wong3": "Like [Wong2](wong2.md), but the more passing tests execute the line, the less one more of them counts.",
    "dstar": "Like [Jaccard](jaccard.md), but the higher the exponent, the more failing tests count. The exponent is 2 by default.",
    "barinel": "The share of failing tests among those that execute the line, as in [SBI](sbi.md).",
    "zoltar": "Like [Jaccard](jaccard.md), but a line that some failing tests miss and some passing tests execute gets a score close to zero.",
    "ochiai2": "Like [Ochiai](ochiai.md), with the same two shares of passing tests that miss the line as further factors.",
    "overlap": "Infinite for each line that all failing tests execute, or that only failing tests execute, so ties are large.",
    "harmonic-mean": "The covariance of executing the line and failing, over the harmonic mean of their variances.",
    "geometric-mean": "The correlation between executing the line and failing: their covariance over the geometric mean of their variances.",
    "rogot2": "The mean of four shares: how well execution predicts failure and failure execution, and how well the absence of one predicts the absence of the other.",
    "crosstab": "How certain it is, by the χ² test, that execution and failure are related, with the sign of the relation.",
    "gp13": "The number of failing tests that execute the line; passing tests only order lines with the same number.",
    "f1": "The harmonic mean of two shares: how many of the failing tests execute the line, and how many of the tests that execute it fail. "
    "The order is that of [Jaccard](jaccard.md).",
    "relative-f1": "[F1](f1.md), minus what it would be if failure had nothing to do with the line.",
    "relative-ochiai": "[Ochiai](ochiai.md), minus what it would be if failure had nothing to do with the line.",
    "relative-jaccard": "[Jaccard](jaccard.md), minus the share of all tests that fail. That share is the same for every line, so the order is that of Jaccard.",
}
SAME_ONLY_AT_THE_TOP = ("ER1", "ER5")  # the other groups give the same order throughout
LITERATURE = json.loads((DOCS / "literature.json").read_text("utf-8"))


def _published(info: TechniqueInfo) -> str:
    """Where a technique was published, in full."""
    return "; ".join(LITERATURE[paper] for part in info.paper.split("; ") for paper in part.split(", after "))


def techniques_page() -> str:
    """All techniques: those with a reason to choose them, then the others."""
    pages = "../../server/suspectra_server/docs/techniques"
    rows = [
        ((f"[{i.title}]({pages}/{i.name}.md)", f"`{i.name}`", _needs(i)), i.advice, i.paper) for i in technique_infos()
    ]
    advised = [(*names, advice, paper) for names, advice, paper in rows if advice]
    others = [(*names, paper) for names, advice, paper in rows if not advice]
    needs = "\n".join(f"- **{need.value}**: {text.replace(chr(10), ' ')}." for need, text in NEEDS.items())
    return f"""{NOTE}
# Techniques

Each technique has a page of its own, to which its marks in the editor link. The page says what the technique does with the evidence, when to
use it, what it needs, and who published it. If you have no reason to choose another, keep All evidence. To try one, use
`suspectra rank --technique NAME`, or *Select Technique…* in the editor.

These are the kinds of evidence that techniques need; in brackets are those that a technique uses if they are available:

{needs}

## To choose from

{table(("technique", "name", "needs", "when to use it", "published by"), advised)}

## To compare with

Other studies use these. They are formulas over the same four counts as Ochiai.

{table(("technique", "name", "needs", "published by"), others)}
"""


def technique_page(info: TechniqueInfo) -> str:
    """One technique: the page that diagnostics link to."""
    same = [other for other in technique_infos() if info.group and other.group == info.group and other is not info]
    counts = (
        "A statement's score is computed from four counts: of the failing tests, `ef` execute it and `nf` do not; of the\n"
        "passing tests, `ep` execute it and `np` do not. `F` and `P` are all failing and all passing tests."
    )
    order = (
        "Only the order of the scores has a meaning. Statements with the same score are tied, and the tie's ranks are\n"
        "shown as a range."
    )
    if info.name == "evidence":
        order = (
            "The score that is shown is D + S + w C, from 0 to 2.3. Statements with the same score are ordered by the other keys, and each\n"
            "says which key puts it before the next ones. Statements that are equal in all keys are tied, and the tie's ranks are shown\n"
            "as a range."
        )
    known = "To compare with work that uses it. If you have no reason to choose it, use [All evidence](evidence.md)."
    links = ", ".join(f"[{other.title}]({other.name}.md)" for other in same)
    top = "Orders the lines that all failing tests execute in the same way as"
    likeness = f"{top if info.group in SAME_ONLY_AT_THE_TOP else 'Always gives the same order as'} {links}."
    makes = MAKES.get(info.name) or MAKES.get(info.group)
    parts = [
        NOTE,
        f"# {info.title}",
        f"```text\n{info.formula}\n```",
        f"**What it does with the counts.** {makes}" if makes else "",
        f"**When to use it.** {info.advice or known}",
        f"**What it needs.** To know {', and '.join(NEEDS[need] for need in Need if need in info.needs)}.",
        f"**What else it uses.** If available, {_uses(info)}." if info.uses else "",
        likeness if same else "",
        f"{counts}\n{order}" if info.family == "formula" else order,
        f"**Published in.** {_published(info)}.",
        f"To choose it: the setting `suspectra.technique`, the command *Select Technique…*, or\n"
        f"`suspectra rank --technique {info.name}`.",
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _needs(info: TechniqueInfo) -> str:
    """What a technique needs, and in brackets what it uses where it is known."""
    needs = ", ".join(need.value for need in Need if need in info.needs)
    uses = ", ".join(need.value for need in Need if need in info.uses - info.needs)
    return f"{needs} ({uses})" if uses else needs


def _uses(info: TechniqueInfo) -> str:
    return ", and ".join(NEEDS[need] for need in Need if need in info.uses - info.needs)


def main() -> int:
    """Write every page that differs."""
    for path, text in (*pages(), *built_pages()):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
