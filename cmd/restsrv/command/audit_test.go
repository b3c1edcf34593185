package command

import (
	"testing"
	"time"
)

func TestSinceTime(t *testing.T) {
	now := time.Date(2024, 5, 10, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"30m": now.Add(-30 * time.Minute), "24h": now.Add(-24 * time.Hour), "7d": now.AddDate(0, 0, -7), "0d": now,
		"2024-05-01": time.Date(2024, 5, 1, 0, 0, 0, 0, time.Local), "2024-05-01T10:00:00Z": time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1.5d", "7d3", "-1h", "yesterday", "2024-13-01"} {
		if got, err := sinceTime(text, now); err == nil {
			t.Errorf("sinceTime(%q): got %s, want an error", text, got)
		}
	}
}
