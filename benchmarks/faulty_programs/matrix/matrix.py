"""Matrices as lists of rows."""


def size(rows):
    return len(rows), len(rows[0]) if rows else 0


def transposed(rows):
    height, width = size(rows)
    return [[rows[i][j] for i in range(height)] for j in range(width)]


def product(left, right):
    height, inner = size(left)
    _, width = size(right)
    result = []
    for i in range(height):
        row = []
        for j in range(width):
            row.append(sum(left[i][k] * right[j][k] for k in range(inner)))
        result.append(row)
    return result


def power(rows, exponent):
    height, _ = size(rows)
    result = [[int(i == j) for j in range(height)] for i in range(height)]
    for _ in range(exponent):
        result = product(result, rows)
    return result
