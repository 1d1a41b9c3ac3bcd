"""Sampled hitting times against the exact ones."""

import numpy as np
import pytest

from suspectra.base.errors import UsageError
from suspectra.markov import sampling
from suspectra.markov.chain import ranked_list, suspicious_behaviour
from suspectra.markov.hitting_times import hitting_times
from suspectra.markov.jumps import JumpModel
from suspectra.markov.sampling import sample_hitting_times
from suspectra.markov.structure import Structure

PROGRAM = Structure(
    np.array([0, 0, 0, 1, 1, 1, 2, 2, -1, -1]), np.array([[0, 3], [5, 8]]), np.array([[4, 6], [9, 0], [2, 2]])
)
CHAINS = {
    "jumps": ranked_list([0, 1, 1, 2, 3, 0, 1, 2, 3, 2], PROGRAM),
    "bold": ranked_list([0, 1, 1, 2, 3, 0, 1, 2, 3, 2], PROGRAM, JumpModel(0.9, 1, 2, 3)),
    "list": ranked_list([0, 0, 1, 2, 2]),
    "subgraphs": suspicious_behaviour([0, 1, 1], [[0, 3], [3, 4, 5], [6]], 10, PROGRAM),
    "one": ranked_list([0]),
}


@pytest.mark.parametrize("name", CHAINS)
def test_within_five_percent_of_exact(name):
    chain = CHAINS[name]
    exact = hitting_times(chain).steps
    sampled = sample_hitting_times(chain, seed=7, precision=0.02)
    known = np.isfinite(exact)
    assert sampled.walked <= 500 * 1_000_000
    np.testing.assert_allclose(sampled.steps[known], exact[known], rtol=0.05)
    assert np.isinf(sampled.steps[~known]).all()
    width = sampled.high[known] - sampled.low[known]
    assert (width <= 0.0401 * sampled.steps[known]).all()


def test_ninety_percent_intervals_hold_about_ninety_percent_of_the_time():
    chain = CHAINS["jumps"]
    exact = hitting_times(chain).steps
    found = []
    for seed in range(40):
        sampled = sample_hitting_times(chain, seed, walks=50, max_steps=400, precision=None, confidence=0.9)
        found.append((sampled.low <= exact) & (exact <= sampled.high))
    assert 0.8 < np.mean(found) < 0.97


def test_the_same_seed_gives_the_same_estimate():
    chain = CHAINS["jumps"]
    one, again, other = (sample_hitting_times(chain, seed, walks=20, max_steps=500) for seed in (3, 3, 4))
    assert one.steps.tolist() == again.steps.tolist()
    assert one.steps.tolist() != other.steps.tolist()


def test_chunks_make_no_difference(monkeypatch):
    chain = CHAINS["jumps"]
    whole = sample_hitting_times(chain, 5, walks=9, max_steps=900, precision=None)
    monkeypatch.setattr(sampling, "CHUNK", 7)
    pieces = sample_hitting_times(chain, 5, walks=9, max_steps=900, precision=None)
    assert (whole.cycles, whole.walked) == (pieces.cycles, pieces.walked) == (whole.cycles, 8100)
    np.testing.assert_allclose(whole.steps, pieces.steps, rtol=1e-12)
    np.testing.assert_allclose(whole.low, pieces.low, rtol=1e-9)


def test_what_no_walk_met_has_a_lower_bound_only():
    sampled = sample_hitting_times(ranked_list(np.arange(40)), walks=5, max_steps=50)
    far = sampled.steps == np.inf
    assert far[-1]
    assert (sampled.high[far] == np.inf).all()
    assert (sampled.low[far] > 10).all()
    assert sampled.rank[-1] > 20


def test_progress_rises_to_one_and_may_cancel():
    seen = []
    sample_hitting_times(CHAINS["jumps"], progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1

    def cancel(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample_hitting_times(CHAINS["jumps"], progress=cancel)


@pytest.mark.parametrize("bad", [{"walks": 0}, {"max_steps": 0}, {"precision": 0}, {"confidence": 1}])
def test_numbers_that_make_no_sense(bad):
    with pytest.raises(UsageError):
        sample_hitting_times(CHAINS["one"], **bad)


def test_a_chain_with_no_way_back():
    with pytest.raises(UsageError, match="never comes back"):
        sample_hitting_times(ranked_list([0, 1], Structure(np.array([0, 0])), JumpModel(1)))
