if ENV["FRAMEWORK"] == "test-unit"
  require "test/unit"
  BASE = Test::Unit::TestCase
else
  require "minitest/autorun"
  BASE = Minitest::Test
end

class PotTest < BASE
  def test_pours
    assert true
  end

  def test_leaks
    assert_equal 1, 2
  end

  def test_breaks
    raise "broken"
  end

  def test_rests
    respond_to?(:omit) ? omit("no water") : skip("no water")
  end

  ["green", "x y", "très"].each { |leaf| define_method("test_holds_#{leaf}") { assert leaf } }
end
