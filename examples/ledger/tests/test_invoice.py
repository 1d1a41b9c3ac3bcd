from datetime import date
from decimal import Decimal

import pytest
from ledger.discounts import BulkDiscount
from ledger.invoice import Invoice, Line
from ledger.money import Money
from ledger.statements import open_items, profit, tax_return

DAY = date(2024, 5, 17)


def invoice(table, *lines, day=DAY, **more):
    made = Invoice("A-1", day, table, **more)
    for line in lines:
        made.add(line)
    return made


def test_gross(table):
    made = invoice(table, Line("Lamp", Money.of("100")), Line("Bread", Money.of("3"), 2, "food"))
    assert made.net == Money.of("106")
    assert made.tax == Money.of("19.42")
    assert made.gross == Money.of("125.42")


def test_tax_is_rounded_once_a_category(table):
    made = invoice(table, *[Line("Pin", Money.of("0.03"))] * 3)
    assert made.tax == Money.of("0.02")


def test_discount(table):
    made = invoice(table, Line("Pen", Money.of("1"), 100), discounts=[BulkDiscount(50, Decimal("0.2"))])
    assert made.discount == Money.of("20")
    assert made.net == Money.of("80")


def test_a_line_has_a_quantity():
    with pytest.raises(ValueError, match="quantity"):
        Line("Nothing", Money.of("1"), 0)


def test_an_empty_invoice(table):
    assert invoice(table).gross == Money(0)
    assert invoice(table).tax_share() == 0


def test_tax_share(table):
    assert invoice(table, Line("Lamp", Money.of("50"))).tax_share() == Decimal("0.19")


def test_posting(table, journal):
    invoice(table, Line("Lamp", Money.of("100"))).post_to(journal)
    assert open_items(journal, DAY) == Money.of("119")
    assert profit(journal) == Money.of("100")


def test_posting_with_a_discount(table, journal):
    discounts = [BulkDiscount(2, Decimal("0.1"))]
    invoice(table, Line("Lamp", Money.of("100"), 2), discounts=discounts).post_to(journal)
    assert profit(journal) == Money.of("180")
    assert journal.balance(4730) == Money.of("20")


def test_posting_what_was_printed(table, journal):
    made = invoice(table, Line("Lamp", Money.of("100")), printed_total=Money.of("119"))
    made.post_to(journal)
    assert journal.balance(1400) == Money.of("119")


def test_tax_return(table, journal):
    invoice(table, Line("Lamp", Money.of("100"))).post_to(journal)
    invoice(table, Line("Lamp", Money.of("100")), day=date(2024, 7, 2)).post_to(journal)
    assert tax_return(journal, DAY) == Money.of("19")


def test_the_first_day_of_a_lower_rate(table, journal):
    made = invoice(table, Line("Lamp", Money.of("100")), day=date(2020, 7, 1), printed_total=Money.of("116"))
    made.post_to(journal)
    assert journal.balance(1776) == Money.of("16")


def test_a_service_over_the_turn_of_a_rate(table, journal):
    line = Line("Care", Money.of("100"), until=date(2020, 7, 14))
    made = invoice(table, line, day=date(2020, 6, 15), printed_total=Money.of("117.60"))
    made.post_to(journal)
    assert journal.balance(1776) == Money.of("17.60")


def test_a_service_before_the_turn(table, journal):
    line = Line("Care", Money.of("100"), until=date(2020, 6, 30))
    invoice(table, line, day=date(2020, 6, 1), printed_total=Money.of("119")).post_to(journal)
    assert journal.balance(1776) == Money.of("19")


def test_services_are_taxed_by_their_end(table):
    until = date(2024, 6, 30)
    lines = Line("Care", Money.of("0.01"), until=until), Line("Help", Money.of("0.02"), until=until)
    made = invoice(table, *lines, Line("Pin", Money.of("0.03")))
    assert made.taxable() == {("goods", until): Money(3), ("goods", DAY): Money(3)}
