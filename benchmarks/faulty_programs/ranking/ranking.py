"""The table of a league."""


def points(own, other):
    if own > other:
        return 3
    return 1 if own == other else 0


def table(games):
    teams = {}
    for first, second, goals, against in games:
        for name, own, other in ((first, goals, against), (second, against, goals)):
            team = teams.setdefault(name, {"name": name, "points": 0, "goals": 0})
            team["points"] += points(own, other)
            team["goals"] += own - other
    return teams


def order(games):
    teams = list(table(games).values())
    teams.sort(key=lambda team: team["name"])
    teams.sort(key=lambda team: (team["points"], team["goals"]))
    return [team["name"] for team in teams]


def winner(games):
    ordered = order(games)
    return ordered[0] if ordered else None
