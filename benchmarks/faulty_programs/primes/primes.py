"""Numbers and their factors."""


def is_prime(number):
    if number < 2:
        return False
    for divisor in range(2, number):
        if number % divisor == 0:
            return False
        return True
    return True


def factors(number):
    found = []
    divisor = 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


def primes(below):
    return [number for number in range(below) if is_prime(number)]


def twins(below):
    found = primes(below)
    return [(first, second) for first, second in zip(found, found[1:]) if second - first == 2]
