package workflow

import (
	"testing"
	"time"
)

func TestPeriod(t *testing.T) {
	from := time.Date(2024, 1, 31, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"1d": "2024-02-01T10:00:00Z", "2w, 12h": "2024-02-14T22:00:00Z", "1M": "2024-02-29T10:00:00Z", "1y1M": "2025-02-28T10:00:00Z",
		"90 m 30s": "2024-01-31T11:30:30Z", "2д 3ч": "2024-02-02T13:00:00Z", "1 г": "2025-01-31T10:00:00Z",
		"": "", "soon": "", "1": "", "1x": "", "1d tomorrow": "", "9999999d": "",
	} {
		p, ok := parsePeriod(text)
		got := ""
		if ok {
			got = p.addTo(from).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
