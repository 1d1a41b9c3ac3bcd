"""What is not installed where tests can't be collected or begin, from the error of Python or of pytest."""

from __future__ import annotations

import re

from suspectra_recorder.instrumentation.library_references import os

MISSING_FIXTURE = "FixtureLookupError"
"""What pytest raises where a test asks for a fixture that nothing has."""

_FIXTURE = re.compile(r"fixture '(\w+)' not found")
_MODULE = re.compile(r"No module named ['\"]([\w.]+)['\"]")
_REQUIRED = re.compile(r"Missing required plugins: ([\w.-]+)")
_OPTION = re.compile(r"unrecognized arguments: (?:.*? )?(--?[\w-]+)")
_PACKAGE_OF_OPTION = {
    "--cov": "pytest-cov",
    "--no-cov": "pytest-cov",
    "-n": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--timeout": "pytest-timeout",
    "--asyncio-mode": "pytest-asyncio",
    "--benchmark": "pytest-benchmark",
    "--reruns": "pytest-rerunfailures",
    "--randomly": "pytest-randomly",
    "--random-order": "pytest-random-order",
    "--html": "pytest-html",
    "--self-contained-html": "pytest-html",
    "--mypy": "pytest-mypy",
    "--ruff": "pytest-ruff",
    "--flake8": "pytest-flake8",
    "--black": "pytest-black",
    "--ds": "pytest-django",
    "--reuse-db": "pytest-django",
    "--create-db": "pytest-django",
    "--nomigrations": "pytest-django",
    "--snapshot-update": "syrupy",
    "--doctest-plus": "pytest-doctestplus",
    "--remote-data": "pytest-remotedata",
    "--mpl": "pytest-mpl",
    "--cases": "pytest-cases",
    "--hypothesis": "hypothesis",
    "--testmon": "pytest-testmon",
    "--sugar": "pytest-sugar",
    "--instafail": "pytest-instafail",
    "--socket": "pytest-socket",
    "--disable-socket": "pytest-socket",
    "--count": "pytest-repeat",
    "--markdown-docs": "pytest-markdown-docs",
    "--nbval": "nbval",
}
"""The plugins that bring options which projects have in their configuration; an option may begin with one of these."""
_PACKAGE_OF_FIXTURE = {
    "aiohttp_client": "pytest-aiohttp",
    "anyio_backend": "anyio",
    "benchmark": "pytest-benchmark",
    "cov": "pytest-cov",
    "data_regression": "pytest-regressions",
    "datadir": "pytest-datadir",
    "db": "pytest-django",
    "django_user_model": "pytest-django",
    "docker_services": "pytest-docker",
    "event_loop": "pytest-asyncio",
    "faker": "Faker",
    "file_regression": "pytest-regressions",
    "freezer": "pytest-freezer",
    "fs": "pyfakefs",
    "httpbin": "pytest-httpbin",
    "httpserver": "pytest-httpserver",
    "httpx_mock": "pytest-httpx",
    "lazy_datadir": "pytest-datadir",
    "mocker": "pytest-mock",
    "num_regression": "pytest-regressions",
    "postgresql": "pytest-postgresql",
    "qtbot": "pytest-qt",
    "requests_mock": "requests-mock",
    "respx_mock": "respx",
    "session_mocker": "pytest-mock",
    "shared_datadir": "pytest-datadir",
    "snapshot": "syrupy",
    "socket_enabled": "pytest-socket",
    "subtests": "pytest-subtests",
    "testrun_uid": "pytest-xdist",
    "time_machine": "time-machine",
    "transactional_db": "pytest-django",
    "worker_id": "pytest-xdist",
}
"""The plugins that bring fixtures which tests often ask for."""
_PACKAGE_OF_MODULE = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "git": "GitPython",
    "PIL": "Pillow",
    "pkg_resources": "setuptools",
    "sklearn": "scikit-learn",
    "xdist": "pytest-xdist",
    "yaml": "PyYAML",
}

_INSTALLABLE = ("pyproject.toml", "setup.py")


def own_module(root: str, module: str) -> str:
    """Where a project has a module or package of its own, relative to its root; empty where it has none."""
    path = module.replace(".", "/")
    found = (f"{folder}{path}{end}" for folder in ("", "src/") for end in (".py", ""))
    return next((name for name in found if os.path.lexists(os.path.join(root, name))), "")


def is_installable(root: str) -> bool:
    """Whether pip can install the project in a folder."""
    return any(os.path.lexists(os.path.join(root, name)) for name in _INSTALLABLE)


def missing_module(exception: str, message: str) -> str:
    """The module that can't be imported as it is not there; empty for other errors."""
    found = _MODULE.search(message) if exception in ("ModuleNotFoundError", "ImportError") else None
    return found[1] if found else ""


def missing_package(exception: str, message: str) -> str:
    """What pip is to install so that it is there; empty where that is not known."""
    if module := missing_module(exception, message):
        top = module.partition(".")[0]
        return _PACKAGE_OF_MODULE.get(top, top)
    if found := _REQUIRED.search(message):
        return found[1].rstrip(".")
    if exception == MISSING_FIXTURE:
        fixture = _FIXTURE.search(message)
        return _PACKAGE_OF_FIXTURE.get(fixture[1], "") if fixture else ""
    option = _OPTION.search(message)
    if option is None:
        return ""
    for known in sorted(_PACKAGE_OF_OPTION, key=len, reverse=True):
        if option[1] == known or (known.startswith("--") and option[1].startswith(f"{known}-")):
            return _PACKAGE_OF_OPTION[known]
    return ""
