"""The page of `suspectra report --html` in a real browser."""

import subprocess
import sys

APP = (
    "def find(rows, wanted):\n"
    + "".join(f"{'    ' * depth}for item_{depth} in rows:\n" for depth in range(1, 12))
    + f"{'    ' * 12}if wanted == item_1: return {' + '.join(f'item_{n}' for n in range(1, 12))}\n"
    + "    return wanted\n"
)
TESTS = "import app\n\ndef test():\n    assert app.find([1], 1) == 1\n"


def test_deeply_indented_code_is_not_cut(new_page, tmp_path):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "test_app.py").write_text(TESTS)
    suspectra = [sys.executable, "-m", "suspectra"]
    assert subprocess.run([*suspectra, "record"], cwd=tmp_path, check=False).returncode == 1
    subprocess.run([*suspectra, "report", "--html", "page.html"], cwd=tmp_path, check=True)
    page = new_page(1300, 860)
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("#source .tx")
    assert page.locator("#source .tx").count() >= APP.count("\n")
    wide = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth).map(node => node.textContent)"
    assert page.locator("#source, #source .tx").evaluate_all(wide) == []
    page.close()
