"""A process that has collected the tests of a workspace, and runs some of them on request.

A run on save takes most of its time to start pytest and to import what has not changed. So a process waits with the
collected tests, and each run is a fork of it, which gives the functions of changed files their new code. That is
refused wherever a fresh process could differ in more than the bodies of functions that have not run yet
(`live_code.py`).

What tests were collected from is known by an audit hook, which can't be removed; here it may stay, since this process
runs no test, and forks only ask it whether it still listens. With threads, sockets, or files that are written no fork
is made (`fork_obstacles.py`): the process runs the request itself, and ends. What can't be seen, such as code that a
module has read from a function, is found by comparison: while nobody types, a fresh process runs a sample, and after
one difference no process waits any more.

Two more ways were left out: to collect files anew in the waiting process, since modules refer to each other in ways
that nothing can list; and to patch files of tests, whose asserts pytest rewrites.
"""
