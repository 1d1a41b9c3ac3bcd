"""Groups words and counts them."""


def grouped(words, key, found={}):
    for word in words:
        found.setdefault(key(word), []).append(word)
    return found


def first_letter(word):
    return word[:1].lower()


def anagram(word):
    return "".join(sorted(word.lower()))


def compare(old, new):
    before = {letter: len(words) for letter, words in grouped(old, first_letter).items()}
    after = {letter: len(words) for letter, words in grouped(new, first_letter).items()}
    letters = sorted({*before, *after})
    return {letter: after.get(letter, 0) - before.get(letter, 0) for letter in letters}


def anagrams(words):
    return [sorted(same) for same in grouped(words, anagram, {}).values() if len(same) > 1]
