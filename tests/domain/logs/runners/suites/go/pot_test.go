package pot

import (
	"fmt"
	"testing"
)

func TestPours(t *testing.T) {
	for _, tea := range []string{"green", "x y", "a/b", "très", "(hot)", ""} {
		t.Run(tea, func(t *testing.T) {
			if tea == "a/b" {
				t.Error("spilt")
			}
		})
	}
}

func TestChats(t *testing.T) { fmt.Println("out without end of test") }

func TestRests(t *testing.T) { t.Skip("asleep") }

func TestNested(t *testing.T) {
	t.Run("lid", func(t *testing.T) {
		t.Run("shuts", func(t *testing.T) {})
		t.Run("rests", func(t *testing.T) { t.Skip() })
	})
}
