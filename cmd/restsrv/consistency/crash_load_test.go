package consistency

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"slices"
	"strings"
)

const crashApp = `{
  "namespace": "crash",
  "classes": [
    {"name": "box", "key": ["id"], "properties": [{"name": "id", "type": "guid"}, {"name": "text", "type": "string", "indexed": true},
      {"name": "parts", "type": "collection", "itemsClass": "part", "backRef": "box"},
      {"name": "tags", "type": "collection", "itemsClass": "tag", "backColl": "boxes"}]},
    {"name": "part", "key": ["id"], "properties": [{"name": "id", "type": "guid"}, {"name": "text", "type": "text"},
      {"name": "box", "type": "reference", "refClass": "box"}]},
    {"name": "tag", "key": ["id"], "properties": [{"name": "id", "type": "guid"}, {"name": "text", "type": "string"},
      {"name": "boxes", "type": "collection", "itemsClass": "box", "backColl": "tags"}]},
    {"name": "paper", "key": ["id"], "properties": [{"name": "id", "type": "guid"}, {"name": "text", "type": "string"},
      {"name": "scan", "type": "file"}, {"name": "pages", "type": "filelist"}]}],
  "modules": {"rest": {"globals": {"authMode": {"crud": "token", "acceptor": "token", "workflows": "token"}, "di": {
    "crud": {"module": "builtin/crud"}, "workflows": {"module": "builtin/workflows"},
    "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo", "fileStorage": "ion://fileStorage"}}}}}}
}`

// crashWorkflow is the workflow of parts. A move changes the part and its stage.
const crashWorkflow = `{"name": "life", "caption": "Life", "wfClass": "part", "startState": "new",
  "states": [{"name": "new", "caption": "New"}, {"name": "made", "caption": "Made"}, {"name": "sold", "caption": "Sold"}],
  "transitions": [
    {"name": "make", "caption": "Make", "startState": "new", "finishState": "made", "assignments": [{"key": "text", "value": "is made"}]},
    {"name": "sell", "caption": "Sell", "startState": "made", "finishState": "sold", "assignments": [{"key": "text", "value": "is sold"}]},
    {"name": "renew", "caption": "Renew", "startState": "sold", "finishState": "new", "assignments": [{"key": "text", "value": "is new"}]}]}`

// operations are the kinds of writes. next returns the next write of the kind, or nil if the
// writer has no suitable object.
var operations = []struct {
	name string
	next func(*writer) *mutation
}{
	{"create", (*writer).create},
	{"PATCH", (*writer).change},
	{"DELETE", (*writer).remove},
	{"key change", (*writer).rekey},
	{"acceptor", (*writer).batch},
	{"object in object", (*writer).deep},
	{"objects in collections", (*writer).nest},
	{"collections add and remove", (*writer).relate},
	{"collections replaced", (*writer).replace},
	{"multipart upload", (*writer).upload},
	{"base64 upload", (*writer).reload},
	{"files cleared", (*writer).clear},
	{"transition", (*writer).transit},
	{"forced move", (*writer).push},
}

// writer sends writes of all kinds, one after the other. It changes only its own items.
type writer struct {
	model
	random  *rand.Rand
	number  int // number of names that it has used
	counts  []int
	refusal string                           // answer to the refused write
	get     func(path string) (string, bool) // sends a GET request; false if that is not possible
}

func newWriter(name string, seed uint64) *writer {
	return &writer{model: model{name: name, items: state{}}, random: rand.New(rand.NewPCG(seed, seed)), counts: make([]int, len(operations))}
}

// next returns a write of a random kind, and the kind.
func (w *writer) next() (x *mutation, kind int) {
	for x == nil {
		kind = w.random.IntN(len(operations))
		x = operations[kind].next(w)
	}
	x.id = w.fresh()
	return x, kind
}

// most is the maximum number of items of a class that a writer has.
const most = 10

const (
	boxes  = "box@crash"
	parts  = "part@crash"
	tags   = "tag@crash"
	papers = "paper@crash"
)

var crashClasses = []string{boxes, parts, tags, papers}

// fresh returns an id that was not used before.
func (w *writer) fresh() string {
	w.number++
	return fmt.Sprintf("%s-%d", w.name, w.number)
}

func (w *writer) text() string { w.number++; return fmt.Sprintf("text %d", w.number) }

// own returns the ids of the writer's items of a class, in random order.
func (w *writer) own(class string) (ids []string) {
	for name := range w.items {
		if name.class == class {
			ids = append(ids, name.id)
		}
	}
	slices.Sort(ids)
	w.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// some returns the first ids, a random number of at most n.
func (w *writer) some(ids []string, n int) []string {
	return slices.Clone(ids[:w.random.IntN(min(n, len(ids))+1)])
}

// one returns a random item of a class. It returns false if there is none.
func (w *writer) one(class string) (itemName, bool) {
	ids := w.own(class)
	if len(ids) == 0 {
		return itemName{}, false
	}
	return itemName{class, ids[0]}, true
}

// any returns a random item.
func (w *writer) any() (itemName, bool) {
	return w.one(crashClasses[w.random.IntN(len(crashClasses))])
}

// room reports whether the writer may have n more items of a class.
func (w *writer) room(class string, n int) bool { return len(w.own(class))+n <= most }

// partsOf returns the ids of the parts in a box.
func (w *writer) partsOf(box string) (ids []string) {
	for name, v := range w.items {
		if name.class == parts && v["box"] == box {
			ids = append(ids, name.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// fields is the body of a request.
type fields map[string]any

func (f fields) String() string {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // of text and lists of text
	}
	return string(text)
}

const jsonType = "application/json"

func post(class string, body fields, after state) *mutation {
	return &mutation{method: "POST", path: "/rest/crud/" + class, contentType: jsonType, body: body.String(), after: after}
}

func patch(name itemName, body fields, after state) *mutation {
	return &mutation{method: "PATCH", path: "/rest/crud/" + name.class + "/" + name.id, contentType: jsonType, body: body.String(), after: after}
}

func (w *writer) create() *mutation {
	class := crashClasses[w.random.IntN(len(crashClasses))]
	if !w.room(class, 1) {
		return nil
	}
	id, text := w.fresh(), w.text()
	return post(class, fields{"id": id, "text": text}, state{{class, id}: {"text": text}})
}

func (w *writer) change() *mutation {
	name, ok := w.any()
	if !ok {
		return nil
	}
	text := w.text()
	return patch(name, fields{"text": text}, state{name: w.items[name].set("text", text)})
}

// remove deletes an item of the class with the most items. No item may refer to it, but it may be a
// member of collections.
func (w *writer) remove() *mutation {
	var name itemName
	most := 0
	for _, class := range crashClasses {
		ids := slices.DeleteFunc(w.own(class), func(id string) bool { return class == boxes && len(w.partsOf(id)) > 0 })
		if len(ids) > most {
			name, most = itemName{class, ids[0]}, len(ids)
		}
	}
	if most == 0 {
		return nil
	}
	after := w.retag(name, "")
	after[name] = nil
	return &mutation{method: "DELETE", path: "/rest/crud/" + name.class + "/" + name.id, after: after}
}

// retag returns the new values of the boxes that have the tag, after the id of the tag has
// changed to id. If id is "", the tag is deleted.
func (w *writer) retag(tag itemName, id string) state {
	after := state{}
	for name, v := range w.items {
		if list := idsIn(v["tags"]); name.class == boxes && tag.class == tags && slices.Contains(list, tag.id) {
			list = slices.DeleteFunc(list, func(one string) bool { return one == tag.id })
			after[name] = v.set("tags", idList(append(list, idsIn(id)...)))
		}
	}
	return after
}

// rekey changes the id of an item. References to it get the new id.
func (w *writer) rekey() *mutation {
	name, ok := w.any()
	if !ok {
		return nil
	}
	id := w.fresh()
	after := w.retag(name, id)
	after[name], after[itemName{name.class, id}] = nil, w.items[name]
	if name.class == boxes {
		for _, part := range w.partsOf(name.id) {
			after[itemName{parts, part}] = w.items[itemName{parts, part}].set("box", id)
		}
	}
	return patch(name, fields{"id": id}, after)
}

// batch saves all parts and a few new parts in one request to the acceptor. Some parts refer to a
// box that comes later in the request, and one part contains a box. The request also has a paper
// with a file.
func (w *writer) batch() *mutation {
	text, after, records := w.text(), state{}, []fields{}
	later := w.fresh()
	for i, id := range w.batched() {
		name := itemName{parts, id}
		record := fields{"_class": parts, "_id": id, "text": text}
		v := w.items[name].set("text", text)
		switch {
		case i%4 == 1 && w.room(boxes, 2):
			record["box"], v = later, v.set("box", later)
		case i == 2 && w.room(boxes, 2):
			inner := w.fresh()
			record["box"], v = fields{"id": inner, "text": text}, v.set("box", inner)
			after[itemName{boxes, inner}] = values{"text": text}
		}
		after[name], records = v, append(records, record)
	}
	if w.room(boxes, 2) {
		records = append(records, fields{"_class": boxes, "_id": later, "text": text})
		after[itemName{boxes, later}] = values{"text": text}
	}
	if w.room(papers, 1) {
		id, scan := w.fresh(), w.file()
		records = append(records, fields{"_class": papers, "_id": id, "text": text, "scan": scan.encoded()})
		after[itemName{papers, id}] = values{"text": text, "scan": scan.String()}
	}
	body, err := json.Marshal(records)
	if err != nil {
		panic(err)
	}
	return &mutation{method: "POST", path: "/rest/acceptor", contentType: jsonType, body: string(body), after: after}
}

// batched returns the ids of the parts in a batch: all existing parts and a few new parts.
func (w *writer) batched() []string {
	ids := w.own(parts)
	for range min(3, most-len(ids)) {
		ids = append(ids, w.fresh())
	}
	return ids
}

// deep changes a part and, as a nested object, its box. The box may be new.
func (w *writer) deep() *mutation {
	part, ok := w.one(parts)
	box, known := w.one(boxes)
	if !ok || !known && !w.room(boxes, 1) {
		return nil
	}
	text, id := w.text(), "_id"
	if !known || w.room(boxes, 1) && w.random.IntN(2) == 0 {
		id, box = "id", itemName{boxes, w.fresh()}
	}
	return patch(part, fields{"text": text, "box": fields{id: box.id, "text": text}},
		state{part: w.items[part].set("text", text, "box", box.id), box: w.items[box].set("text", text)})
}

// nest creates a box with nested parts and tags. Some of them are new, and some exist.
func (w *writer) nest() *mutation {
	if !w.room(boxes, 1) || !w.room(parts, 1) || !w.room(tags, 1) {
		return nil
	}
	box, part, tag, text := w.fresh(), w.fresh(), w.fresh(), w.text()
	moved, tagged := w.some(w.own(parts), 3), w.some(w.own(tags), 3)
	after := state{
		{boxes, box}:  values{"text": text, "tags": idList(append([]string{tag}, tagged...))},
		{parts, part}: values{"text": text, "box": box},
		{tags, tag}:   values{"text": text},
	}
	for _, id := range moved {
		after[itemName{parts, id}] = w.items[itemName{parts, id}].set("box", box)
	}
	return post(boxes, fields{"id": box, "text": text,
		"parts": mixed(moved, fields{"id": part, "text": text}), "tags": mixed(tagged, fields{"id": tag, "text": text})}, after)
}

// mixed returns a list of an object and ids.
func mixed(ids []string, object fields) []any {
	all := []any{object}
	for _, id := range ids {
		all = append(all, id)
	}
	return all
}

// relate adds members to the collections of a box and removes members.
func (w *writer) relate() *mutation {
	box, ok := w.one(boxes)
	if !ok {
		return nil
	}
	has, tagged := w.partsOf(box.id), idsIn(w.items[box]["tags"])
	in := func(ids []string) func(string) bool { return func(id string) bool { return slices.Contains(ids, id) } }
	come := w.some(slices.DeleteFunc(w.own(parts), in(has)), 3)
	tag := w.some(slices.DeleteFunc(w.own(tags), in(tagged)), 3)
	leave, untag := w.some(has, 2), w.some(tagged, 2)
	left := slices.DeleteFunc(slices.Clone(tagged), in(untag))
	text := w.text()
	after := state{box: w.items[box].set("text", text, "tags", idList(append(left, tag...)))}
	w.move(after, come, box.id)
	w.move(after, leave, "")
	return patch(box, fields{"text": text, "parts": fields{"add": come, "remove": leave}, "tags": fields{"add": tag, "remove": untag}}, after)
}

// move moves parts into a box; if box is "", it takes them out of their boxes.
func (w *writer) move(after state, ids []string, box string) {
	for _, id := range ids {
		after[itemName{parts, id}] = w.items[itemName{parts, id}].set("box", box)
	}
}

// replace replaces the collections of a box.
func (w *writer) replace() *mutation {
	box, ok := w.one(boxes)
	if !ok {
		return nil
	}
	in, tagged, text := w.some(w.own(parts), 4), w.some(w.own(tags), 4), w.text()
	after := state{box: w.items[box].set("text", text, "tags", idList(slices.Clone(tagged)))}
	w.move(after, w.partsOf(box.id), "")
	w.move(after, in, box.id)
	return patch(box, fields{"text": text, "parts": in, "tags": tagged}, after)
}

// upload is a file in a request.
type upload struct{ name, content string }

func (u upload) String() string { return fileText(u.name, u.content) }

func (u upload) encoded() fields {
	return fields{"name": u.name, "mimeType": "text/plain", "body": base64.StdEncoding.EncodeToString([]byte(u.content))}
}

// file returns a new file. Many files have a content that other writers send at about the same
// time.
func (w *writer) file() upload {
	name, of := w.fresh(), w.name
	if w.random.IntN(3) == 0 {
		return upload{name, fmt.Sprint("shared-", w.number/32)}
	}
	return upload{name, strings.Repeat(fmt.Sprint(of, "-", name, ";"), 1+w.random.IntN(300))}
}

// upload sends a multipart form. It creates a paper with three files, or replaces the files of a
// paper.
func (w *writer) upload() *mutation {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	text, scan, pages := w.text(), w.file(), []upload{w.file(), w.file()}
	x := &mutation{method: "POST", path: "/rest/crud/" + papers, contentType: form.FormDataContentType()}
	paper, ok := w.one(papers)
	if !ok || w.room(papers, 1) && w.random.IntN(2) == 0 {
		paper = itemName{papers, w.fresh()}
		_ = form.WriteField("id", paper.id) // into a buffer
	} else {
		x.method, x.path = "PATCH", x.path+"/"+paper.id
	}
	_ = form.WriteField("text", text)
	for i, u := range append(pages, scan) {
		part, _ := form.CreateFormFile([]string{"pages", "pages", "scan"}[i], u.name)
		_, _ = io.WriteString(part, u.content)
	}
	_ = form.Close()
	x.body = body.String()
	x.after = state{paper: w.items[paper].set("text", text, "scan", scan.String(), "pages", pages[0].String()+" "+pages[1].String())}
	return x
}

// reload replaces the scan of a paper and adds a page. The other pages stay: the request contains
// their ids.
func (w *writer) reload() *mutation {
	paper, ok := w.one(papers)
	if !ok {
		return nil
	}
	answer, ok := w.get("/rest/crud/" + papers + "/" + paper.id)
	var stored struct{ Pages []struct{ ID string } }
	if !ok || json.Unmarshal([]byte(answer), &stored) != nil {
		return nil
	}
	scan, page, pages := w.file(), w.file(), []any{}
	had := strings.Split(w.items[paper]["pages"], " ")
	for _, p := range stored.Pages[:min(len(stored.Pages), 3)] {
		pages = append(pages, fields{"id": p.ID})
	}
	kept := append(had[:len(pages)], page.String())
	return patch(paper, fields{"scan": scan.encoded(), "pages": append(pages, page.encoded())},
		state{paper: w.items[paper].set("scan", scan.String(), "pages", strings.Join(kept, " "))})
}

// clear removes files from a paper.
func (w *writer) clear() *mutation {
	paper, ok := w.one(papers)
	v := w.items[paper]
	switch {
	case !ok || v["scan"] == "" && v["pages"] == "":
		return nil
	case v["scan"] != "":
		return patch(paper, fields{"scan": nil}, state{paper: v.set("scan", "")})
	}
	return patch(paper, fields{"pages": []any{}}, state{paper: v.set("pages", "")})
}

// stageText returns the stage of a part as a value. It is "" for the start state.
func stageText(stage string) string {
	if stage == "new" {
		return ""
	}
	return "life@crash:" + stage
}

// transit moves a part by the only transition that is possible.
func (w *writer) transit() *mutation {
	part, ok := w.one(parts)
	if !ok {
		return nil
	}
	v := w.items[part]
	way := map[string][2]string{"": {"make", "made"}, stageText("made"): {"sell", "sold"}, stageText("sold"): {"renew", "new"}}[v["stage"]]
	return &mutation{method: "PUT", path: "/rest/workflows/" + parts + "/" + part.id, contentType: jsonType, body: `["life@crash.` + way[0] + `"]`,
		after: state{part: v.set("text", "is "+way[1], "stage", stageText(way[1]))}}
}

// push moves a part into a stage, from any stage.
func (w *writer) push() *mutation {
	part, ok := w.one(parts)
	stage := []string{"new", "made", "sold"}[w.random.IntN(3)]
	if !ok || w.items[part]["stage"] == stageText(stage) {
		return nil
	}
	return &mutation{method: "PATCH", path: "/rest/workflows/" + parts + "/" + part.id, contentType: jsonType, body: `["life@crash.` + stage + `"]`,
		after: state{part: w.items[part].set("stage", stageText(stage))}}
}
