"""Modules of a project that were compiled in place: they are named, with what can be done."""

import subprocess
import sys
import sysconfig

import pytest

from suspectra.cli.main import run
from suspectra.evidence.recording import RecordingSource

SOURCE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "fast", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&definition); }
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["fast", "shop/fast"])
@pytest.mark.parametrize(
    ("kind", "cure"), [(".pyx", "Cython.Coverage"), (".py", "move fast.{} away while the tests are recorded")]
)
def test_a_module_compiled_in_place_is_named_with_a_cure(tmp_path, monkeypatch, place, kind, cure):
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    base = tmp_path / place
    base.parent.mkdir(exist_ok=True)
    if "/" in place:
        (base.parent / "__init__.py").touch()
    (tmp_path / "fast.c").write_text(SOURCE)
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run(["cc", "-shared", "-fPIC", include, tmp_path / "fast.c", "-o", f"{base}{suffix}"], check=True)
    base.with_suffix(kind).touch()
    (tmp_path / "app.py").write_text("def f():\n    return 1\n")
    module = place.replace("/", ".")
    (tmp_path / "test_app.py").write_text(f"import app\nimport {module}\n\ndef test(): assert app.f() == 1\n")
    monkeypatch.chdir(tmp_path)
    assert run(["record", "--", sys.executable, "-m", "pytest", "-q"]) == 0
    (problem,) = RecordingSource(tmp_path).read().problems
    assert problem.file == f"{place}{kind}"
    assert f"is compiled, and fast{suffix} was imported" in problem.cause
    assert cure.format(suffix.lstrip(".")) in problem.cure
