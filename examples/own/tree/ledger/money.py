"""Amounts of money as whole cents."""


def cents_of(text: str) -> int:
    """Cents of an amount such as `12.34`; ValueError when it is none."""
    whole, _, rest = text.strip().partition(".")
    return int(whole) * 100 + int((rest + "00")[:2])


def text_of(cents: int) -> str:
    """The amount with two decimal places."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
