"""Accounts and what was posted to them."""

from collections import defaultdict


class Book:
    """Balances by account, in cents."""

    def __init__(self) -> None:
        self.balances: dict[str, int] = defaultdict(int)

    def post(self, account: str, cents: int) -> None:
        """Add to an account; a negative amount takes away."""
        self.balances[account] += cents

    def balance(self, account: str) -> int:
        """Cents in the account, 0 for one that was never used."""
        return self.balances.get(account, 0)

    def total(self) -> int:
        """The sum over all accounts."""
        return sum(self.balances.values())
