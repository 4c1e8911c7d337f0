import unittest


class PotTest(unittest.TestCase):
    def test_pours(self):
        pass

    def test_documented(self):
        """Pours as the label says."""

    def test_leaks(self):
        self.fail("wet")

    def test_breaks(self):
        raise RuntimeError("no kettle")

    @unittest.skip("asleep")
    def test_rests(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("known")

    def test_chats(self):
        print("hello")
