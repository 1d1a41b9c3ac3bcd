import pytest
from accounts import Account, Refused, sweep, transfer


@pytest.fixture
def ann():
    return Account("ann", 100)


@pytest.fixture
def bob():
    return Account("bob", 20, limit=50)


def test_transfer(ann, bob):
    transfer(ann, bob, 30)
    assert (ann.balance, bob.balance) == (70, 50)


def test_journal(ann, bob):
    transfer(bob, ann, 60)
    assert (bob.journal, ann.journal) == ([-60], [60])


def test_too_much(ann, bob):
    with pytest.raises(Refused):
        transfer(ann, bob, 101)


def test_beyond_the_limit(ann, bob):
    with pytest.raises(Refused):
        transfer(bob, ann, 71)
    assert bob.balance == 20


def test_withdraw_too_much(bob):
    with pytest.raises(Refused):
        bob.withdraw(71)


def test_withdraw_to_the_limit(bob):
    bob.withdraw(70)
    assert bob.balance == -50


def test_negative_deposit(ann):
    with pytest.raises(Refused):
        ann.deposit(-1)


def test_sweep(ann, bob):
    target = Account("cat")
    sweep([ann, bob], target)
    assert target.balance == 120
