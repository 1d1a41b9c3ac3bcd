VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

def to_int(text):
    total = 0
    previous = 0
    for letter in reversed(text):
        if letter not in VALUES:
            return -1
        value = VALUES[letter]
        if value < previous:
            total = total - value
        else:
            total = total + value
            previous = value
    return total
