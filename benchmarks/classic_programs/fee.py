def fee(weight, distance, express, member):
    if weight <= 0 or distance < 0:
        return -1
    base = 500
    if weight > 20:
        base = base + (weight - 20) * 30
    if distance > 100:
        base = base + (distance - 100) * 2
    if express:
        base = base * 2
    if member:
        if base > 1000:
            base = base - 200
        else:
            base = base - 50
    if base > 5000:
        base = 5000
    return base
