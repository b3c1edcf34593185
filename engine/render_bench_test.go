package engine

import "testing"

// BenchmarkAppendJSON measures the common case of an answer: no links, no
// files, no projection.
func BenchmarkAppendJSON(b *testing.B) {
	it := &Item{Class: note(b), ID: "n1", Revision: 5, Creator: "a@local", Values: Values{"n1", "Tea", "secret", int64(42), false, Instant(1577934245000)}}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = it.AppendJSON(buf[:0])
	}
}
