"""No public function takes or returns `Any`: what comes from outside is an `object` until it is checked."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]

UNTRUSTED = "JSON that is not trusted: it is read field by field, and an error on the way becomes a problem"
OF_THE_PROGRAM = "a value of the program that is run, of any type, which goes back into it"
ALLOWED = {
    "suspectra.base.arrays.dense_product": "of any type of number, as numpy's own types say it",
    "suspectra.c.recording.gcovr.Gcovr.read": UNTRUSTED,
    "suspectra.evidence.c.exclusions.Exclusions.from_fields": UNTRUSTED,
    "suspectra.evidence.formats.gcov_json.json_of": UNTRUSTED,
    "suspectra.evidence.formats.gcov_json.read_gcov_file": UNTRUSTED,
    "suspectra.evidence.formats.gcovr.gcovr_table": UNTRUSTED,
    "suspectra_recorder.experiments.inputs.characters.plain": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.characters.text_of": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.arguments_of": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.call": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.change": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.contains": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.default": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.item": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.join": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_marks.InputMarks.returns": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.input_parts.InputParts.replaced": OF_THE_PROGRAM,
    "suspectra_recorder.experiments.inputs.symbols.plain_number": OF_THE_PROGRAM,
    "suspectra_recorder.instrumentation.monitoring.Monitor.store_into": "a file that the import hook knows, not this",
    "suspectra_recorder.instrumentation.outline.Outline.from_json": UNTRUSTED,
    "suspectra_recorder.log.collection.CollectionError.from_dict": UNTRUSTED,
    "suspectra_recorder.log.frames.read_json": UNTRUSTED,
    "suspectra_recorder.log.frames.split_json": UNTRUSTED,
    "suspectra_recorder.log.stack.Stack.from_dict": UNTRUSTED,
    "suspectra.recording.summary.summary_of": "what the processes that recorded wrote as JSON",
    "suspectra.recording.traces.RunFiles.lines": "what the processes that recorded wrote as JSON",
    "suspectra_recorder.options.Option.combine": "values of the option's own type",
}


def public_functions(node, name):
    """Public functions and methods below a node, by their full names; those inside of functions are not public."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_functions(child, f"{name}.{child.name}")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not child.name.startswith("_") or child.name.startswith("__"):
                yield f"{name}.{child.name}", child
        elif not isinstance(child, ast.ClassDef):
            yield from public_functions(child, name)


def takes_any(function):
    parts = [argument.annotation for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
    names = (node for part in (*parts, function.returns) if part for node in ast.walk(part))
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in names)


def test_no_public_function_takes_or_returns_any():
    found = set()
    for top in (ROOT / "analysis", ROOT / "server"):
        for path in top.rglob("*.py"):
            module = ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {name for name, function in public_functions(tree, module) if takes_any(function)}
    assert found == ALLOWED.keys(), found ^ ALLOWED.keys()
