"""Evaluates expressions such as 2+3*(4-1)."""


class Parser:
    def __init__(self, text):
        self.text = text.replace(" ", "")
        self.at = 0

    def peek(self):
        return self.text[self.at : self.at + 1]

    def take(self):
        self.at += 1
        return self.text[self.at - 1]

    def number(self):
        digits = ""
        while self.peek().isdigit():
            digits += self.take()
        if not digits:
            raise ValueError(f"a number is missing at {self.at}")
        return int(digits)

    def factor(self):
        if self.peek() == "(":
            self.take()
            value = self.total()
            self.take()
            return value
        return self.number()

    def product(self):
        value = self.factor()
        while self.peek() == "*":
            self.take()
            value *= self.factor()
        return value

    def total(self):
        value = self.product()
        if self.peek() in ("+", "-"):
            if self.take() == "+":
                value += self.total()
            else:
                value -= self.total()
        return value


def evaluate(text):
    parser = Parser(text)
    value = parser.total()
    if parser.peek():
        raise ValueError(f"{parser.peek()!r} is not expected")
    return value
