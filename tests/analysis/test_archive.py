"""Recordings in ZIP files, as CI services keep them."""

import random
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.cli.main import run
from suspectra.evidence import archive
from suspectra.evidence.archive import unpack

CHECKOUT = Path(__file__).parent.parent / "fixtures" / "checkout"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    root = tmp_path_factory.mktemp("archive") / "checkout"
    shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=120)
    return root


def zipped(file, entries):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in entries.items():
            made.writestr(name, data)
    return file


@pytest.fixture
def artifact(recorded, tmp_path):
    logs = {path.name: path.read_bytes() for path in (recorded / ".suspectra" / "recording").glob("*.log")}
    return zipped(tmp_path / "artifact.ZIP", {f".suspectra/recording/{name}": data for name, data in logs.items()})


@pytest.fixture
def suspectra(recorded, capsys, monkeypatch):
    monkeypatch.chdir(recorded)

    def call(*arguments):
        status = run([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return call


@pytest.mark.slow
def test_an_artifact_is_ranked_like_the_recording(suspectra, artifact):
    _, direct, _ = suspectra("rank", "--format", "csv")
    status, unpacked, err = suspectra("rank", "--format", "csv", "--recording", artifact)
    assert (status, unpacked, err) == (0, direct, "")


def test_its_name_is_shown_and_nothing_stays_behind(suspectra, artifact, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, out, _ = suspectra("rank", "--recording", artifact)
    assert "artifact.ZIP)" in out
    assert [path.name for path in tmp_path.iterdir()] == ["artifact.ZIP"]


def test_shards_in_archives_are_merged(suspectra, artifact, tmp_path):
    status, _, _ = suspectra("merge", tmp_path / "merged", artifact)
    assert status == 0
    _, direct, _ = suspectra("rank", "--format", "csv")
    _, merged, _ = suspectra("rank", "--format", "csv", "--recording", tmp_path / "merged")
    assert merged == direct


HOSTILE = {
    "above": {"1.log": b"a", "../2.txt": b"b"},
    "absolute": {"1.log": b"a", "/tmp/suspectra-escaped/2.txt": b"b"},
    "deep": {"recording/1.log": b"a", "recording/../../2.txt": b"b"},
    "windows": {"1.log": b"a", "..\\..\\2.txt": b"b"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_written_outside_of_the_folder(tmp_path, name):
    into = tmp_path / "inner" / "into"
    into.mkdir(parents=True)
    unpack(zipped(tmp_path / "hostile.zip", HOSTILE[name]), into)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()) == [
        "hostile.zip",
        "inner/into/1.log",
    ]
    assert not Path("/tmp/suspectra-escaped").exists()


def test_thousands_of_logs_of_the_same_name_are_not_compared_with_each_other(tmp_path, monkeypatch):
    """Each looks once for a free name, or a few times, not once for each of the logs before it."""
    into, looked, exists = tmp_path / "into", [], Path.exists
    into.mkdir()
    names = ["1-1.log", *(f"shard-{number}/1.log" for number in range(1_000)), "last/2.log"]
    file = zipped(tmp_path / "shards.zip", {name: name.encode() for name in names})
    monkeypatch.setattr(Path, "exists", lambda path: looked.append(path) or exists(path))
    unpack(file, into)
    monkeypatch.undo()
    assert sorted(path.read_text() for path in into.iterdir()) == sorted(names)
    assert len(looked) <= 2 * len(names)


def test_a_link_is_unpacked_as_a_file(tmp_path):
    link = zipfile.ZipInfo("1.log")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    into = tmp_path / "into"
    into.mkdir()
    unpack(zipped(tmp_path / "link.zip", {link: "/etc/passwd"}), into)
    assert not (into / "1.log").is_symlink()
    assert (into / "1.log").read_text() == "/etc/passwd"


@pytest.mark.parametrize(
    ("entries", "cause"),
    [
        ({"notes.txt": b"a"}, "it contains no recording"),
        ({}, "it contains no recording"),
        ({"a/tests.log": b"a", "b/tests.log": b"b"}, "several recordings of C or"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, entries, cause):
    with pytest.raises(EvidenceError, match=cause):
        unpack(zipped(tmp_path / "other.zip", entries), tmp_path)


def test_a_recording_of_compiled_tests_keeps_its_folders(tmp_path):
    into = tmp_path / "into"
    into.mkdir()
    entries = {"recording-c/tests.log": b"a", "recording-c/profiles/1.log": b"b", "notes.txt": b"c"}
    unpack(zipped(tmp_path / "c.zip", entries), into)
    assert sorted(path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()) == [
        "profiles/1.log",
        "tests.log",
    ]


def test_an_archive_that_is_too_large_is_refused(tmp_path, monkeypatch):
    file = zipped(tmp_path / "large.zip", {"1.log": bytes(1 << 20)})
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 19)
    with pytest.raises(EvidenceError, match="it has more than"):
        unpack(file, tmp_path)


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path):
    file = zipped(tmp_path / "bomb.zip", {"1.log": bytes(1 << 20)})
    data = bytearray(file.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 10)  # the uncompressed size in the central directory
    file.write_bytes(data)
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(EvidenceError, match=r"it can't be unpacked|it is damaged"):
        unpack(file, into)
    assert sum(path.stat().st_size for path in into.iterdir()) < 1 << 20


@pytest.mark.parametrize("cut", [0, 10, 60])
def test_a_damaged_archive_is_refused_in_words(suspectra, artifact, cut):
    artifact.write_bytes(artifact.read_bytes()[:cut])
    status, _, err = suspectra("rank", "--recording", artifact)
    assert status == 2
    assert f"{artifact}: it is damaged, or no ZIP file. Fix: name an archive of the folder .suspectra/recording" in err


@pytest.mark.parametrize("damaged", [(70, b"\xff"), (70, bytes(30)), (120, b"damage"), (300, bytes(5))])
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_inside_of_an_archive_is_refused_in_words(tmp_path, damaged, method):
    file, into = tmp_path / "damaged.zip", tmp_path / "into"
    into.mkdir()
    with zipfile.ZipFile(file, "w", method) as made:
        made.writestr("1.log", random.Random(1).randbytes(2_000).hex())
    at, data = damaged
    whole = bytearray(file.read_bytes())
    whole[at : at + len(data)] = data
    file.write_bytes(whole)
    with pytest.raises(EvidenceError, match=r"it is damaged|it can't be unpacked"):
        unpack(file, into)


def test_a_refusal_names_no_temporary_file(tmp_path):
    file, into = tmp_path / "odd.zip", tmp_path / "into"
    into.mkdir()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("1.log", "a")
        made.writestr("1.log/notes.txt", "a")
    with pytest.raises(EvidenceError) as refused:
        unpack(file, into)
    assert str(into) not in str(refused.value)


@pytest.mark.parametrize("log", ["1.log", "tests.log"])
def test_folders_in_each_other_are_refused_and_leave_nothing_behind(suspectra, tmp_path, monkeypatch, log):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    file = zipped(tmp_path / "deep.zip", {log: b"", "a/" * 1_900 + "file": b""})
    status, _, err = suspectra("rank", "--recording", file)
    assert status == 2
    assert "more than 8 of its folders are in each other" in err
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("name", ["results.log", "shop.py"])
def test_a_file_that_is_no_recording_is_named_as_such(suspectra, tmp_path, name):
    (tmp_path / name).write_text("text")
    status, _, err = suspectra("rank", "--recording", tmp_path / name)
    assert status == 2
    assert (
        "it is not the folder of a recording. Fix: name the folder of a recording, such as .suspectra/recording" in err
    )
