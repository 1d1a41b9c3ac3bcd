import pytest
from ledger.accounts import shop_chart
from ledger.journal import Journal
from ledger.tax import standard_table


@pytest.fixture
def table():
    return standard_table()


@pytest.fixture
def journal():
    return Journal(shop_chart())
