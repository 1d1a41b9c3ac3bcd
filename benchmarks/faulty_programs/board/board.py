"""A board on which marks are put."""


class Board:
    def __init__(self, width, height):
        self.width = width
        self.rows = [["."] * width] * height

    def put(self, x, y, mark):
        if self.rows[y][x] != ".":
            return False
        self.rows[y][x] = mark
        return True

    def count(self, mark):
        return sum(row.count(mark) for row in self.rows)

    def lines(self):
        return ["".join(row) for row in self.rows]

    def won(self, mark):
        columns = [[row[x] for row in self.rows] for x in range(self.width)]
        for line in [*self.rows, *columns]:
            if all(one == mark for one in line):
                return True
        return False


def play(board, moves):
    mark = "x"
    for x, y in moves:
        if board.put(x, y, mark):
            if board.won(mark):
                return mark
            mark = "o" if mark == "x" else "x"
    return None
