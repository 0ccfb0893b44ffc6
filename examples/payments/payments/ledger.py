"""Balances of one day's ledger entries."""


def balance(entries: list[tuple[str, int]]) -> dict[str, int]:
    """The sum per account in cents."""
    sums: dict[str, int] = {}
    for account, cents in entries:
        sums[account] = sums.get(account, 0) + cents
    return sums
