"""A cache that forgets what was used longest ago."""


class Cache:
    def __init__(self, size):
        self.size = size
        self.values = {}
        self.clock = 0
        self.used = {}
        self.hits = 0

    def _touch(self, key):
        self.clock += 1
        self.used[key] = self.clock

    def get(self, key, default=None):
        if key not in self.values:
            return default
        self.hits += 1
        return self.values[key]

    def put(self, key, value):
        if key not in self.values and len(self.values) >= self.size:
            oldest = min(self.used, key=self.used.get)
            del self.values[oldest], self.used[oldest]
        self.values[key] = value
        self._touch(key)


def cached(function, size):
    cache = Cache(size)

    def call(argument):
        found = cache.get(argument)
        if found is None:
            found = function(argument)
            cache.put(argument, found)
        return found

    call.cache = cache
    return call
