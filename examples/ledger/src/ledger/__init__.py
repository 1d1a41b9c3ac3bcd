"""Double-entry bookkeeping for a small shop."""

from ledger.accounts import Account, AccountKind, Chart
from ledger.discounts import BulkDiscount, LoyaltyDiscount, best_discount
from ledger.invoice import Invoice, Line
from ledger.journal import Entry, Journal, Posting, UnbalancedEntry
from ledger.money import MixedCurrencies, Money
from ledger.tax import TaxTable, standard_table

__all__ = [
    "Account",
    "AccountKind",
    "BulkDiscount",
    "Chart",
    "Entry",
    "Invoice",
    "Journal",
    "Line",
    "LoyaltyDiscount",
    "MixedCurrencies",
    "Money",
    "Posting",
    "TaxTable",
    "UnbalancedEntry",
    "best_discount",
    "standard_table",
]
