from datetime import date

import pytest
from ledger.journal import Entry, Posting, UnbalancedEntry
from ledger.money import Money
from ledger.statements import journal_text, open_items, profit, quarter_of

DAY = date(2024, 4, 2)


def sale(journal, amount="10", day=DAY):
    chart = journal.chart
    postings = (Posting(chart[1000], debit=Money.of(amount)), Posting(chart[8400], credit=Money.of(amount)))
    return journal.post(Entry(day, "Sale", postings))


def test_balances(journal):
    sale(journal)
    sale(journal, "5")
    assert journal.balance(1000) == journal.balance(8400) == Money.of("15")
    assert journal.balances() == {1000: Money.of("15"), 8400: Money.of("15")}


def test_balance_on_a_day(journal):
    sale(journal)
    assert journal.balance(1000, on=date(2024, 4, 1)) == Money(0)


def test_an_unbalanced_entry_is_refused(journal):
    chart = journal.chart
    entry = Entry(DAY, "Oops", (Posting(chart[1000], debit=Money(1)), Posting(chart[8400], credit=Money(2))))
    with pytest.raises(UnbalancedEntry, match="Oops"):
        journal.post(entry)
    assert not journal.entries


def test_reversal(journal):
    entry = sale(journal)
    journal.reverse(entry, DAY)
    assert profit(journal) == Money(0)
    assert len(journal.entries) == 2


def test_between(journal):
    for day in (3, 1, 2):
        sale(journal, str(day), date(2024, 1, day))
    days = [entry.day.day for entry in journal.between(date(2024, 1, 2), date(2024, 1, 3))]
    assert days == [2, 3]


def test_profit(journal):
    sale(journal, "12.50")
    assert profit(journal) == Money.of("12.50")


def test_open_items_start_at_nothing(journal):
    assert open_items(journal, DAY) == Money(0)


@pytest.mark.parametrize(
    ("day", "last"),
    [
        (date(2024, 2, 29), date(2024, 3, 31)),
        (date(2023, 11, 1), date(2023, 12, 31)),
        (date(2024, 6, 30), date(2024, 6, 30)),
    ],
)
def test_quarters(day, last):
    first, end = quarter_of(day)
    assert first <= day <= end == last


def test_text(journal):
    sale(journal)
    assert journal_text(journal).splitlines() == [
        "2024-04-02  Sale",
        "    Cash             debit  10.00 EUR",
        "    Sales            credit 10.00 EUR",
    ]
