"""What a parcel costs."""


def zone(country):
    if country == "home":
        return 1
    if country in ("near", "island"):
        return 2
    return 3


def base_price(weight):
    if weight <= 1:
        return 4
    if weight <= 5:
        return 7
    return 7 + 2 * (weight - 5)


def price(weight, country, express=False):
    amount = base_price(weight)
    where = zone(country)
    if where == 2:
        amount += 3
    if express:
        amount *= 2
    return amount


def total(parcels):
    result = 0
    for parcel in parcels:
        result += price(*parcel)
    return result
