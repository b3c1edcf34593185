package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"restsrv/engine/store"
)

// TestChangedKeys changes keys at random. The present key of each must be the result of applying all changes in order.
func TestChangedKeys(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	name := func() string { return fmt.Sprint(random.IntN(5)) }
	for range 300 {
		var moves store.Moves
		var list [][2]string
		for n := random.IntN(12); n > 0; n-- {
			one := [2]string{name(), name()}
			list = append(list, one)
			moves.Add(one[0], one[1])
		}
		from, key := random.IntN(len(list)+1), name()
		want := key
		for _, one := range list[from:] {
			if one[0] == want {
				want = one[1]
			}
		}
		if got := moves.Key(from, key); got != want {
			t.Fatalf("seed %d: %s after %v: got %s, want %s", seed, key, list[from:], got, want)
		}
	}
}

// TestManyChangedKeys gets the present key of many changed keys, as in a save of a collection with many nested
// records. The test would take very long if each lookup searched all changes.
func TestManyChangedKeys(t *testing.T) {
	const many = 50_000
	var moves store.Moves
	for i := range many {
		moves.Add(fmt.Sprint("a", i), fmt.Sprint("b", i))
	}
	for i := range many {
		if got, want := moves.Key(0, fmt.Sprint("a", i)), fmt.Sprint("b", i); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}
