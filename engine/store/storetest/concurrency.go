package storetest

import (
	"errors"
	"sync"
	"testing"
)

// RunTogether calls f in n goroutines at the same time, and reports the errors that it returns.
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
