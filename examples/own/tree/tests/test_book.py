from ledger.book import Book


def test_new_account_is_empty():
    assert Book().balance("cash") == 0


def test_post_adds_up():
    book = Book()
    book.post("cash", 150)
    book.post("cash", -50)
    assert book.balance("cash") == 100


def test_total_is_the_sum_of_all_accounts():
    book = Book()
    book.post("cash", 150)
    book.post("debt", -150)
    assert book.total() == 0
