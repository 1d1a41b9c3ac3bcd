def matches(pattern, text):
    i = 0
    j = 0
    star = -1
    mark = 0
    while j < len(text):
        if i < len(pattern) and (pattern[i] == "?" or pattern[i] == text[j]) and pattern[i] != "*":
            i = i + 1
            j = j + 1
        elif i < len(pattern) and pattern[i] == "*":
            star = i
            mark = j
            i = i + 1
        elif star >= 0:
            i = star + 1
            mark = mark + 1
            j = mark
        else:
            return False
    while i < len(pattern) and pattern[i] == "*":
        i = i + 1
    return i == len(pattern)
