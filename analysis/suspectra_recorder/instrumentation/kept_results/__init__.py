"""Results that are kept: what made them counts for every test that uses them.

A process makes such a result once, for the test that happens to need it first: what a function with
:func:`functools.lru_cache` returned, what a function stored in a global, an attribute or a dictionary after it had
looked there in vain. In a run of other tests another one comes first. So that what a test executes does not depend on
that, a test that uses a result executes

- what it executes itself,
- all that was executed to make the result, no matter for which test, or before the tests, and
- what leads to a result that is there already, also where the test made it.

What makes a result is captured (`thread_captures`) until it is stored; where nothing is stored, nothing was kept, and
it counts for its test alone. A result that uses others includes what made them. The cached functions are exact: their
cache keeps what made a value beside it, so it goes with the value when that is evicted or cleared. Places in which code
looks are found in the syntax (`guards`), and told apart by the object and the key (`results`).

Not known are results that a test finds without looking first: a `functools.cached_property` of an object that several
tests use, what ``__getattr__`` stored, and what is kept by code that isn't recorded. Child processes begin with their
parent's results, and what they use of them is not known either.
"""
