from cache import Cache, cached


def test_put_and_get():
    cache = Cache(2)
    cache.put("a", 1)
    assert cache.get("a") == 1


def test_default():
    assert Cache(2).get("a", 7) == 7


def test_forgets_the_oldest():
    cache = Cache(2)
    for key in "abc":
        cache.put(key, key)
    assert sorted(cache.values) == ["b", "c"]


def test_put_again():
    cache = Cache(2)
    for key in "abac":
        cache.put(key, key)
    assert sorted(cache.values) == ["a", "c"]


def test_get_keeps():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert sorted(cache.values) == ["a", "c"]


def test_cached():
    double = cached(lambda number: 2 * number, 3)
    assert [double(number) for number in (1, 2, 1)] == [2, 4, 2]
    assert double.cache.hits == 1


def test_cached_is_full():
    calls = []
    call = cached(lambda number: calls.append(number) or number, 2)
    for number in (1, 2, 1, 3, 1):
        call(number)
    assert calls == [1, 2, 3]


def test_hits():
    cache = Cache(1)
    cache.put("a", 1)
    cache.get("a")
    cache.get("b")
    assert cache.hits == 1
