import unittest

import pytest


@pytest.mark.parametrize("tea", ["green", "a::b", "x y", "/srv/cup.png", "tr\u00e8s", "[1]", ""])
def test_pours(tea):
    assert isinstance(tea, str)


def test_leaks():
    assert not "full", "wet - floor"


@pytest.fixture
def broken():
    raise RuntimeError("no kettle")


def test_uses_broken(broken):
    pass


@pytest.mark.skip(reason="asleep")
def test_rests():
    pass


@pytest.mark.xfail(strict=False)
def test_expected():
    raise AssertionError


class TestLid(unittest.TestCase):
    def test_fits(self):
        for size in (1, 2):
            with self.subTest(size=size):
                assert size
