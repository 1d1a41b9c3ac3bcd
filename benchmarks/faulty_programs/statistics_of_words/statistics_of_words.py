"""Counts words of a text."""

STOP = ("the", "a", "of", "and")


def clean(word):
    return word.strip(".,;:!?()").lower()


def words(text):
    return [word for word in (clean(part) for part in text.split()) if word]


def counts(text, stop=STOP):
    found = {}
    for word in words(text):
        if word not in stop:
            found[word] = found.get(word, 0) + 1
    return found


def most_common(text, number):
    found = counts(text)
    ordered = sorted(found, key=lambda word: (-found[word], word))
    return ordered[:number]


def common_to(first, second):
    ours, theirs = counts(first), counts(second)
    return sorted(word for word in ours if word in theirs)


def concordance(text, word, width=2):
    every = words(text)
    found = []
    for position, other in enumerate(every):
        if other == word:
            found.append(" ".join(every[max(0, position - width) : position + width + 1]))
    return found
