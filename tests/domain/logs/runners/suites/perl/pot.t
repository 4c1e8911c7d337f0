use strict;
use warnings;
use utf8;
use Test::More;

binmode Test::More->builder->$_, ":utf8" for qw(output failure_output todo_output);

ok 1, "pours (hot)";
ok 0, "leaks";
SKIP: {
    skip "no water", 1;
}
TODO: {
    local $TODO = "no lid yet";
    ok 0, "is expected";
}
subtest lid => sub {
    ok 1, "holds $_" for "green", "x y", "très";
    subtest rim => sub { ok 1, "fits # tight"; done_testing };
    done_testing;
};
ok 1;
done_testing;
