def insertion_sort(items):
    items = list(items)
    for i in range(1, len(items)):
        value = items[i]
        j = i - 1
        while j >= 0:
            if items[j] <= value:
                break
            items[j + 1] = items[j]
            j = j - 1
        items[j + 1] = value
    return items
