"""Which folder is served when a client opens one inside a project."""

import shutil
from pathlib import Path

import pytest

from suspectra_server.session.roots import root_of


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Make folders and empty files below a home: a name that ends in "/" is a folder."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")

    def make(*names):
        for name in names:
            path = tmp_path / "home" / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.touch()
        return tmp_path / "home"

    return make


@pytest.mark.parametrize("marker", ["pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini", ".git/"])
def test_a_folder_inside_a_project_means_the_project(place, marker):
    home = place(f"work/shop/{marker}", "work/shop/src/shop/")
    assert root_of(home / "work/shop/src/shop") == home / "work/shop"


def test_a_folder_that_is_a_project_or_was_recorded_in_means_itself(place):
    home = place("shop/.suspectra/", "shop/part/tox.ini", "shop/other/.suspectra/", "shop/other/x/")
    assert root_of(home / "shop/part") == home / "shop/part"
    assert root_of(home / "shop/other") == home / "shop/other"


def test_evidence_counts_more_than_a_nearer_project_file(place):
    home = place("shop/.suspectra/", "shop/part/setup.cfg", "shop/part/src/")
    assert root_of(home / "shop/part/src") == home / "shop"


def test_a_folder_outside_any_project_means_itself(place):
    home = place("notes/today/")
    assert root_of(home / "notes/today") == home / "notes/today"


def test_the_search_ends_with_the_repository(place):
    home = place("all/.suspectra/", "all/shop/.git/", "all/shop/src/")
    assert root_of(home / "all/shop/src") == home / "all/shop"


def test_the_search_ends_before_the_home_folder_and_before_folders_of_everybody(place):
    home = place(".suspectra/", ".git/", "pyproject.toml", "notes/", "drop/pyproject.toml", "drop/mine/")
    (home / "drop").chmod(0o1777)
    assert root_of(home / "notes") == home / "notes"
    assert root_of(home / "drop/mine") == home / "drop/mine"


# through the server


def test_a_client_that_opens_the_folder_of_a_file_gets_the_projects_suspects(client, shop):
    client.start(shop / "shop")
    assert client.suspects()["suspects"][0]["file"] == "shop/vouchers.py"
    assert ("shop/vouchers.py", 17) in client.marks(shop)


@pytest.mark.slow
def test_a_later_recording_is_found_there_too(client, shop, record):
    shutil.rmtree(shop / ".suspectra")
    client.start(shop / "shop")
    assert client.statuses[-1]["state"] == "noEvidence"
    record(shop)
    client.wait_for_state("ready")


def test_of_several_folders_each_means_itself(client, shop):
    client.start(shop / "shop", shop / "tests")
    assert client.statuses[-1]["state"] == "noEvidence"
