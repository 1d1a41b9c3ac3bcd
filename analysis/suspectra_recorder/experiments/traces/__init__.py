"""Tracing the dependences of a run: what each value, decision and call was made from.

A trace notes what can't be known from the source: the order of nodes, their calls, and what is read from objects. Which
assignment a name refers to, instances, and control dependences follow from that order and the source, so they are
computed afterwards, on arrays (`suspectra.dependences.flows`). Functions that share variables are told apart by their
cells, which a lambda in the probe at their beginning gives: no namespace gets a name.

A traced process alters nothing; alterations have one of their own, at full speed. The trace begins with the first
import, once for all tests of a process; each run goes on from there in its own child, and what it needs of these nodes
is selected afterwards (`suspectra.dependences.import_time`).
"""
