"""Running tests again with one thing altered, in the environment of the tests.

`machine` is a pytest process that has collected some tests and waits for requests (`messages`); `children` forks a
process for each. A request names kinds of runs (`run_kinds`), which alter, note or trace what the test does; `loading`
inserts what they need into the sources.
"""
