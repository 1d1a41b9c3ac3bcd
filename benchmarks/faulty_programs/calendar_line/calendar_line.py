"""Entries of a calendar, a line each: `2024-03-05 Title @place`."""

from datetime import datetime, timedelta


def parse(line):
    date, _, rest = line.partition(" ")
    title, _, place = rest.partition("@")
    return {"on": datetime.strptime(date, "%Y-%m-%d"), "title": title.strip(), "place": place or None}


def repeated(entry, times, days=7):
    result = []
    for number in range(times):
        result.append({**entry, "on": entry["on"] + timedelta(days=number * days)})
    return result


def line_of(entry):
    text = entry["on"].strftime("%Y-%d-%m") + " " + entry["title"]
    if entry["place"]:
        text += " @" + entry["place"]
    return text


def weekly(line, times):
    return [line_of(entry) for entry in repeated(parse(line), times)]
