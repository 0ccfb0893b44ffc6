"""Numbers of invoices."""


def number(year: int, counter: int) -> str:
    """The number printed on an invoice: R-2026-000042."""
    return f"R-{year}-{counter:06d}"
