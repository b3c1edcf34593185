package meta

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/describe"
)

// TestRealApplicationDescribed checks that the description of each class of a real application equals the class file.
// In the description, the attributes must be in their order, and the namespace must be given.
func TestRealApplicationDescribed(t *testing.T) {
	sources, _ := ReadDir(application(t, "develop-and-test"), "meta")
	r, _ := presented(t, application(t, "develop-and-test"), "develop-and-test")
	written := map[string]engine.Fields{}
	for _, s := range sources {
		fields := s.Value.(engine.Fields)
		if s.Type {
			continue
		}
		v, _ := fields.Get("properties")
		slices.SortStableFunc(v.([]any), func(a, b any) int { return cmp.Compare(orderNumber(a.(engine.Fields)), orderNumber(b.(engine.Fields))) })
		fields = fields.With("namespace", "develop-and-test")
		name, _ := fields.Get("name")
		written[name.(string)] = fields // if two files describe the same class, the last one counts
	}
	length := 1
	for _, c := range r.Classes() {
		got, want := string(engine.AppendValue(nil, describe.Class(c))), string(engine.AppendValue(nil, written[c.Name]))
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.FullName, got, want)
		}
		length += len(got) + 1
	}
	if length != 357016 { // the length of IONDV's response to listMeta
		t.Errorf("all classes: got %d bytes, want 357016", length)
	}
}

// TestDescribed checks that the description of a class includes the attributes of its ancestors and structures, and
// the fields that a short file omits.
func TestDescribed(t *testing.T) {
	r, _ := presented(t, files(map[string]string{
		"meta/passport.class.json":  `{"name": "passport", "isStruct": true, "key": ["number"], "properties": [{"name": "number", "type": "string", "nullable": true}, {"name": "by", "type": 0, "nullable": true}]}`,
		"meta/money.class.json":     `{"name": "money", "ancestor": "note", "version": "2", "properties": [{"name": "pass", "type": 16, "refClass": "passport", "orderNumber": 7, "mode": 1}, {"name": "title", "type": "string", "caption": "Own", "orderNumber": 9}]}`,
		"meta/types/code.type.json": `{"name": "code", "type": 0, "size": 5}`,
		"meta/coded.class.json":     `{"name": "coded", "key": ["c"], "properties": [{"name": "c", "type": 17, "refClass": "code@app", "hint": "a code"}]}`,
	}), "app")
	class := func(name string) *engine.Class {
		c, err := r.Class(name + "@app")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	names := func(list []any) (all string) {
		for _, v := range list {
			name, _ := v.(engine.Fields).Get("name")
			all += name.(string) + " "
		}
		return all
	}
	money := class("money")
	if got := names(describe.Properties(money)); got != "id in pass pass$number pass$by title " {
		t.Errorf("attributes of money: got %s, want also those of ancestors and structs", got)
	}
	own, _ := describe.Class(money).Get("properties")
	if got := names(own.([]any)); got != "pass title " {
		t.Errorf("own attributes of money: got %s, want pass and title", got)
	}
	if got, want := string(engine.AppendValue(nil, describe.Class(class("coded")))), `{"name":"coded","key":["c"],"properties":[{"name":"c","type":17,"refClass":"code@app","hint":"a code",`+
		`"orderNumber":0,"caption":"c","size":5,"decimals":0,"allowedFileTypes":null,"maxFileCount":0,"nullable":false,"readonly":false,"indexed":false,"unique":false,"autoassigned":false,`+
		`"defaultValue":null,"itemsClass":"","backRef":"","backColl":"","binding":"","semantic":null,"selConditions":null,"selSorting":[],"selectionProvider":null,"indexSearch":false,"eagerLoading":false,"formula":null}],`+
		`"isStruct":false,"semantic":"","version":"","caption":"coded","ancestor":null,"container":null,"journaling":false,"compositeIndexes":null,"namespace":"app"}`; got != want {
		t.Errorf("coded\ngot  %s\nwant %s", got, want)
	}
	type field struct{ class, attribute, name, want string }
	for _, f := range []field{
		{"money", "pass", "type", "16"}, {"money", "pass", "definitionClass", `"money@app"`}, {"money", "pass", "mode", "1"}, {"money", "pass$number", "type", "0"},
		{"money", "title", "definitionClass", `"money@app"`}, {"money", "title", "caption", `"Own"`}, {"money", "in", "definitionClass", `"note@app"`}, {"money", "in", "refClass", `"book"`},
		{"coded", "c", "type", "0"}, {"coded", "c", "mode", "0"}, {"note", "title", "nullable", "false"},
	} {
		for _, v := range describe.Properties(class(f.class)) {
			if name, _ := v.(engine.Fields).Get("name"); name != f.attribute {
				continue
			}
			v, _ := v.(engine.Fields).Get(f.name)
			if got := string(engine.AppendValue(nil, v)); got != f.want {
				t.Errorf("%s of %s.%s: %s, expected %s", f.name, f.class, f.attribute, got, f.want)
			}
		}
	}
}

// TestDescribedInView checks that the description of a view contains neither hidden attributes nor references to them
// in the other attributes.
func TestDescribedInView(t *testing.T) {
	r, _ := presented(t, files(map[string]string{
		"meta/pay.class.json": `{"name": "pay", "ancestor": "note", "semantic": "title| |sum", "container": "boss", "creationTracker": "at", "changeTracker": "", "cacheDependencies": ["boss", "in"],
			"compositeIndexes": [{"properties": ["title", "sum"]}, {"properties": ["title"]}], "metaVersion": "sum", "properties": [
			{"name": "sum", "type": 6, "nullable": true}, {"name": "at", "type": 9, "nullable": true}, {"name": "boss", "type": 13, "refClass": "pay", "nullable": true, "semantic": "title|sum"},
			{"name": "shown", "caption": "The sum", "type": 0, "nullable": true, "formula": {"concat": ["$sum", "$title"]}, "hint": "sum", "defaultValue": "sum"},
			{"name": "paid", "type": 14, "itemsClass": "pay", "backRef": "boss", "selConditions": {"gt": ["$sum", 5]}, "selSorting": [{"property": "sum"}, {"property": "title"}]},
			{"name": "hand", "type": 16, "refClass": "hand", "nullable": true}, {"name": "card", "type": 16, "refClass": "hand", "nullable": true}]}`,
		"meta/hand.class.json": `{"name": "hand", "isStruct": true, "key": ["left"], "properties": [{"name": "left", "type": 0, "nullable": true}, {"name": "right", "type": 0, "nullable": true}]}`,
	}), "app")
	hidden := map[string]bool{"sum": true, "at": true, "boss": true, "hand$left": true, "card$left": true, "card$right": true}
	pay, err := r.Class("pay@app")
	if err != nil {
		t.Fatal(err)
	}
	view := engine.NewViews(func(p *engine.Property) bool { return hidden[p.Name] }).Of(pay)
	said := describe.Class(view)
	for name, want := range map[string]string{"semantic": `"title| "`, "container": "null", "creationTracker": `""`, "changeTracker": `""`,
		"cacheDependencies": `["in"]`, "compositeIndexes": `[{"properties":["title"]}]`, "metaVersion": `"sum"`} {
		v, _ := said.Get(name)
		if got := string(engine.AppendValue(nil, v)); got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
	}
	own, _ := said.Get("properties")
	var names, all []string
	for _, v := range own.([]any) {
		name, _ := v.(engine.Fields).Get("name")
		names = append(names, name.(string))
	}
	for _, v := range describe.Properties(view) {
		name, _ := v.(engine.Fields).Get("name")
		all = append(all, name.(string))
	}
	if got := strings.Join(names, " ") + ", " + strings.Join(all, " "); got != "shown hand, id title in shown hand hand$right" {
		t.Errorf("attributes in the view: got %s, want no hidden ones", got)
	}
	shown := own.([]any)[0].(engine.Fields)
	for name, want := range map[string]string{"caption": `"The sum"`, "formula": "null", "hint": `"sum"`, "defaultValue": "null"} {
		v, _ := shown.Get(name)
		if got := string(engine.AppendValue(nil, v)); got != want {
			t.Errorf("%s of shown: %s, expected %s", name, got, want)
		}
	}
	if text := string(engine.AppendValue(nil, describe.Class(pay))); !strings.Contains(text, `"backRef":"boss"`) || !strings.Contains(text, `"selSorting":[{"property":"sum"},`) {
		t.Errorf("description of the class itself: got %s, want all mentions", text)
	}
}
