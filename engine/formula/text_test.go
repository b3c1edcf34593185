package formula

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestSurplusBrackets adds closing brackets to random formulas in text form, in the places where IONDV skips them:
// after the arguments of the outermost function, and at the end. In other places, a bracket would close a function.
func TestSurplusBrackets(t *testing.T) {
	for i := range uint64(3000) {
		r := rand.New(rand.NewPCG(i, 5))
		args, wrong := make([]string, 1+r.IntN(4)), make([]string, 0, 4)
		for n := range args {
			args[n] = randomText(r, int(i%4))
			wrong = append(wrong, args[n]+strings.Repeat(")", r.IntN(3)))
		}
		right := "f(" + strings.Join(args, ", ") + ")"
		source := "f(" + strings.Join(wrong, ", ") + ")" + strings.Repeat(")", r.IntN(2))
		want, skipped, err := parseText(right)
		if err != nil || len(skipped) > 0 {
			t.Fatalf("%s: got %v and skipped %q, want neither", right, err, skipped)
		}
		got, skipped, err := parseText(source)
		if err != nil || !reflect.DeepEqual(got, want) || (len(skipped) > 0) != (source != right) {
			t.Fatalf("%s: got %v, %v, skipped %q, want %v", source, got, err, skipped, want)
		}
	}
}

func randomText(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(4) == 0 {
		return []string{"1", "$a", "'x,)('", "null", "word"}[r.IntN(5)]
	}
	args := make([]string, r.IntN(4))
	for i := range args {
		args[i] = randomText(r, depth-1)
	}
	return "f(" + strings.Join(args, ", ") + ")"
}
