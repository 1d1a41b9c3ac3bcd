import pytest
from ledger.accounts import AccountKind, Chart, DuplicateAccount, shop_chart


def test_numbers_are_taken_once():
    chart = Chart()
    chart.open(1, "Cash", AccountKind.ASSET)
    with pytest.raises(DuplicateAccount, match="Cash"):
        chart.open(1, "Bank", AccountKind.ASSET)


def test_kinds():
    assert [a.name for a in shop_chart().of_kind(AccountKind.ASSET)] == ["Cash", "Receivables"]


@pytest.mark.parametrize("kind", list(AccountKind))
def test_sides(kind):
    assert kind.debit_raises == (kind.value in ("asset", "expense"))
