"""Reading a corpus: what is in it, and what may be wrong with it."""

from __future__ import annotations

import gzip
import json
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suspectra.base.errors import EvidenceError
from suspectra.evaluation.corpus import SubjectFile, read_index, read_subject
from suspectra.program.python.definitions import definitions
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.spectrum import EdgeKind
from suspectra.techniques import make_technique


def subject(corpus: Path, name: str):
    (file,) = [file for file in read_index(corpus)[0] if file.name == name]
    return read_subject(file)


def rewrite(path: Path, **arrays: object) -> None:
    """Write an archive again with some arrays changed, or left out (None)."""
    with np.load(path) as old:
        kept = {name: old[name] for name in old.files} | arrays
    np.savez_compressed(path, **{name: array for name, array in kept.items() if array is not None})


def test_index(mini_corpus):
    files, problems = read_index(mini_corpus)
    assert [(file.family, file.name) for file in files] == [
        ("compiled", "schedule"),
        ("python", "price"),
        ("bare", "lines"),
    ]
    assert problems == []


def test_compiled_code_is_figure_1(mini_corpus, figure_1):
    found, (expected, structure) = subject(mini_corpus, "schedule"), figure_1
    spectrum = found.spectrum
    assert spectrum.tests == expected.tests
    assert spectrum.failed.tolist() == expected.failed.tolist()
    assert [row.tolist() for row in spectrum.rows] == [row.tolist() for row in expected.rows]
    assert [row.tolist() for row in spectrum.edge_rows] == [row.tolist() for row in expected.edge_rows]
    assert spectrum.elements.function_name(0) == "upgrade_prio"
    assert spectrum.edges.kind is EdgeKind.BLOCK
    assert found.faulty.tolist() == [1]
    (graph,) = found.program.graphs
    assert graph.element.tolist() == structure.graphs[0].element.tolist()
    report = make_technique("cp").localize(spectrum, found.program)
    assert report.rank_worst[report.position[1]] == 4


def test_python_has_arcs_and_its_elements_are_put_in_order(mini_corpus):
    found = subject(mini_corpus, "price")
    elements = found.spectrum.elements
    assert elements.line.tolist() == [1, 2, 3, 4, 6, 7, 10]
    assert elements.files == ("shop.py", "unused.py")
    assert elements.line[found.faulty].tolist() == [4]
    assert [elements.line[row].tolist() for row in found.spectrum.rows] == [[2, 3, 4, 7], [2, 3, 6, 7], [2, 3, 4, 6, 7]]
    assert found.spectrum.edges.kind is EdgeKind.ARC
    report = make_technique("cp").localize(found.spectrum, found.program)
    assert report.suspect(0).location.line == 4


def test_python_may_have_more_lines_functions_and_tracebacks(mini_corpus):
    path = mini_corpus / "small" / "price.npz"
    with np.load(path) as arrays:
        names = [str(name) for name in arrays["elements"]]
    inside = np.array([0 if name in ("shop.py:2", "shop.py:3") else -1 for name in names])
    ends = np.array([int(name.rpartition(":")[2]) + (name == "shop.py:4") for name in names])
    rewrite(path, function=inside, function_names=np.array(["shop.py|price|1|7"]), end_line=ends)
    frames = [["test_shop.py", 9, "test"], ["shop.py", 5, "price"], ["elsewhere.py", 1, "f"]]
    stacks = [{"test": "t1", "frames": frames}, {"test": "gone", "frames": frames}]
    path.with_suffix(".tb.json.gz").write_bytes(gzip.compress(json.dumps(stacks).encode()))
    spectrum = subject(mini_corpus, "price").spectrum
    assert [spectrum.elements.function_name(element) for element in (1, 3)] == ["price", ""]
    assert spectrum.elements.location(3).end_line == 5
    assert spectrum.raised.tolist() == [3, -1, -1]
    assert make_technique("evidence").localize(spectrum).suspect(0).location.line == 4
    for damage in (b"no archive", gzip.compress(b"{"), gzip.compress(b"[3]"), gzip.compress(b'[{"frames": 3}]')):
        path.with_suffix(".tb.json.gz").write_bytes(damage)
        with pytest.raises(EvidenceError, match="price"):
            subject(mini_corpus, "price")


@pytest.mark.parametrize(("name", "value"), [("function", [7] * 7), ("end_line", [0] * 7), ("function", [0, 1])])
def test_arrays_of_elements_must_fit(mini_corpus, name, value):
    rewrite(mini_corpus / "small" / "price.npz", **{name: np.array(value), "function_names": np.array(["a|b|1|2"])})
    with pytest.raises(EvidenceError, match="price"):
        subject(mini_corpus, "price")


FACTS = {
    "kind": np.array([2, 0, 0, 1, 0, 0, 0]),
    "definition": np.array([1, 6]),
    "definition_reader": np.array([2, 4]),
    "definition_start": np.array([0, 1, 2]),
    "definition_read": np.array([1, 0]),
    "conditions": np.array([[0, 4, 8, 4, 12]]),
}


def test_what_sources_would_say_may_be_in_the_archive(mini_corpus):
    rewrite(mini_corpus / "small" / "price.npz", **FACTS)
    found = subject(mini_corpus, "price")
    facts = found.program.facts
    assert facts.kinds.tolist() == [0, 0, 1, 0, 0, 2, 0]  # in the order of lines
    assert (facts.element.tolist(), facts.reader.tolist()) == ([0, 6], [1, 3])
    assert definitions(found.spectrum.elements, SourcesAsRun.for_program(found.program), ()).read_by([3]).tolist() == [
        0
    ]
    assert [one.tolist() for one in found.spectrum.edges.conditions] == [[[4, 8, 4, 12]], []]
    report = make_technique("evidence").localize(found.spectrum, found.program)
    assert "kinds of statements" not in report.without
    assert report.spectrum.counts.ef[6] == 1  # the failing test executes what reads it


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", [0]),
        ("kind", [3] * 7),
        ("kind", [0.5] * 7),
        ("definition", [7, 8]),
        ("definition", [6, 1]),
        ("definition_reader", None),
        ("definition_reader", [2, 2]),
        ("definition_start", [0, 1]),
        ("definition_start", [0, 2, 1]),
        ("definition_start", []),
        ("definition_read", [1, 2]),
        ("conditions", [[9, 1, 1, 1, 1]]),
        ("conditions", [1, 2, 3]),
    ],
)
def test_damaged_facts(mini_corpus, name, value):
    changed = {name: None if value is None else np.array(value)}
    rewrite(mini_corpus / "small" / "price.npz", **(FACTS | changed))
    with pytest.raises(EvidenceError, match="price"):
        subject(mini_corpus, "price")


def test_sources_are_those_of_the_distribution_but_for_the_file_of_the_fault(mini_corpus, tmp_path):
    (file,) = [file for file in read_index(mini_corpus)[0] if file.name == "price"]
    rewrite(file.path, meta=np.array(json.dumps({"provenance": "PyPI sdist My_Shop 1.2.0, with f of 1.1"})))
    with pytest.raises(EvidenceError, match=r"contains no folder My_Shop-1\.2\.0"):
        read_subject(replace(file, sources=tmp_path))
    (tmp_path / "my-shop-1.2.0").mkdir()
    (tmp_path / "my-shop-1.2.0" / "shop.py").write_text("old")
    (tmp_path / "my-shop-1.2.0" / "unused.py").write_text("as it is")
    changed = {"file": "shop.py", "source": "new"}
    file.path.with_suffix(".src.json.gz").write_bytes(gzip.compress(json.dumps(changed).encode()))
    source_of = read_subject(replace(file, sources=tmp_path)).program.source_of
    assert [source_of(path) for path in ("shop.py", "unused.py", "../x", "gone.py")] == [
        b"new",
        b"as it is",
        None,
        None,
    ]
    assert read_subject(file).program.source_of is None


def test_edges_may_be_missing(mini_corpus):
    found = subject(mini_corpus, "lines")
    assert found.spectrum.edges is None
    assert found.spectrum.tests == ("t1", "t2")
    assert found.spectrum.elements.files == ("a.c", "b.c")


def test_files_of_edges_need_hold_no_element(mini_corpus):
    path = mini_corpus / "small" / "price.npz"
    rewrite(path, functions=np.array(["generated.py", "unused.py"]))
    found = subject(mini_corpus, "price")
    assert found.spectrum.elements.files == ("shop.py", "generated.py", "unused.py")
    assert set(found.spectrum.edges.file.tolist()) == {1}


class Evil:
    def __reduce__(self):
        return (Path.touch, (Path("pickled-and-run"),))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outcomes": None}, "no array 'outcomes'"),
        ({"cov_indptr": None}, "no array 'cov_indptr'"),
        ({"faulty": np.array([], int)}, "no faulty element"),
        ({"faulty": np.array([9])}, "faulty points outside"),
        ({"faulty": np.array([0.5])}, "faulty contains no whole numbers"),
        ({"cov_indices": np.full(35, 60000, np.uint16)}, "cov_indices points outside"),
        ({"cov_indptr": np.array([0, 99])}, "cov arrays do not fit"),
        ({"cov_indptr": np.array([], int)}, "cov arrays do not fit"),
        ({"cov_row": np.array([0])}, "cov arrays do not fit"),
        ({"edge_row": np.full(7, 77)}, "edge arrays do not fit"),
        ({"edges": np.full((6, 3), 7)}, "functions that are not there"),
        ({"edges": np.array([[0, -1, 2]] * 6)}, "negative numbers of blocks"),
        ({"edges": np.array([[0, 1, 2**30]] * 6)}, "out of range"),
        ({"edges": np.arange(5)}, "is damaged"),
        ({"elements": np.array(["a.c"])}, "is damaged"),
        ({"elements": np.array(["a.c:0"] * 9)}, "lines count from 1"),
        ({"functions": np.array(["f"])}, "is damaged"),
        ({"elements": np.array([Evil()] * 9, object)}, "is damaged"),
        ({"outcomes": np.zeros((7, 7, 7))}, "outcomes contains no whole numbers"),
    ],
)
def test_damaged_arrays(mini_corpus, monkeypatch, change, said):
    monkeypatch.chdir(mini_corpus)
    rewrite(mini_corpus / "small" / "schedule.npz", **change)
    with pytest.raises(EvidenceError) as caught:
        subject(mini_corpus, "schedule")
    assert said in caught.value.problem.cause
    assert caught.value.problem.place == "schedule"
    assert not Path("pickled-and-run").exists()


@pytest.mark.parametrize("how", ["missing", "empty", "text", "truncated", "folder", "pickle", "bomb"])
def test_damaged_archives(mini_corpus, how):
    path = mini_corpus / "small" / "schedule.npz"
    whole = path.read_bytes()
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "bomb":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            head = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776,), }"
            archive.writestr("outcomes.npy", head.ljust(127) + b"\n")
    elif how != "missing":
        kinds = {"empty": b"", "text": b"hello", "truncated": whole[: len(whole) // 2], "pickle": pickle.dumps([1])}
        path.write_bytes(kinds[how])
    with pytest.raises(EvidenceError) as caught:
        subject(mini_corpus, "schedule")
    assert caught.value.problem.cure


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (None, "can't be read"),
        (b"", "no column family"),
        (b"family,subject\na,b\n", "no column path"),
        (b"\xff\xfe\x00", "can't be read"),
    ],
)
def test_damaged_index(mini_corpus, index, said):
    path = mini_corpus / "index.csv"
    path.unlink() if index is None else path.write_bytes(index)
    with pytest.raises(EvidenceError, match=said):
        read_index(mini_corpus)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", ""])
def test_paths_stay_in_the_corpus(mini_corpus, path):
    (mini_corpus / "index.csv").write_text(f"family,subject,path\na,b,{path}\na,c,small/lines.npz\n")
    files, (problem,) = read_index(mini_corpus)
    assert [file.name for file in files] == ["c"]
    assert problem.place == "line 2"


def test_a_link_out_of_the_corpus_is_not_followed(mini_corpus, tmp_path):
    outside = tmp_path / "outside.npz"
    outside.write_bytes((mini_corpus / "small" / "lines.npz").read_bytes())
    (mini_corpus / "small" / "link.npz").symlink_to(outside)
    (mini_corpus / "index.csv").write_text("family,subject,path\na,b,small/link.npz\n")
    files, problems = read_index(mini_corpus)
    assert (files, len(problems)) == ([], 1)


def test_a_subject_can_be_read_by_itself(mini_corpus):
    assert read_subject(SubjectFile("x", "y", mini_corpus / "small" / "lines.npz")).name == "y"
