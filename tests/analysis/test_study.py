"""Studies and appraisals, through the command line as users run them."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suspectra.base.errors import EvidenceError, NothingToRank, Problem, UsageError
from suspectra.cli import main
from suspectra.evaluation.appraisal import Appraisal
from suspectra.evaluation.composing import compositions
from suspectra.evaluation.config import StudyConfig, read_any
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.evaluation.curves import exam_curves
from suspectra.evaluation.faults import FaultList
from suspectra.evaluation.study import Result, StudiedTechnique, Study, StudyPlan, StudyResult, rank_subject
from suspectra.evaluation.summary import compare, found_within, summarize
from suspectra.evaluation.tables import to_markdown
from suspectra.program import Program
from suspectra.spectrum import Elements, Spectrum
from suspectra.techniques import make_technique

HEADER = "family,subject,technique,clone,n,rank_best,rank_avg,rank_worst,exam"


def suspectra(*arguments: object, status: int = 0) -> tuple[str, str]:
    """Run a command; its output and what it says."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", err)
        assert main.run([str(argument) for argument in arguments]) == status, err.getvalue()
    return out.getvalue(), err.getvalue()


def ranked(folder: Path, *arguments: object) -> dict[tuple[str, str, str], list[str]]:
    out, _ = suspectra("study", "--corpus", folder, "--format", "csv", "--jobs", 1, *arguments)
    assert out.startswith(HEADER + "\n")
    return {(row[1], row[2], row[3]): row[4:] for row in csv.reader(io.StringIO(out))}


# -------------------------------------------------------------------------------------------------- the contract


def test_csv_of_a_corpus(mini_corpus):
    techniques = ("--technique", "jaccard", "--technique", "cp")
    out, err = suspectra("study", "--corpus", mini_corpus, *techniques, "--format", "csv", "--jobs", 1)
    assert out.splitlines() == [
        HEADER,
        "compiled,schedule,jaccard,0,9,1,4.0,7,0.4444444444444444",
        "compiled,schedule,cp,0,9,1,2.5,4,0.2777777777777778",
        "python,price,jaccard,0,7,1,1.0,1,0.14285714285714285",
        "python,price,cp,0,7,1,1.0,1,0.14285714285714285",
        "bare,lines,jaccard,0,3,1,1.0,1,0.3333333333333333",
    ]
    assert "CP works on control flow" in err


def independent(folder: Path, name: str, formula, clone: bool) -> tuple[int, float, int]:
    """Ranks by the definitions, from the arrays, without any of the product's code."""
    with np.load(folder / "small" / f"{name}.npz") as data:
        starts, indices, row = data["cov_indptr"], data["cov_indices"], data["cov_row"]
        matrix = np.zeros((len(row), len(data["elements"])), bool)
        for test, at in enumerate(row):
            matrix[test, indices[starts[at] : starts[at + 1]]] = True
        failed, faulty = data["outcomes"].astype(bool), data["faulty"]
    f, p = failed.sum(), (~failed).sum()
    c = p / f if clone else 1
    scores = [
        round(formula(c * ef, ep, c * f, p), 12)
        for ef, ep in zip(matrix[failed].sum(0), matrix[~failed].sum(0), strict=True)
    ]
    best = max(scores[i] for i in faulty)
    higher, equal = sum(s > best for s in scores), sum(s == best for s in scores)
    return higher + 1, higher + (equal + 1) / 2, higher + equal


FORMULAS = {
    "ochiai": lambda ef, ep, f, p: ef / (f * (ef + ep)) ** 0.5 if ef else 0,
    "wong2": lambda ef, ep, f, p: ef - ep,
    "op2": lambda ef, ep, f, p: ef - ep / (p + 1),
    "russell-rao": lambda ef, ep, f, p: ef / (f + p),
}


def test_ranks_equal_an_independent_computation(mini_corpus):
    rows = ranked(mini_corpus, *(part for name in FORMULAS for part in ("--technique", name)), "--both")
    for subject in ("schedule", "price", "lines"):
        for name, formula in FORMULAS.items():
            for clone in (False, True):
                best, average, worst = independent(mini_corpus, subject, formula, clone)
                row = rows[subject, name, str(int(clone))]
                assert (int(row[1]), float(row[2]), int(row[3])) == (best, average, worst), (subject, name, clone)
                assert float(row[4]) == average / int(row[0])


def test_cloning_runs_formulas_alone(mini_corpus):
    rows = ranked(mini_corpus, "--technique", "wong2", "--technique", "cp", "--clone-failed")
    assert {key[1:] for key in rows if key[0] == "schedule"} == {("wong2", "1"), ("cp", "0")}
    rows = ranked(mini_corpus, "--technique", "wong2", "--technique", "cp", "--both")
    assert {key[1:] for key in rows if key[0] == "schedule"} == {("wong2", "0"), ("wong2", "1"), ("cp", "0")}


def test_ties_can_be_broken(mini_corpus):
    one = ranked(mini_corpus, "--technique", "jaccard", "--break-ties", "cp")
    other = ranked(mini_corpus, "--technique", "jaccard+cp")
    assert one == other
    assert one["schedule", "jaccard+cp", "0"][1:4] == ["1", "2.5", "4"]


def test_unexecuted_statements_rank_by_their_score_unless_told_otherwise(mini_corpus):
    # Hamming gives lines 1 and 10 of price, which no test executes, np = 2: as much as the fault
    as_published = ranked(mini_corpus, "--technique", "hamming")
    last = ranked(mini_corpus, "--technique", "hamming", "--unexecuted-last")
    assert as_published["price", "hamming", "0"][1:4] == ["1", "2.0", "3"]
    assert last["price", "hamming", "0"][1:4] == ["1", "1.0", "1"]


def test_a_damaged_subject_is_said_and_the_rest_goes_on(mini_corpus):
    (mini_corpus / "small" / "price.npz").write_bytes(b"PK")
    (mini_corpus / "index.csv").open("a").write("bare,gone,small/gone.npz\n")
    out, err = suspectra("study", "--corpus", mini_corpus, "--technique", "ochiai", "--format", "csv", "--jobs", 2)
    assert [row[1] for row in csv.reader(io.StringIO(out))] == ["subject", "schedule", "lines"]
    assert "price.npz" in err
    assert "there is no such file" in err


# --------------------------------------------------------------------------------------------- running and resuming


def plan(*names: str, clone: tuple[bool, ...] = (False,)) -> StudyPlan:
    return StudyPlan(tuple(StudiedTechnique(name) for name in names), clone)


def test_in_parallel_or_not_is_the_same(mini_corpus):
    files, _ = read_index(mini_corpus)
    study = Study(plan("ochiai", "cp"), files, read_subject)
    assert study.run(jobs=2) == study.run(jobs=1)


def refuse(subject):
    raise AssertionError("this was done already")


def die(subject):
    if subject.name == "price":
        os._exit(1)
    return read_any(subject)


def test_goes_on_where_it_stopped(mini_corpus, tmp_path):
    files, _ = read_index(mini_corpus)
    store = tmp_path / "results"
    Study(plan("ochiai"), files[:2], read_subject, store=store).run(jobs=1)
    (store / "half-written.json.123").write_text("{")
    done = []
    whole = Study(plan("ochiai"), files, read_subject, store=store).run(jobs=1, progress=done.append)
    assert done == [2, 1]
    assert whole == Study(plan("ochiai"), files, read_subject).run(jobs=1)
    assert Study(plan("ochiai"), files, refuse, store).run(jobs=1) == whole  # nothing is read again
    assert Study(plan("op2"), files, refuse, store).run(jobs=1).problems  # this plan is another one
    assert not Study(plan("op2"), files, read_subject, store).run(jobs=1).problems  # what went wrong is tried again


def test_a_stored_result_is_not_believed_when_its_file_changed_or_it_is_damaged(mini_corpus, tmp_path):
    files, _ = read_index(mini_corpus)
    store = tmp_path / "results"
    study = Study(plan("ochiai"), files, read_subject, store=store)
    first = study.run(jobs=1)
    for path in store.iterdir():
        path.write_text(path.read_text()[:-5])
    assert study.run(jobs=1) == first
    os.utime(files[0].path, ns=(1, 1))
    done = []
    study.run(jobs=1, progress=done.append)
    assert done == [2, 1]


def test_a_process_that_dies_takes_only_its_subject_along(mini_corpus):
    files, _ = read_index(mini_corpus)
    result = Study(plan("ochiai"), files, die).run(jobs=2)
    assert [one.subject for one in result.results] == ["schedule", "lines"]
    (problem,) = result.problems
    assert (problem.file, problem.cure) == ("price", "run the study with fewer --jobs")


def test_an_error_of_ours_is_a_problem_of_the_subject(mini_corpus):
    files, _ = read_index(mini_corpus)
    result = Study(plan("ochiai"), files[:1], refuse).run(jobs=1)
    assert "AssertionError" in result.problems[0].cause


# ------------------------------------------------------------------------------------------------------ the figures

RESULTS = [
    Result("a", name, technique, 0, 100, best, (best + worst) / 2, worst)
    for technique, ranks in {"ochiai": [(1, 1), (4, 8), (20, 40)], "cp": [(2, 2), (1, 3), (20, 40)]}.items()
    for name, (best, worst) in zip("xyz", ranks, strict=True)
]


def test_summary():
    ochiai, cp = summarize(RESULTS)
    assert (ochiai.technique, ochiai.subjects) == ("ochiai", 3)
    assert ochiai.mean == pytest.approx((0.01 + 0.06 + 0.3) / 3)
    assert (ochiai.median, ochiai.lowest, ochiai.highest) == (0.06, 0.01, 0.3)
    assert ochiai.deviation == pytest.approx(np.std([0.01, 0.06, 0.3], ddof=1))
    assert ochiai.top == ((1, 1, 1), (2, 1, 1), (2, 2, 2))  # ties at best, on average, at worst
    assert cp.mean < ochiai.mean


def test_comparison():
    (one,) = compare(RESULTS)
    assert (one.technique, one.better, one.equal, one.worse) == ("cp", 1, 1, 1)
    assert one.p_value == 1.0
    (other,) = compare(RESULTS, ("cp", 0))
    assert (other.technique, other.better) == ("ochiai", 1)
    assert compare([]) == []


def test_comparisons_tell_how_sure_they_are():
    ranks = {f"s{i}": (10.0 + i, 5.0 + i / 2) for i in range(20)}
    results = [
        Result(f"family {i % 2}", subject, name, 0, 100, 1, both[place], 100)
        for place, name in enumerate(("ochiai", "other"))
        for i, (subject, both) in enumerate(ranks.items())
    ]
    (one,) = compare(results)
    assert one.ratio == pytest.approx((0.5, 0.5, 0.5))
    assert one.top_five.value == 1  # one subject's rank went from 10 to 5
    assert one.top_five.low == 0
    assert one.top_five.high == pytest.approx(3, abs=1)
    assert compare(results) == [one]  # the same samples are drawn


def test_differences_are_counted_as_paper_000_does():
    """Table 3: lower by more than 1, 5 and 10 % of the code, about equal, and higher by more."""
    ranks = {"base": (20, 20, 20, 20), "other": (19, 14, 26, 9)}
    results = [
        Result("a", f"s{i}", name, 0, 100, rank, float(rank), rank)
        for name, own in ranks.items()
        for i, rank in enumerate(own)
    ]
    (one,) = compare(results)
    assert one.differences == ((2, 1, 1), (2, 1, 1), (1, 3, 0))


def test_cloning_is_summed_up_as_paper_004_does(mini_corpus):
    """Definition 2.3 and Table 5, from a study itself."""
    out = ranked(mini_corpus, "--technique", "wong2", "--technique", "ochiai", "--both")
    for technique in ("wong2", "ochiai"):
        rows = [(out[name, technique, "0"], out[name, technique, "1"]) for name in ("schedule", "price", "lines")]
        middle = [[(int(r[1]) + int(r[3])) // 2 / int(r[0]) for r in pair] for pair in rows]
        expected = np.mean([(before - after) / before for before, after in middle])
        text, _ = suspectra("study", "--corpus", mini_corpus, "--technique", technique, "--both", "--jobs", 1)
        (row,) = [line for line in text.partition("What cloning")[2].splitlines() if line.startswith(f"| {technique} ")]
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        assert cells[:3] == [technique, "3", f"{expected:+.4f}"]
        percent = [sum(float(pair[side][2]) <= 0.05 * int(pair[side][0]) for pair in rows) for side in (0, 1)]
        assert cells[6] == f"{percent[0]} → {percent[1]}"


def test_faults_are_composed_and_ranked_one_by_one(versions_of_one_program):
    out = ranked(versions_of_one_program, "--technique", "ochiai", "--faults", 2)
    assert sorted(name for name, _, _ in out if "+" in name) == [
        "v1+v2: v1", "v1+v2: v2", "v1+v3: v1", "v1+v3: v3", "v2+v3: v2", "v2+v3: v3"
    ]  # fmt: skip
    # in v1+v2 tests a and b fail: line 1 in all, line 2 in a, line 3 in both, line 4 in b; d passes and executes all
    composed = compositions(read_index(versions_of_one_program)[0], 2)
    other = next(one for one in composed if one.name == "v1+v2").read().spectrum
    assert dict(zip(other.tests, other.failed.tolist(), strict=True)) == {"a": True, "b": True, "c": False, "d": False}
    assert other.counts.ef.tolist() == [2, 1, 2, 1, 0]
    triple = ranked(versions_of_one_program, "--technique", "ochiai", "--faults", 3)
    assert len(triple) == 3 + 1, "and the head of the table"
    _, err = suspectra(
        *("study", "--corpus", versions_of_one_program, "--technique", "ochiai", "--faults", 4), status=2
    )
    assert "no 4 versions" in err


def test_faults_recorded_together_are_ranked_one_by_one(faulty_ledger, tmp_path):
    (tmp_path / "faults.txt").write_text("src/ledger/statements.py:26\nsrc/ledger/tax.py:59\n")
    study = tmp_path / "study.toml"
    text = (
        f'[study]\ntechniques = ["ochiai"]\n[[subject]]\nname = "ledger"\nworkspace = "{faulty_ledger}"\n'
        f'recording = "{faulty_ledger}/.suspectra/recording"\nfaults = "faults.txt"\n'
    )
    found = []
    for each in ("false", "true"):
        study.write_text(f"{text}each_fault = {each}\n")
        out, _ = suspectra("study", study, "--format", "csv", "--jobs", 1)
        found.append({row["subject"]: float(row["rank_avg"]) for row in csv.DictReader(io.StringIO(out))})
    best, each_one = found
    assert each_one.keys() == {"ledger: src/ledger/statements.py:26", "ledger: src/ledger/tax.py:59"}
    assert best == {"ledger": min(each_one.values())}
    assert len(set(each_one.values())) == 2


def test_the_t_score_searches_from_the_first_five_statements():
    """A chain of ten assignments, of which the last fails: the fault is nine dependences from where tests differ."""
    lines = ["a0 = 1", *(f"a{k} = a{k - 1}" for k in range(1, 10))]
    source = "\n".join(lines).encode()
    numbers = np.arange(10, dtype=np.int32)
    elements = Elements(("m.py",), np.zeros(10, np.int32), numbers + 1, numbers + 1, np.full(10, -1, np.int32), ())
    failing, passing = [1] * 10, [1] * 5 + [0] * 5
    spectrum = Spectrum.from_matrix([failing, passing], [True, False], elements=elements)
    program = Program((), source_of=lambda path: source)
    found = {}
    for faulty in (7, 3, 0):
        subject = Subject("a", "b", spectrum, program, np.array([faulty]))
        ((result,), problems) = rank_subject(subject, StudyPlan((StudiedTechnique("ochiai"),), t_score=True))
        assert not problems
        found[faulty] = result.t_score
    assert found == {7: 0.5, 3: 0.7, 0: 1.0}
    bare = Subject("a", "b", spectrum, Program(()), np.array([3]))
    ((result,), (problem,)) = rank_subject(bare, StudyPlan((StudiedTechnique("ochiai"),), t_score=True))
    assert result.t_score is None
    assert "sources" in problem.cause
    text = to_markdown(StudyResult((replace(result, t_score=0.25), replace(result, technique="cp"))))
    assert "mean T-score" in text
    assert "| 0.2500 |" in text


def test_curve_is_a_distribution_function():
    found = found_within(RESULTS[:3], np.array([0, 0.01, 0.06, 0.2, 1]))
    assert found == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3, 1])


def test_picture_shows_every_technique_and_escapes_names():
    from xml.etree import ElementTree

    picture = exam_curves([*RESULTS, Result("a", "x", "<b>", 1, 10, 1, 1.0, 1)])
    root = ElementTree.fromstring(picture)
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 6  # three techniques in two panels
    assert "&lt;b&gt;, cloned" in picture


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_tables_for_people(mini_corpus, tmp_path, form):
    output, picture = tmp_path / f"study.{form}", tmp_path / "curves.svg"
    suspectra(
        *("study", "--corpus", mini_corpus, "--technique", "ochiai", "--technique", "cp", "--jobs", 1),
        *("--format", form, "--output", output, "--svg", picture, "--reference", "cp"),
    )
    text = output.read_text()
    for said in ("All subjects", "compiled", "Against cp", "Wilcoxon p", "Top-5 best/avg/worst"):
        assert said in text
    assert picture.read_text().startswith("<svg")
    if form == "html":
        assert "<svg" in text
    assert "What could not be ranked" in text


def test_a_technique_that_ranks_no_subject_is_named_once_with_the_reason():
    missing = Problem("shop", "SOBER", "it needs counts", "record with --counts")
    problems = (missing, replace(missing, file="office"), Problem("shop", "CP", "it has no edges", "record them"))
    text = to_markdown(StudyResult(tuple(RESULTS), problems))
    _, _, left_out = text.partition("## What could not be ranked\n\n")
    assert left_out.splitlines() == [
        "- 2 subjects, the first shop (SOBER): it needs counts. Fix: record with --counts",
        "- shop (CP): it has no edges. Fix: record them",
    ]


# -------------------------------------------------------------------------------------------------- the study file


def config(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_study_file(mini_corpus, tmp_path):
    path = config(
        tmp_path,
        """
        [study]
        techniques = ["ochiai", "jaccard+cp", { name = "dstar", exponent = 3, label = "D*3" }]
        clone = "both"
        corpus = "corpus"
        """,
    )
    read = StudyConfig.read(path)
    assert [choice.title for choice in read.plan.choices] == ["ochiai", "jaccard+cp", "D*3"]
    assert read.plan.clone == (False, True)
    assert len(read.subjects) == 3
    out, _ = suspectra("study", path, "--format", "csv", "--jobs", 1)
    assert "compiled,schedule,D*3,1," in out
    assert len(list((tmp_path / "study.results").iterdir())) == 3


@pytest.mark.slow
def test_a_study_of_ones_own_evidence(shop):
    files = sorted(path.relative_to(shop).as_posix() for path in (shop / "src").rglob("*.py"))
    (shop / "faults.txt").write_text(f"{files[-1]}:1-400\n")
    path = config(
        shop,
        """
        study.techniques = ["ochiai", "cp", "branch", "ochiai+cp"]
        [[subject]]
        name = "shop"
        coverage = ".coverage"
        junit = "results.xml"
        faults = "faults.txt"
        """,
    )
    out, err = suspectra("study", path, "--format", "csv", "--jobs", 1)
    assert [row[:3] for row in csv.reader(io.StringIO(out))][1:] == [
        ["shop", "shop", name] for name in ("ochiai", "cp", "branch", "ochiai+cp")
    ], err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("study = 3", "study"),
        ("[study", "can't be read"),
        ("[study]\ntechniques = ['nonsense']\ncorpus='corpus'", "no technique 'nonsense'"),
        ("[study]\ntechniques = [3]", "names no technique"),
        ("[study]\ntechniques = ['ochiai']\nclone = 'some'", "clone"),
        ("[study]\ntechniques = ['ochiai']", "names no subject"),
        ("[study]\ntechniques = []\ncorpus='corpus'", "no technique is chosen"),
        ("[study]\ntechniques = ['ochiai']\ncolour = 1", "'colour', which means nothing"),
        ("[study]\ntechniques = ['ochiai']\ncorpus = [1]", "not a list of folders"),
        ("[study]\ntechniques = ['ochiai']\n[[subject]]\nname = 'a'", "has no faults"),
        ("[study]\ntechniques = ['ochiai']\n[[subject]]\nname = 1\nfaults = 'f'", "name"),
        ("[study]\ntechniques = [{name = 'dstar', power = 2}]\ncorpus='corpus'", "no parameter 'power'"),
    ],
)
def test_bad_study_files(mini_corpus, tmp_path, text, said):
    with pytest.raises(UsageError) as caught:
        StudyConfig.read(config(tmp_path, text))
    assert said in str(caught.value)


def test_bad_usage(mini_corpus, tmp_path):
    for arguments in (
        (),
        ("--corpus", mini_corpus),
        ("--technique", "ochiai"),
        (tmp_path / "none.toml",),
        ("--corpus", tmp_path / "none", "--technique", "ochiai"),
        ("--corpus", mini_corpus, "--technique", "nonsense"),
        (config(tmp_path, ""), "--technique", "ochiai"),
    ):
        _, err = suspectra("study", *arguments, status=2)
        assert "rror" in err
        assert "Traceback" not in err


# ------------------------------------------------------------------------------------------------- one ranking


def test_evaluate_one_ranking(shop):
    files = sorted(path.relative_to(shop).as_posix() for path in (shop / "src").rglob("*.py"))
    faults = shop / "faults.txt"
    faults.write_text(f"# the fault\n{files[-1]}:1-400\n")
    evidence = ("--workspace", shop, "--coverage", shop / ".coverage", "--junit", shop / "results.xml")
    out, _ = suspectra("evaluate", *evidence, "--faults", faults, "--format", "json")
    reported = json.loads(out)
    ranking = json.loads(suspectra("rank", *evidence, "--format", "json")[0])
    best = min((s for s in ranking["suspects"] if s["file"] == files[-1]), key=lambda s: s["rank_average"])
    assert reported["technique"] == "evidence"
    assert reported["faults"][0]["rank_average"] == best["rank_average"]
    assert reported["scores"]["EXAM"]["first"] == best["rank_average"] / ranking["elements"]
    text, _ = suspectra("evaluate", *evidence, "--faults", faults, "--technique", "jaccard", "--break-ties", "cp")
    assert "faults in the first" in text
    assert "Steimann rank" in text


def test_scores_of_a_ranking_with_several_faults():
    matrix = [[1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0]]
    spectrum = Spectrum.from_matrix(matrix, failed=[True, True, False])
    report = make_technique("ochiai").localize(spectrum)
    # lines 1 and 2 tie at rank 1; 3 has 0.707, 4 has 0.5, 5 has 0
    appraisal = Appraisal.from_report(report, [np.array([3]), np.array([0]), np.array([4, 2])])
    assert [fault.location for fault in appraisal.faults] == ["program:1", "program:3", "program:4"]
    figures = appraisal.figures()
    assert figures["average rank"] == {"first": 1.5, "mean": (1.5 + 3 + 4) / 3, "last": 4}
    assert figures["standard rank"]["first"] == 1.0
    assert figures["Steimann rank"]["first"] == 1.5
    assert figures["Avg expense"]["first"] == pytest.approx(1 / 6)
    assert figures["Max expense"]["first"] == pytest.approx(2 / 6)
    assert figures["Expense (not examined)"]["first"] == pytest.approx(4 / 6)
    assert appraisal.top()[1] == (1, 0, 0)
    assert appraisal.top()[3] == (2, 2, 2)
    assert appraisal.lil > 0


def test_faults_outside_the_ranking():
    report = make_technique("ochiai").localize(Spectrum.from_matrix([[1, 0]], failed=[True]))
    with pytest.raises(NothingToRank, match="none of the faults"):
        Appraisal.from_report(report, [])


# ------------------------------------------------------------------------------------------------- fault lists


def test_fault_list():
    spectrum = Spectrum.from_matrix([[1, 1, 1]], failed=[True])
    faults = FaultList.parse("f.txt", "program:1 # first\n\n./program:2-3  program:9\nother.py:4\n")
    elements, problems = faults.elements(spectrum.elements)
    assert [found.tolist() for found in elements] == [[0], [1, 2]]
    assert [problem.place for problem in problems] == ["line 3", "line 4"]
    assert "perhaps 3" in problems[0].cure
    assert "not a measured file" in problems[1].cause


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "a.py\n", "a.py:0\n", "a.py:5-3\n", ":3\n", "a.py:99999999999\n", "a.py:x"]
)
def test_bad_fault_lists(text):
    with pytest.raises(EvidenceError):
        FaultList.parse("f.txt", text)


def test_unreadable_fault_list(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(EvidenceError):
            FaultList.read(path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EvidenceError):
        FaultList.read(tmp_path / "binary")
