"""Lends connections, and takes them back."""


class Busy(Exception):
    pass


class Connection:
    def __init__(self, number):
        self.number = number
        self.sent = []

    def send(self, text):
        if not text:
            raise ValueError("nothing to send")
        self.sent.append(text)
        return len(text)


class Pool:
    def __init__(self, size):
        self.free = [Connection(number) for number in range(size)]
        self.lent = []

    def lend(self):
        if not self.free:
            raise Busy
        connection = self.free.pop(0)
        self.lent.append(connection)
        return connection

    def back(self, connection):
        self.lent.remove(connection)
        self.free.append(connection)

    def send(self, text):
        connection = self.lend()
        length = connection.send(text)
        self.back(connection)
        return length


def send_all(pool, texts):
    sent, refused = 0, 0
    for text in texts:
        try:
            sent += pool.send(text)
        except ValueError:
            refused += 1
    return sent, refused
