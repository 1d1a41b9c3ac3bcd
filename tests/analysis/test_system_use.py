"""Which uses of files, programs and connections keep wrong values out of a module."""

import pytest

from suspectra.experiments.system_use import system_use


@pytest.mark.parametrize(
    ("source", "use"),
    [
        ("open('notes', 'w')", "open(…, 'w')"),
        ("open('notes', mode='ab')", "open(…, 'ab')"),
        ("open('notes', 'r+')", "open(…, 'r+')"),
        ("def f(mode):\n    open('notes', mode)", "open(…, …)"),
        ("import io\nio.open('notes', 'x')", "open(…, 'x')"),
        ("import io\ndef f(mode):\n    io.open('notes', mode)", "open(…, …)"),
        ("import gzip as g\ng.open('notes', 'wt')", "open(…, 'wt')"),
        ("import tarfile\ntarfile.open('notes', 'w:gz')", "open(…, 'w:gz')"),
        ("from zipfile import ZipFile\nZipFile('notes', 'a')", "ZipFile(…, 'a')"),
        ("archive.extractall()", ".extractall()"),
        ("import os as o\no.open('notes', o.O_RDWR)", "os.open"),
        ("from os import open as o\no('notes', 1)", "os.open"),
        ("from pathlib import Path as P\nP('notes').write_text('a')", ".write_text()"),
        ("def f(path):\n    path.unlink(missing_ok=True)", ".unlink()"),
        ("class File:\n    def unlink(self):\n        self.path.unlink()", ".unlink()"),
        (
            "from pathlib import Path\nclass Link:\n    def unlink(self): pass\n\ndef f(one):\n    one.unlink()",
            ".unlink()",
        ),
        ("from pathlib import Path\nPath('notes').open('w')", "open(…, 'w')"),
        ("import pathlib\npathlib.Path('notes').rename('old')", ".rename()"),
        ("import pathlib\npathlib.Path('notes').replace(target='old')", ".replace()"),
        ("import pathlib\npathlib.Path('notes').touch()", ".touch()"),
        ("from urllib import request", "urllib.request"),
        ("import http.client", "http.client"),
        ("import socketserver", "socketserver"),
        ("from multiprocessing import Pool", "multiprocessing"),
        (
            "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()",
            "concurrent.futures.ProcessPoolExecutor",
        ),
        ("import asyncio as a\nasync def f():\n    await a.open_connection('x', 1)", "asyncio.open_connection"),
        ("from asyncio import create_subprocess_exec", "asyncio.create_subprocess_exec"),
        ("import sqlite3\nsqlite3.connect('notes')", "sqlite3.connect"),
        ("import socket\nsocket.socket(socket.AF_INET)", "socket.socket"),
        ("from socket import create_connection", "socket.create_connection"),
        ("import subprocess as s\ns.run(['rm'], stdout=s.PIPE)", "subprocess.run"),
        ("import sqlite3.dbapi2 as db\ndb.connect('notes')", "sqlite3.dbapi2"),
        ("from sqlite3.dbapi2 import connect", "sqlite3.dbapi2"),
        ("import ssl\ndef f(use):\n    use(ssl)", "ssl"),
    ],
)
def test_what_may_do_harm_is_found(source, use):
    assert system_use(source.encode()) == use


@pytest.mark.parametrize(
    "source",
    [
        "open('notes')",
        "import os\ndef f(file):\n    file.seek(0, os.SEEK_END)\n    os.fsync(file)",
        "from os import O_RDONLY, getuid",
        "import socket\nname = socket.gethostname()",
        "import subprocess, ssl\ntry:\n    f()\nexcept (subprocess.CalledProcessError, ssl.SSLError):\n    pass",
        "import os\nclass Disk:\n    @property\n    def os(self):\n        return 1\n    @os.setter\n"
        "    def os(self, value):\n        self.name = value",
        "from sqlite3 import Row",
        "import sqlite3\nsqlite3.register_adapter(list, repr)\nsqlite3.register_converter('list', str)",
        "open('notes', 'rb')",
        "open('notes', mode='r', encoding='utf-8')",
        "from pathlib import Path\nPath('notes').open().read()",
        "from pathlib import Path\nPath('notes').read_text().replace('a', 'b')",
        "import datetime, pathlib\ndatetime.datetime.now().replace(hour=3)",
        "'a'.replace('a', 'b')",
        "from dataclasses import replace\nreplace(a)",
        "import concurrent.futures\nconcurrent.futures.ThreadPoolExecutor()",
        "import asyncio\nasyncio.run(f())",
        "import urllib.parse",
        "class Link:\n    def unlink(self):\n        self.next = None\n\ndef f(link):\n    link.unlink()",
        "def f(chart, number, name):\n    chart.open(number, name)",
        "import tempfile\ntempfile.mkdtemp()",
        "import zipfile\nzipfile.ZipFile('notes')",
        "writer.write('a')",
    ],
)
def test_what_only_reads_is_left_alone(source):
    assert system_use(source.encode()) == ""
