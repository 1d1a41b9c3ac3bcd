def tokens(text):
    out = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == " ":
            i = i + 1
        elif c in "+-*()":
            out.append(c)
            i = i + 1
        elif "0" <= c <= "9":
            n = 0
            while i < len(text) and "0" <= text[i] <= "9":
                n = n * 10 + int(text[i])
                i = i + 1
            out.append(n)
        else:
            raise ValueError(c)
    return out

def expr(toks, i):
    value, i = term(toks, i)
    while i < len(toks):
        if toks[i] == "+":
            right, i = term(toks, i + 1)
            value = value + right
        elif toks[i] == "-":
            right, i = term(toks, i + 1)
            value = value - right
        else:
            break
    return value, i

def term(toks, i):
    value, i = atom(toks, i)
    while i < len(toks) and toks[i] == "*":
        right, i = atom(toks, i + 1)
        value = value * right
    return value, i

def atom(toks, i):
    if toks[i] == "(":
        value, i = expr(toks, i + 1)
        return value, i + 1
    if toks[i] == "-":
        value, i = atom(toks, i + 1)
        return -value, i
    return toks[i], i + 1

def calc(text):
    toks = tokens(text)
    if not toks:
        return 0
    return expr(toks, 0)[0]
