from datetime import date

import pytest
from ledger.importer import BadExport, read_export
from ledger.journal import UnbalancedEntry
from ledger.money import Money

HEAD = "invoice;day;text;price;quantity;category;until;total\n"


def test_one_invoice_of_two_lines(table):
    text = HEAD + "7;2024-03-04;Lamp;100;1;goods;;\n7;2024-03-04;Bread;2;3;food;;125.42\n"
    (invoice,) = read_export(text, table)
    assert invoice.day == date(2024, 3, 4)
    assert invoice.net == Money.of("106")
    assert invoice.printed_total == Money.of("125.42")


def test_defaults(table):
    (invoice,) = read_export(HEAD + "7;2024-03-04;Lamp;100;;;;\n", table)
    assert invoice.lines[0].quantity == 1
    assert invoice.lines[0].category == "goods"


def test_wrong_columns(table):
    with pytest.raises(BadExport, match="columns"):
        read_export("a;b\n1;2\n", table)


@pytest.mark.parametrize(
    "row", ["7;yesterday;Lamp;1;1;goods;;", "7;2024-01-01;Lamp;x;1;goods;;", "7;2024-01-01;L;1;0;;;"]
)
def test_bad_rows_are_named(table, row):
    with pytest.raises(BadExport, match="row 2"):
        read_export(HEAD + row + "\n", table)


def test_import_and_post(table, journal):
    for invoice in read_export(HEAD + "8;2020-08-01;Lamp;100;1;goods;;116\n", table):
        invoice.post_to(journal)
    assert journal.balance(1776) == Money.of("16")


@pytest.mark.parametrize(
    ("day", "printed"), [("2020-12-31", "116"), ("2021-01-01", "119"), ("2021-01-02", "119"), ("2020-07-01", "116")]
)
def test_the_turn_of_the_rates(table, journal, day, printed):
    for invoice in read_export(HEAD + f"9;{day};Lamp;100;1;goods;;{printed}\n", table):
        invoice.post_to(journal)
    assert journal.balance(1400) == Money.of(printed)


@pytest.mark.parametrize(
    ("day", "until", "printed"), [("2024-01-15", "2024-02-14", "119"), ("2020-06-15", "2020-07-14", "117.60")]
)
def test_a_month_of_service(table, journal, day, until, printed):
    for invoice in read_export(HEAD + f"9;{day};Care;100;1;goods;{until};{printed}\n", table):
        invoice.post_to(journal)
    assert journal.balance(1400) == Money.of(printed)


def test_a_total_that_is_wrong(table, journal):
    (invoice,) = read_export(HEAD + "9;2024-01-15;Lamp;100;1;goods;;120\n", table)
    with pytest.raises(UnbalancedEntry):
        invoice.post_to(journal)
