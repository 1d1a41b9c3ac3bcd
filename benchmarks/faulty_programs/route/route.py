"""Shortest ways in a graph with lengths."""


def neighbours(roads, place):
    for first, second, length in roads:
        if first == place:
            yield second, length
        elif second == place:
            yield first, length


def nearest(distances, done):
    best = None
    for place, distance in distances.items():
        if place not in done and (best is None or distance < distances[best]):
            best = place
    return best


def shortest(roads, start, end):
    distances = {start: 0}
    before = {}
    done = set()
    while (place := nearest(distances, done)) is not None:
        if place == end:
            break
        done.add(place)
        for other, length in neighbours(roads, place):
            distance = distances[place] + length
            if other not in distances:
                distances[other] = distance
                before[other] = place
            elif distance < distances[other]:
                distances[other] = distance
    return distances.get(end), way(before, start, end)


def way(before, start, end):
    places = [end]
    while places[-1] != start:
        if places[-1] not in before:
            return []
        places.append(before[places[-1]])
    return places[::-1]
