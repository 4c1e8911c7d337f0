RSpec.describe "pot" do
  it("pours (hot)") { expect(1).to eq 1 }
  it("leaks") { expect(1).to eq 2 }
  it("breaks") { raise "broken" }
  xit("rests") {}
  it "waits"
  it("is expected") { pending "no lid yet"; raise "none" }

  context "lid" do
    ["green", "x y", "très"].each { |leaf| it("holds #{leaf}") {} }
  end
end
