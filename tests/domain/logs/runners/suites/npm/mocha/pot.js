const assert = require("node:assert");

describe("pot", function () {
  it("pours (hot)", function () {});
  it("leaks", function () {
    assert.equal(1, 2);
  });
  it.skip("rests", function () {});
  it("waits");
  describe("lid", function () {
    for (const tea of ["green", "x y", "é 5s"]) it(`holds ${tea}`, function () {});
  });
});
