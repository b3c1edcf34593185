package consistency

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// soundExport returns an export of crashApp without mistakes: a box with a part and a tag, and a
// paper with a scan and two pages.
func soundExport() []string {
	file := func(id, content, attribute string) (descriptor, row string) {
		facts := fmt.Sprintf(`"id":%q,"name":%q,"size":%d,"hash":%q`, id, id, len(content), hashOf([]byte(content)))
		return "{" + facts + "}", fmt.Sprintf(`{"_class":"#file","_id":%q,%s,"class":"paper@crash","item":"w0-4","attribute":%q}`, id, facts, attribute)
	}
	scan, scanRow := file("f1", "a scan", "scan")
	page1, pageRow1 := file("f2", "a page", "pages")
	page2, pageRow2 := file("f3", "a page", "pages")
	return []string{
		`{"_restsrv":"export","_version":1}`,
		`{"_class":"#account","_id":"admin@local","id":"admin@local"}`,
		scanRow, pageRow1, pageRow2,
		`{"_class":"#stage","_id":"x","class":"part@crash","item":"w0-2","workflow":"life@crash","stage":"made"}`,
		`{"_class":"box@crash","_id":"w0-1","_creator":"admin@local","id":"w0-1","text":"one"}`,
		`{"_class":"part@crash","_id":"w0-2","id":"w0-2","text":"two","box":"w0-1"}`,
		`{"_class":"tag@crash","_id":"w0-3","id":"w0-3","text":"three"}`,
		`{"_class":"paper@crash","_id":"w0-4","id":"w0-4","scan":` + scan + `,"pages":[` + page1 + `,` + page2 + `]}`,
		`{"_links":"box@crash.tags","_id":"w0-1","members":["w0-3"]}`,
		`{"_counter":"x","value":1}`,
		`{"_content":"` + hashOf([]byte("a scan")) + `","data":"YSA="}`, // in two pieces
		`{"_content":"` + hashOf([]byte("a scan")) + `","size":6,"data":"c2Nhbg=="}`,
		`{"_content":"` + hashOf([]byte("a page")) + `","size":6,"data":"YSBwYWdl"}`,
		`{"_restsrv":"end","items":9}`,
	}
}

// knowing returns a model that agrees with soundExport. It also has a write without an answer,
// which creates a box with a part.
func knowing() *model {
	return &model{name: "w0", items: state{
		{boxes, "w0-1"}:  {"text": "one", "tags": "w0-3"},
		{parts, "w0-2"}:  {"text": "two", "box": "w0-1", "stage": "life@crash:made"},
		{tags, "w0-3"}:   {"text": "three"},
		{papers, "w0-4"}: {"scan": "f1=a scan", "pages": "f2=a page f3=a page"},
	}, pending: &mutation{method: "POST", path: "/rest/crud/box@crash", after: state{
		{boxes, "w0-5"}: {"text": "five"},
		{parts, "w0-6"}: {"text": "five", "box": "w0-5"},
	}}}
}

// TestCrashChecker checks that the checker of TestCrash finds each kind of mistake in an export,
// and reports it with one message.
func TestCrashChecker(t *testing.T) {
	box, part := `{"_class":"box@crash","_id":"w0-5","text":"five"}`, `{"_class":"part@crash","_id":"w0-6","text":"five","box":"w0-5"}`
	for name, c := range map[string]struct {
		old, new string // replacements in the export; a line that becomes empty is removed
		more     []string
		want     string // how a fault begins; "" for none
	}{
		"sound":                       {},
		"not answered, there":         {more: []string{box, part}},
		"not answered, half there":    {more: []string{box}, want: "half of POST /rest/crud/box@crash"},
		"not answered, otherwise":     {more: []string{box, strings.Replace(part, "five", "six", 1)}, want: "half of POST /rest/crud/box@crash"},
		"answered create is gone":     {old: "w0-3", new: "w9-3", want: "tag@crash w0-3: answered was {text="},
		"answered change is gone":     {old: `"text":"two"`, new: `"text":"before"`, want: "part@crash w0-2: answered was"},
		"answered link is gone":       {old: `"_links":"box@crash.tags","_id":"w0-1"`, want: "box@crash w0-1: answered was"},
		"answered delete is gone":     {more: []string{`{"_class":"tag@crash","_id":"w0-9","text":"nine"}`}, want: "tag@crash w0-9: answered was nothing"},
		"a reference leads nowhere":   {old: `"box":"w0-1"`, new: `"box":"w9-9"`, want: "part@crash w0-2: box leads to box@crash w9-9"},
		"a member is gone":            {old: `"members":["w0-3"]`, new: `"members":["w0-3","w9-9"]`, want: "box@crash w0-1: has the member w9-9"},
		"an owner is gone":            {old: `"_links":"box@crash.tags","_id":"w0-1"`, new: `"_links":"box@crash.tags","_id":"w9-9"`, want: "box@crash w9-9: has members"},
		"a link is there twice":       {more: []string{`{"_links":"box@crash.tags","_id":"w0-1","members":["w0-3"]}`}, want: "box@crash w0-1: answered was"},
		"a file row is left":          {more: []string{`{"_class":"#file","_id":"f9","id":"f9","class":"paper@crash","item":"w0-4","attribute":"scan"}`}, want: "file f9: a row says"},
		"a file row is missing":       {old: `"_class":"#file","_id":"f1"`, want: "paper@crash w0-4: scan holds file f1, of which there is no row"},
		"a file row says another":     {old: `"item":"w0-4","attribute":"scan"`, new: `"item":"w0-4","attribute":"pages"`, want: "paper@crash w0-4: scan holds file"},
		"a content is missing":        {old: `"size":6,"data":"YSBwYWdl"`, want: "paper@crash w0-4: the content of file f2 is not there"},
		"a content is cut off":        {old: `"size":6,"data":"c2Nhbg=="`, want: "paper@crash w0-4: the content of file f1 is not whole"},
		"a content has another byte":  {old: `"data":"c2Nhbg=="`, new: `"data":"c2Nhbw=="`, want: "paper@crash w0-4: the content of file f1 is not whole"},
		"a stage is of nothing":       {old: `"item":"w0-2","workflow"`, new: `"item":"w9-9","workflow"`, want: "part@crash w9-9: has the stage made"},
		"a stage is another":          {old: `"stage":"made"`, new: `"stage":"sold"`, want: "part@crash w0-2: answered was"},
		"the export is cut off":       {old: `"_restsrv":"end"`, want: "the export is cut off"},
		"the export misses something": {old: `"items":9`, new: `"items":10`, want: "the export has 9 items"},
	} {
		t.Run(name, func(t *testing.T) {
			a, m := readArchive(strings.NewReader(planted(t, c.old, c.new, c.more))), knowing()
			faults := append(a.faults, m.check(a.items)...)
			found := slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, c.want) })
			if c.want == "" && len(faults) > 0 || c.want != "" && !found {
				t.Errorf("want %q, found:\n%s", c.want, strings.Join(faults, "\n"))
			}
			if c.want == "" && (m.whole != len(c.more)/2 || m.none != 1-len(c.more)/2) {
				t.Errorf("got %d writes stored as a whole and %d not at all, want %d and %d", m.whole, m.none, len(c.more)/2, 1-len(c.more)/2)
			}
		})
	}
}

// planted returns soundExport with a mistake.
func planted(t *testing.T, old, new string, more []string) string {
	t.Helper()
	lines := soundExport()
	end := len(lines) - 1
	lines[end] = strings.Replace(lines[end], "9", fmt.Sprint(9+strings.Count(strings.Join(more, ""), "_class")), 1)
	lines = slices.Concat(lines[:end], more, lines[end:])
	if old == "" {
		return strings.Join(lines, "\n")
	}
	found := 0
	for i, line := range lines {
		if !strings.Contains(line, old) {
			continue
		}
		found++
		if lines[i] = strings.ReplaceAll(line, old, new); new == "" {
			lines[i] = ""
		}
	}
	if found == 0 {
		t.Fatalf("export: got no %s, want it", old)
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}
