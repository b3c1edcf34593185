package command

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"restsrv/engine/journal"
)

// TestChangesCannotSteerTerminals checks that restsrv changes prints values without control
// characters, including C1, and that the JSON stays equal.
func TestChangesCannotSteerTerminals(t *testing.T) {
	const said = `{"title":"tea ` + "\u009b31m \u202e \u2028 \U000e0041" + ` \u001b é 日"}`
	line := string(appendChange(nil, journal.Record{Type: journal.Create, Class: "note@s", ID: "n\u009b", Data: said}))
	if strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsGraphic(c) }) || !strings.Contains(line, `é 日`) {
		t.Errorf("got %q, want a line of printable characters with the text", line)
	}
	var got, want any
	if err := json.Unmarshal([]byte(line[strings.Index(line, "{"):]), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(said), &want); err != nil {
		t.Fatal(err)
	}
	if got.(map[string]any)["title"] != want.(map[string]any)["title"] {
		t.Errorf("got %q, want %q", got, want)
	}
}
