"""Invoices from the till's export: semicolon-separated, one line of goods a row."""

from __future__ import annotations

import csv
import io
from datetime import date

from ledger.invoice import Invoice, Line
from ledger.money import Money
from ledger.tax import TaxTable

COLUMNS = ["invoice", "day", "text", "price", "quantity", "category", "until", "total"]


class BadExport(ValueError):
    """A row that can't be read; the message names it."""


def read_export(text: str, table: TaxTable) -> list[Invoice]:
    """Read an export; the total a row carries is what the till printed for the whole invoice."""
    rows = csv.DictReader(io.StringIO(text), delimiter=";")
    if rows.fieldnames != COLUMNS:
        raise BadExport(f"columns are {rows.fieldnames}, not {COLUMNS}")
    invoices: dict[str, Invoice] = {}
    for number, row in enumerate(rows, start=2):
        try:
            day = date.fromisoformat(row["day"])
            until = date.fromisoformat(row["until"]) if row["until"] else None
            quantity, category = int(row["quantity"] or 1), row["category"] or "goods"
            line = Line(row["text"], Money.of(row["price"]), quantity, category, until)
        except (ValueError, ArithmeticError) as error:
            raise BadExport(f"row {number}: {error}") from error
        invoice = invoices.setdefault(row["invoice"], Invoice(row["invoice"], day, table))
        invoice.add(line)
        if row["total"]:
            invoice.printed_total = Money.of(row["total"])
    return list(invoices.values())
