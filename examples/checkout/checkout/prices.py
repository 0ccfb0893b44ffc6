"""What a basket costs."""


def total(lines: list[tuple[int, int]]) -> int:
    """The sum in cents of (quantity, price in cents)."""
    return sum(quantity * cents for quantity, cents in lines)
