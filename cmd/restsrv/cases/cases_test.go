package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

func TestCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			var answers []string
			t.Run("sqlite", func(t *testing.T) { answers = apptest.PlayCase(t, string(text), "") })
			if strings.HasPrefix(string(text), "sqlite only: ") {
				return
			}
			t.Run("postgres", func(t *testing.T) {
				if apptest.RaceDetector {
					t.Skip("the suite of the store looks for races on PostgreSQL; the run without the detector plays this case")
				}
				apptest.CompareAnswers(t, apptest.PlayCase(t, string(text), pgtest.Database(t)), answers)
			})
		})
	}
}
