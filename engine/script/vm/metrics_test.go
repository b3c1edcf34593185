package vm

import (
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	var h histogram
	for d, bucket := range map[time.Duration]int{
		-1: 0, 0: 0, 16 * time.Microsecond: 0, 16*time.Microsecond + 1: 1, 32 * time.Microsecond: 1, time.Millisecond: 6,
		bucketBound(bucketCount - 2): bucketCount - 2, bucketBound(bucketCount-2) + 1: bucketCount - 1, time.Hour: bucketCount - 1,
	} {
		before := h.snapshot()
		h.observe(d)
		after := h.snapshot()
		for i := range after.Buckets {
			if grew := after.Buckets[i] - before.Buckets[i]; (grew == 1) != (i == bucket) {
				t.Errorf("%v: bucket %d grew by %d, expected bucket %d", d, i, grew, bucket)
			}
		}
		if i := bucket; i < bucketCount-1 && (d > bucketBound(i) || i > 0 && d <= bucketBound(i-1)) {
			t.Errorf("%v is not within the bounds of bucket %d", d, i)
		}
	}
	if h := h.snapshot(); h.Count() != 9 || bucketBound(bucketCount-1) != 0 {
		t.Errorf("%d were counted", h.Count())
	}
}

// BenchmarkMetrics measures the cost of metrics for a request of one turn.
func BenchmarkMetrics(b *testing.B) {
	s := &Service{Counters: &Counters{}}
	v := &VM{Service: s}
	b.ReportAllocs()
	var c Call
	c.Service = s
	c.Over.Store(true)
	for b.Loop() {
		c.reported.Store(false)
		s.Counters.queueWait.observe(time.Microsecond)
		v.countTurn(&c, 3*time.Microsecond)
		s.Counters.countRequest(Outcome{}, nil)
	}
}

// bucketBound returns the longest duration that bucket i of a Histogram counts.
// It returns 0 for the last one, which has no limit.
func bucketBound(i int) time.Duration {
	if i >= bucketCount-1 {
		return 0
	}
	return time.Microsecond << (firstBucket + i)
}
