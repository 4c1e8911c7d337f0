import pytest
from ledger.money import cents_of, text_of


@pytest.mark.parametrize(("text", "cents"), [("1", 100), ("1.5", 150), ("12.34", 1234), (" 7.00 ", 700)])
def test_cents_of(text, cents):
    assert cents_of(text) == cents


@pytest.mark.parametrize("cents", [0, 5, 99, 100, 12345, -250])
def test_text_of_reads_back(cents):
    assert text_of(abs(cents)).replace(".", "").lstrip("0") == str(abs(cents)).lstrip("0")


def test_text_is_no_amount():
    with pytest.raises(ValueError, match="invalid literal"):
        cents_of("much")
