"""A text that can be undone and redone."""


class Text:
    def __init__(self, text=""):
        self.text = text
        self.past = []
        self.future = []

    def change(self, text):
        self.text = text
        self.past.append(self.text)
        self.future.clear()

    def insert(self, position, what):
        if not 0 <= position <= len(self.text):
            raise IndexError(position)
        self.change(self.text[:position] + what + self.text[position:])

    def delete(self, start, end):
        self.change(self.text[:start] + self.text[end:])

    def undo(self):
        if not self.past:
            return False
        self.future.append(self.text)
        self.text = self.past.pop()
        return True

    def redo(self):
        if not self.future:
            return False
        self.past.append(self.text)
        self.text = self.future.pop()
        return True
