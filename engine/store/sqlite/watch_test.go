package sqlite

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), "grows")
}

// TestLargeLog checks that a server warns when the log becomes large, when the large log has doubled, and when the log
// becomes large again after it was small.
func TestLargeLog(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "x.db-wal"), &lines{}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop := watchLog(path, time.Millisecond, slog.New(slog.NewTextHandler(log, nil)))
	defer stop()
	for i, s := range []struct {
		size int64
		want int
	}{{largeLog - 1, 0}, {largeLog, 1}, {largeLog * 3 / 2, 1}, {2 * largeLog, 2}, {1, 2}, {largeLog, 3}} {
		if err := os.Truncate(path, s.size); err != nil { // the file is sparse, so it takes no space on the disk
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); log.count() < s.want && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		time.Sleep(20 * time.Millisecond)
		if got := log.count(); got != s.want {
			t.Errorf("step %d, %d bytes: got %d warnings, want %d", i, s.size, got, s.want)
		}
	}
}
