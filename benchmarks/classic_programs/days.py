def leap(year):
    if year % 400 == 0:
        return True
    if year % 100 == 0:
        return False
    return year % 4 == 0

def day_of_year(year, month, day):
    if month < 1 or month > 12 or day < 1:
        return -1
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    total = 0
    m = 1
    while m < month:
        total = total + lengths[m - 1]
        m = m + 1
    last = lengths[month - 1]
    if month == 2 and leap(year):
        last = 29
    if day > last:
        return -1
    if month > 2 and leap(year):
        total = total + 1
    return total + day
