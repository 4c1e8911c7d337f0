import { describe, expect, test } from "vitest";

describe("pot", () => {
  test("pours (hot)", () => {});
  test("leaks", () => {
    expect(1).toBe(2);
  });
  test.skip("rests", () => {});
  test.todo("waits");
  test.fails("expected", () => {
    expect(1).toBe(2);
  });
  describe("lid", () => {
    test.each(["green", "x y", "é"])("holds %s", (tea) => {
      expect(typeof tea).toBe("string");
    });
  });
});
