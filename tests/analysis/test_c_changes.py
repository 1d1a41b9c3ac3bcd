"""What changed since tests of C programs passed: from recordings alone, without git."""

import hashlib
import json
import os

import pytest

from suspectra.c.recording.run import record_c
from suspectra.c.recording.suites import shell_suite
from suspectra.evidence.c.source import CRecordingSource
from suspectra.evidence.c.store import FOLDER
from suspectra.evidence.c.writer import CRecorder
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique

CART = """\
#include <stdlib.h>
int twice(int n) {
    return n * 2;
}
int half(int n) {
    n = n + 0;
    return n / 2;
}
int main(int argc, char **argv) {
    int n = atoi(argv[2]);
    return argv[1][0] == 't' ? twice(n) != 6 : half(n) != 2;
}
"""
TESTS = "twice\t./build/program t 3\nhalf\t./build/program h 5\n"
PASSED = {"verdict": "passed", "problems": []}
FAILED = {"verdict": "failed", "problems": []}


class Cart:
    """The program, and the reader of its recording."""

    def __init__(self, build_c):
        self._build = build_c
        self.workspace = build_c({"cart.c": CART}).workspace
        (self.workspace / "tests.sh").write_text(TESTS)
        self.source = CRecordingSource(self.workspace)

    def record(self, text=None, flags=()):
        """Build the program, run its tests, and return the places that changed for each failing test."""
        if text is not None:
            self._build({"cart.c": text}, flags=("-O0", "-g", *flags), workspace=self.workspace)
        record_c(self.workspace, shell_suite(self.workspace, "tests.sh"), build=["build"])
        return self.changed(self.source)

    def changed(self, source):
        evidence = source.read()
        return {name: [str(evidence.elements.location(int(i))) for i in row] for name, row in evidence.changed.items()}

    @property
    def kept(self):
        return len(list((self.workspace / FOLDER / "sources").iterdir()))


@pytest.fixture
def cart(build_c):
    return Cart(build_c)


def test_a_recording_knows_what_changed_since_a_test_passed(cart):
    assert cart.record() == {}
    wrong = CART.replace("n * 2", "n * 3").replace("int half", "/* rounds */\nint half")
    assert cart.record(wrong) == {"twice": ["cart.c:3"]}
    assert cart.record() == {"twice": ["cart.c:3"]}  # other runs that fail do not matter
    assert cart.changed(CRecordingSource(cart.workspace)) == {"twice": ["cart.c:3"]}
    report = Localizer(make_technique("evidence")).update(cart.source.read())
    first = report.suspect_of(report.spectrum.elements.at("cart.c", 3))
    assert (first.rank_worst, first.changed) == (1, 1)

    # what was deleted marks both neighbours; each test is compared with its own last pass
    fewer = wrong.replace("    n = n + 0;\n", "").replace("n / 2", "n / 1")
    assert cart.record(fewer) == {"twice": ["cart.c:3", "cart.c:7"], "half": ["cart.c:7"]}
    assert cart.kept == 3  # the second version was run by the last pass of `half`, the first by that of `twice`

    # waste is cleared away, what is needed stays
    log = cart.workspace / FOLDER / "tests.log"
    while b'"kind":"pass"' not in log.read_bytes():  # until the log was written anew
        with CRecorder(cart.workspace, {}) as recorder:
            recorder.add_test("noise", PASSED, [], [os.urandom(600_000)])
    assert cart.changed(cart.source) == {"twice": ["cart.c:3", "cart.c:7"], "half": ["cart.c:7"]}

    assert cart.record(CART) == {}
    with CRecorder(cart.workspace, {}):
        assert cart.kept == 1  # no test needs another version


def test_a_constant_that_leaves_the_notes_as_they_are_counts_as_changed(cart):
    assert cart.record(CART + "\n", flags=["-frandom-seed=1"]) == {}
    assert cart.record(CART.replace("n * 2", "n * 3"), flags=["-frandom-seed=1"]) == {"twice": ["cart.c:3"]}


def test_a_pass_of_a_program_that_was_not_built_again_is_one_of_the_source_that_was_compiled(cart):
    assert cart.record() == {}
    wrong = CART.replace("n * 2", "n * 3")
    (cart.workspace / "cart.c").write_text(wrong)
    assert cart.record() == {}, "the program is still the right one"
    assert "it changed after it was compiled" in " ".join(problem.cause for problem in cart.source.read().problems)
    assert cart.record(wrong) == {"twice": ["cart.c:3"]}


def test_a_damaged_version_of_a_source_is_left_out(cart):
    cart.record()
    assert cart.record(CART.replace("n * 2", "n * 3"))
    for path in (cart.workspace / FOLDER / "sources").iterdir():
        path.write_bytes(b"damaged")
    assert cart.changed(CRecordingSource(cart.workspace)) == {"twice": []}


def test_a_new_source_counts_as_changed_and_an_unknown_one_does_not(tmp_path):
    """The same with tables of lines, which gcovr reads for other compilers."""
    texts = {"old.c": "int a;\n", "cart.c": "int a(void) {\n    return 1;\n}\n"}
    wrong = texts["cart.c"].replace("1", "2")

    def record(fields, sources):
        digests = {}
        for path, text in sources.items():
            (tmp_path / path).write_text(text)
            digests[path] = hashlib.sha256(text.encode()).hexdigest()
        lines = [{"line_number": number, "count": 1} for number in (1, 2)]
        table = [{"file": path, "functions": [], "lines": lines} for path in ("cart.c", "old.c")]
        with CRecorder(tmp_path, {}) as recorder:
            recorder.add_test("sum", fields, [], [], json.dumps(table).encode(), digests)

    record(PASSED, {"cart.c": texts["cart.c"]})  # old.c was changed after it was compiled
    record(FAILED, {"cart.c": wrong, "old.c": texts["old.c"]})
    evidence = CRecordingSource(tmp_path).read()
    assert [str(evidence.elements.location(int(i))) for i in evidence.changed["sum"]] == ["cart.c:2"]
