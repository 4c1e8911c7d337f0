import { describe, it, test } from "node:test";
import assert from "node:assert";

describe("pot", () => {
  it("pours (hot) 5s", () => {});
  it("leaks", () => assert.equal(1, 2));
  it.skip("rests", () => {});
  it("waits # today", { todo: "soon" }, () => {});
  describe("lid > rim", () => {
    it("fits très", () => {});
  });
});
test("alone", () => {});
test("broken todo", { todo: true }, () => assert.fail("later"));
