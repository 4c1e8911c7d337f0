require "test/unit"

class PotTest < Test::Unit::TestCase
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
    omit "no water"
  end

  ["green", "x y", "très"].each { |leaf| define_method("test_holds_#{leaf}") { assert leaf } }
end
