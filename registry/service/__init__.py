"""What every door offers, one module per noun."""
