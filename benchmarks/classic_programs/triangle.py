def kind(a, b, c):
    if a <= 0 or b <= 0 or c <= 0:
        return "invalid"
    same = 0
    if a == b:
        same = same + 1
    if a == c:
        same = same + 2
    if b == c:
        same = same + 3
    if same == 0:
        if a + b <= c or b + c <= a or a + c <= b:
            return "invalid"
        return "scalene"
    if same > 3:
        return "equilateral"
    if same == 1 and a + b > c:
        return "isosceles"
    if same == 2 and a + c > b:
        return "isosceles"
    if same == 3 and b + c > a:
        return "isosceles"
    return "invalid"
