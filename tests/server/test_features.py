"""What a client is shown: marks, lenses, hovers, hints, symbols, actions."""

WARNING, INFORMATION, HINT = 2, 3, 4


def severity(rank_best):
    # the shop's ties are such that the best rank decides
    return WARNING if rank_best < 5 else INFORMATION if rank_best < 10 else HINT


def test_marks_stand_where_the_markers_say(client, shop, markers):
    client.start(shop)
    print(client.statuses, client.received[-3:])
    assert client.marks(shop) == {place: severity(rank) for place, rank in markers(shop).items()}
