#include <gtest/gtest.h>

TEST(Pot, Pours) { EXPECT_EQ(1, 1); }
TEST(Pot, Leaks) { EXPECT_EQ(1, 2); }
TEST(Pot, Rests) { GTEST_SKIP() << "asleep"; }
TEST(Pot, DISABLED_Hidden) { FAIL(); }

class Holds : public testing::TestWithParam<int> {};
TEST_P(Holds, Cups) { EXPECT_LT(GetParam(), 7); }
INSTANTIATE_TEST_SUITE_P(Sizes, Holds, testing::Values(2, 7));
