"""A file appears under its name when it is complete, or not at all."""

import os

import pytest

from suspectra_recorder.complete_file import complete_file


def test_readers_see_the_old_file_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "notes"
    path.write_bytes(b"old")
    with complete_file(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["notes"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path, error):
    path = tmp_path / "notes"
    path.write_bytes(b"old")

    def write_half():
        with complete_file(path) as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["notes"]


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"precious")
    link.symlink_to(target)
    with complete_file(link) as stream:
        stream.write(b"new")
    assert target.read_bytes() == b"precious"
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("umask", "mode", "expected"), [(0o022, 0o666, 0o644), (0o022, 0o600, 0o600), (0o077, 0o666, 0o600)]
)
def test_its_rights_are_those_of_any_new_file(tmp_path, umask, mode, expected):
    previous = os.umask(umask)
    try:
        with complete_file(tmp_path / "notes", mode) as stream:
            stream.write(b"")
    finally:
        os.umask(previous)
    assert (tmp_path / "notes").stat().st_mode & 0o777 == expected


def test_a_folder_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), complete_file(tmp_path / "none" / "notes"):
        pass
