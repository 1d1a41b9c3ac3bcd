"""Whatever happens to the files of other tools, the marks are those of a server that starts afterwards."""

import gzip
import json
import shutil
import subprocess
import sys
from types import MappingProxyType

import coverage
import pytest

from suspectra_server.session.ranking import evidence_files, watching

PYTHON = """\
def price(amount, voucher):
    if voucher:
        amount = amount - 5
    else:
        amount = amount + 1
    return amount
"""
C = """\
int price(int amount, int voucher) {
    if (voucher)
        amount = amount - 5;
    else
        amount = amount + 1;
    return amount; }
"""
TESTS = ("one", "two", "three")
SHARED = (2, 6)


def lines(test, failing):
    """What a test executes: the failing one has line 3 or, in the next version of the program, line 5 for itself."""
    return sorted((*SHARED, 3 if (test == "one") == (failing == 3) else 5))


class Format:
    """The files of one tool: what was executed, and how the tests ended."""

    source, text = "app.c", C
    settings = MappingProxyType({})

    def __init__(self, root):
        self.root = root

    def write_data(self, failing):
        """Write what each test executed; the failing test is the only one that executes line `failing`."""
        raise NotImplementedError

    def write_outcomes(self):
        """Write how each test ended: the first one fails."""
        raise NotImplementedError

    def data_files(self):
        """The files that say what was executed; that of the failing test is the first."""
        path = self.root / self.data
        found = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
        return sorted(found, key=lambda path: ("one" not in path.relative_to(self.root).as_posix(), path))

    def delete_data(self):
        path = self.root / self.data
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    def write(self, failing):
        self.write_data(failing)
        self.write_outcomes()

    def place(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


class Lcov(Format):
    data, outcomes = "out/all.info", "outcomes.txt"
    settings = MappingProxyType({"lcov": "out/all.info", "outcomes": "outcomes.txt"})

    def write_data(self, failing):
        source = self.root / self.source
        records = []
        for test in TESTS:
            hits = lines(test, failing)
            found = [f"DA:{line},{int(line in hits)}" for line in (2, 3, 5, 6)]
            records += [f"TN:{test}", f"SF:{source}", *found, "end_of_record"]
        self.place(self.data, "\n".join([*records, ""]))

    def write_outcomes(self):
        self.place(self.outcomes, "".join(f"{'failed' if test == 'one' else 'passed'} {test}\n" for test in TESTS))


class LcovFolder(Lcov):
    data, outcomes = "out", "out/outcomes.json"
    settings = MappingProxyType({"lcov": "out"})

    def write_data(self, failing):
        for test in TESTS:
            hits = lines(test, failing)
            found = [f"DA:{line},{int(line in hits)}" for line in (2, 3, 5, 6)]
            text = "\n".join([f"SF:{self.root / self.source}", *found, "end_of_record", ""])
            self.place(f"out/{test}/app.info", text)

    def write_outcomes(self):
        self.place(self.outcomes, json.dumps({test: "failed" if test == "one" else "passed" for test in TESTS}))


class Gcovr(LcovFolder):
    settings = MappingProxyType({"gcovr": "out"})

    def write_data(self, failing):
        for test in TESTS:
            hits = lines(test, failing)
            found = [{"line_number": line, "count": int(line in hits), "branches": []} for line in (2, 3, 5, 6)]
            files = [{"file": self.source, "lines": found, "functions": []}]
            self.place(f"out/{test}.json", json.dumps({"gcovr/format_version": "0.6", "files": files}))


class Gcov(LcovFolder):
    settings = MappingProxyType({"gcov": "out"})

    def write_data(self, failing):
        for test in TESTS:
            hits = lines(test, failing)
            found = [{"line_number": line, "count": int(line in hits), "branches": []} for line in (2, 3, 5, 6)]
            document = {
                "format_version": "2",
                "current_working_directory": str(self.root),
                "files": [{"file": self.source, "lines": found, "functions": []}],
            }
            self.place(f"out/{test}/app.gcov.json.gz", gzip.compress(json.dumps(document).encode(), mtime=0))


def junit(tests, package="test_app", failing=("one",)):
    """A JUnit report."""
    cases = "".join(
        f'<testcase classname="{package}" name="{name}">'
        + ('<failure message="no">no</failure>' if name.removeprefix("test_") in failing else "")
        + "</testcase>"
        for name in tests
    )
    return f'<?xml version="1.0"?><testsuites><testsuite>{cases}</testsuite></testsuites>'


class Cobertura(Format):
    data, outcomes = "out", "results/ended.xml"
    settings = MappingProxyType({"cobertura": "out", "outcomes": "results/ended.xml"})

    def write_data(self, failing):
        for test in TESTS:
            hits = lines(test, failing)
            found = "".join(f'<line number="{line}" hits="{int(line in hits)}"/>' for line in (2, 3, 5, 6))
            text = f'<class filename="{self.source}"><methods/><lines>{found}</lines></class>'
            head = f"<coverage><sources><source>{self.root}</source></sources>"
            self.place(
                f"out/{test}.xml", f"{head}<packages><package><classes>{text}</classes></package></packages></coverage>"
            )

    def write_outcomes(self):
        self.place(self.outcomes, junit(TESTS))


class Coverage(Format):
    source, text = "app.py", PYTHON
    data, outcomes = ".coverage", "results.xml"

    def measured(self, name, failing, tests):
        path = self.root / f"{name}.new"
        path.unlink(missing_ok=True)
        data = coverage.CoverageData(str(path))
        for test in tests:
            data.set_context(f"test_app.py::test_{test}|run")
            data.add_lines({str(self.root / self.source): lines(test, failing)})
        data.write()
        data.close()
        content = path.read_bytes()
        path.unlink()
        return content

    def write_data(self, failing):
        self.place(self.data, self.measured(self.data, failing, TESTS))

    def write_outcomes(self):
        self.place(self.outcomes, junit([f"test_{test}" for test in TESTS]))


class CoverageBySettings(Coverage):
    data, outcomes = "measured/data", "ended/tests.xml"
    settings = MappingProxyType({"coverage": "measured/data", "junit": "ended/*.xml"})

    def write_data(self, failing):
        (self.root / "measured").mkdir(exist_ok=True)
        super().write_data(failing)


class CoverageParts(Coverage):
    """Data of two processes that nobody combined, and a report of each half of the tests."""

    outcomes = "some/folder/far/below/one.xml"

    def data_files(self):
        return [self.root / f".coverage.elsewhere.pid{number}.Xab" for number in (1, 2)]

    def delete_data(self):
        for path in self.data_files():
            path.unlink()

    def write_data(self, failing):
        for path, tests in zip(self.data_files(), (TESTS[:1], TESTS[1:]), strict=True):
            self.place(path.name, self.measured("measured", failing, tests))

    def write_outcomes(self):
        self.place("unit/two.xml", junit(["test_two", "test_three"]))
        self.place(self.outcomes, junit(["test_one"]))


class CoverageJson(Coverage):
    data = "coverage.json"

    def write_data(self, failing):
        contexts = {
            str(line): [f"test_app.py::test_{test}|run" for test in TESTS if line in lines(test, failing)]
            for line in (2, 3, 5, 6)
        }
        file = {"executed_lines": [2, 3, 5, 6], "contexts": contexts}
        document = {"meta": {"format": 3, "show_contexts": True}, "files": {self.source: file}}
        self.place(self.data, json.dumps(document))


FORMATS = (Coverage, CoverageBySettings, CoverageParts, CoverageJson, Lcov, LcovFolder, Gcovr, Gcov, Cobertura)


def marks_of(client):
    return {uri: found for uri, found in client.diagnostics.items() if found}


class Session:
    """A server that runs all the time."""

    def __init__(self, connect, form):
        self.connect, self.form = connect, form
        self.options = {"technique": "ochiai", **form.settings}
        self.running = connect().start(form.root, options=self.options)

    def first(self, client):
        """The lines that are suspected most."""
        return [mark["range"]["start"]["line"] + 1 for found in client.diagnostics.values() for mark in found][:1]

    def is_as_anew(self, *wanted):
        """Compare with a server that starts now; `wanted` is the line that is marked first, if any is."""
        fresh = self.connect().start(self.form.root, options=self.options)
        expected = marks_of(fresh)
        assert self.first(fresh) == list(wanted)
        self.running.wait(lambda: marks_of(self.running) == expected)
        fresh.hang_up()


@pytest.fixture(
    params=[Coverage, *(pytest.param(form, marks=pytest.mark.slow) for form in FORMATS[1:])],
    ids=lambda form: form.__name__,
)
def session(request, tmp_path, connect, monkeypatch):
    monkeypatch.setattr(watching, "WATCH_POLL_S", 0.1)
    monkeypatch.setattr(evidence_files, "EVIDENCE_DEBOUNCE_S", 0.1)
    root = tmp_path / "project"
    root.mkdir()
    form = request.param(root)
    (root / form.source).write_text(form.text)
    return Session(connect, form)


def test_marks_are_those_of_a_server_that_starts_afterwards(session):
    form = session.form
    outcomes = form.root / form.outcomes

    # appears, what was executed first
    form.write_data(failing=3)
    session.is_as_anew()
    form.write_outcomes()
    session.is_as_anew(3)

    # changes in place
    form.write(failing=5)
    session.is_as_anew(5)

    # is replaced
    kept = [(path, path.read_bytes()) for path in form.data_files()]
    form.write(failing=3)
    session.is_as_anew(3)
    for path, content in kept:
        path.with_suffix(".part").write_bytes(content)
        path.with_suffix(".part").replace(path)
    session.is_as_anew(5)

    # is deleted, and written again
    form.delete_data()
    session.is_as_anew()
    form.write(failing=3)
    session.is_as_anew(3)
    outcomes.unlink(missing_ok=True)
    session.is_as_anew()
    form.write_outcomes()
    session.is_as_anew(3)

    # a source is edited, and the tests still fail
    source = form.root / form.source
    source.write_text(source.read_text().replace("amount - 5", "amount - 6"))
    form.write(failing=3)
    session.is_as_anew(3)
    session.running.wait(lambda: session.running.statuses[-1]["state"] == "ready")

    # is cut
    cut = form.data_files()[0]
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    session.is_as_anew()

    # is something else, and the outcomes are cut
    cut.write_bytes(b"something else")
    session.is_as_anew()
    form.write(failing=3)
    session.is_as_anew(3)
    outcomes.write_bytes(outcomes.read_bytes()[:7])
    session.is_as_anew()

    # comes in the other order
    form.delete_data()
    outcomes.unlink(missing_ok=True)
    form.write_outcomes()
    form.write_data(failing=5)
    session.is_as_anew(5)

    # twice at once
    for failing in (3, 5, 3):
        form.write(failing)
    session.is_as_anew(3)


# the tools themselves


def measure(root, *arguments):
    """Run the tests as many projects do: in several processes, with a report at the end."""
    options = ["-q", "-p", "no:cacheprovider", "--cov=shop", "--cov-context=test", *arguments]
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=root, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr


@pytest.fixture
def marked(client, shop):
    """A server in a shop in which nothing was recorded, and what it marks in the vouchers."""
    shutil.rmtree(shop / ".suspectra")
    client.start(shop)
    return lambda: sorted(line for file, line in client.marks(shop) if file == "shop/vouchers.py")


def test_what_pytest_cov_and_xdist_write_is_noticed(client, connect, shop, marked):
    assert client.statuses[-1]["state"] == "noEvidence"
    measure(shop, "-n2", "--junitxml=out/of/the/way.xml")
    client.wait(lambda: marked() == [5, 7, 16, 17, 18])
    client.wait_for_state("ready")

    # an edited line that still fails has its mark again once it has run, and so has an edited test
    test = shop / "tests/test_shop.py"
    test.write_text("# tests\n" + test.read_text().replace('total("20")', 'total("0020")'))
    vouchers = shop / "shop/vouchers.py"
    vouchers.write_text(vouchers.read_text().replace("off = off - amount", "off = (off - amount)"))
    client.wait(lambda: client.statuses[-1]["state"] == "stale" and 17 not in marked())
    measure(shop, "-n2", "--junitxml=out/of/the/way.xml")
    client.wait(lambda: marked() == [5, 7, 16, 17, 18])
    client.wait(lambda: client.statuses[-1]["state"] == "ready")

    fresh = connect().start(shop)
    client.wait(lambda: marks_of(client) == marks_of(fresh))
    fresh.hang_up()

    (shop / ".coverage").unlink()
    client.wait(lambda: not marks_of(client))


def test_reports_of_two_runs_are_merged(client, shop, marked):
    measure(shop, "--junitxml=first.xml", "-k", "never")
    client.wait(lambda: (client.statuses[-1]["failed"], client.statuses[-1]["passed"]) == (3, 0))
    measure(shop, "--junitxml=second.xml", "-k", "not never", "--cov-append")
    client.wait(lambda: (client.statuses[-1]["failed"], client.statuses[-1]["passed"]) == (3, 7))
    client.wait(lambda: marked() == [5, 7, 16, 17, 18])


# settings


def test_evidence_follows_the_settings(client, tmp_path):
    form = Lcov(tmp_path)
    (tmp_path / form.source).write_text(form.text)
    form.write(failing=3)
    client.start(tmp_path)
    assert client.statuses[-1]["state"] == "noEvidence"

    def settle(settings, condition):
        client.configuration = dict(settings)
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        client.wait(lambda: condition(client.statuses[-1]))

    settle(form.settings, lambda status: status["state"] == "ready")
    assert marks_of(client)
    settle({**form.settings, "gcov": "out"}, lambda status: "gcov and lcov are both given" in status["message"])
    assert not marks_of(client)
    settle({"outcomes": form.outcomes}, lambda status: "none of gcov, gcovr, lcov, cobertura" in status["message"])
    settle(form.settings, lambda status: status["state"] == "ready")
    settle({}, lambda status: status["state"] == "noEvidence")
    client.wait(lambda: not marks_of(client))
