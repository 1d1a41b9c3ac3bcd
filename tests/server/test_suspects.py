"""What lists of suspects are given: failing tests first, and of each suspect what it is and why it stands out."""

from collections import defaultdict


def test_a_group_says_which_tests_fail_by_what_and_where(client, shop, find_line):
    client.start(shop)
    tests = shop / "tests/test_shop.py"
    (group,) = client.suspects()["groups"]
    assert group["names"] == "test_never_below_zero and 2 more"
    assert group["failure"] == "AssertionError: expected 0, actual -4"
    line = find_line(tests, 'total("20") == 0')
    assert (group["uri"], group["range"]["start"]) == (tests.as_uri(), {"line": line, "character": 4})
    assert len(group["tests"]) == 3

    # it follows its line, and leads nowhere once that was edited
    uri = client.open(tests)
    client.edit(uri, (0, 0), (0, 0), "# one line more\n")
    client.ask_until(lambda: client.suspects()["groups"][0]["range"]["start"]["line"] == line + 1)
    client.edit(uri, (line + 1, 4), (line + 1, 4), "x = ", version=3)
    client.ask_until(lambda: client.suspects()["groups"][0]["range"]["start"]["line"] != line + 1)


def test_a_suspect_has_its_text_and_its_tie(client, shop):
    client.start(shop)
    suspects = client.suspects()["suspects"]
    ties = defaultdict(list)
    for suspect in suspects:
        lines = (shop / suspect["file"]).read_text().splitlines()
        assert suspect["source"] == lines[suspect["line"] - 1].strip()
        assert (suspect["raised"], suspect["repairs"]) == (False, 0)  # its tests fail in assertions of their own
        ties[suspect["tie"]].append(suspect)
    for tied in ties.values():
        assert len({(one["ef"], one["ep"]) for one in tied}) == 1
    # what the tests leave equal may have an order all the same
    assert any(len({one["rankBest"] for one in tied}) > 1 for tied in ties.values())


def test_functions_come_in_their_order_and_the_steps_follow(client, shop):
    client.start(shop)
    suspects = client.suspects()["suspects"]
    by_rank = sorted(suspects, key=lambda one: one["rankBest"])
    assert suspects == sorted(by_rank, key=lambda one: one["functionRank"])
    assert suspects != by_rank
    steps = [client.command("nextSuspect")["range"] for _ in suspects]
    assert steps == [one["range"] for one in suspects]
