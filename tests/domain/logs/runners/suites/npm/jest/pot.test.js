describe("pot", () => {
  test("pours (hot)", () => {});
  test("leaks", () => {
    expect(1).toBe(2);
  });
  test.skip("rests", () => {});
  test.todo("waits");
  describe("lid", () => {
    test.each(["green", "x y", "é 5"])("holds %s", (tea) => {
      expect(typeof tea).toBe("string");
    });
  });
});
