package storetest

import (
	"errors"
	"sync"
	"testing"
)

// RunTogether runs f in n goroutines and reports their errors.
func RunTogether(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
