"""Settings: taken when they change, and named when they can't be used."""

import json


def test_settings_change_while_running(client, shop):
    client.start(shop)
    assert len(client.marks(shop)) == 11
    client.configuration = {"top": 3, "technique": "tarantula"}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: len(client.marks(shop)) == 3)
    client.configuration = {"top": 3, "diagnostics": "off", "codeLens": False}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: len(client.marks(shop)) == 0)
    uri = (shop / "shop/vouchers.py").as_uri()
    assert client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []
    assert len(client.suspects()["suspects"]) == 3


def test_settings_are_pushed_by_a_client_that_can_not_be_asked(client, shop):
    client.start(shop, capabilities={}, options={"suspectra": {"top": 5, "diagnostics": "all"}})
    client.wait(lambda: len(client.marks(shop)) == 5)
    client.notify("workspace/didChangeConfiguration", {"settings": {"suspectra": {"top": 2}}})
    client.wait(lambda: len(client.marks(shop)) == 2)


def test_of_a_flood_of_changed_settings_the_newest_counts(client, shop):
    client.start(shop)
    flood = b""
    for top in range(500, 0, -1):
        change = {"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": {"settings": {"top": top}}}
        body = json.dumps(change).encode()
        flood += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    client.asked.clear()
    client.send_bytes(flood)
    client.wait(lambda: len(client.marks(shop)) == 1)
    assert sum(question["method"] == "workspace/configuration" for question in client.asked) < 100


def test_a_bad_setting_is_reported_once_and_its_default_used(client, shop):
    client.start(shop, capabilities={}, options={"technique": "ochia", "top": 0, "cloneFailed": None})
    client.wait(lambda: len(client.messages) == 2)
    reported = client.messages[0]["message"]
    assert reported.startswith(
        "The setting suspectra.technique is not usable (there is no technique 'ochia': did you mean"
    )
    assert reported.endswith('so the default is used: "evidence"')
    assert "suspectra.top" in client.messages[1]["message"]
    client.notify("workspace/didChangeConfiguration", {"settings": {"technique": "ochia", "top": 0}})
    client.ask_until(lambda: client.suspects()["technique"] == "evidence")
    assert len(client.messages) == 2


def test_notifications_can_be_silenced(client, shop):
    client.start(shop, options={"technique": "ochia", "showNotifications": "off"}, capabilities={})
    client.wait(lambda: client.logged)
    assert not client.messages
