package consistency

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The targets of the attributes of crashApp. crashReferences has the attributes that are
// references, by class and name. For a collection with links, crashLinks has the class of the
// owners and the class of the members.
var (
	crashReferences = map[string]map[string]string{"part@crash": {"box": "box@crash"}}
	crashLinks      = map[string][2]string{"box@crash.tags": {"box@crash", "tag@crash"}}
)

// archive holds the content of a database, read from an export with files.
type archive struct {
	items  state
	faults []string // contradictions in the export

	raw      map[itemName]map[string]json.RawMessage
	rows     map[string]fileRow // by id of the file
	links    []archiveLinks
	stages   []archiveStage
	contents map[string][]byte // by hash
	whole    map[string]int    // size of a content, by hash
	count    int
	ended    bool
}

// fileRow is an item of the system class of files. Class, Item and Attribute name the object that
// has the file.
type fileRow struct {
	ID, Hash, Name, MimeType string
	Size                     int
	Class, Item, Attribute   string
}

type archiveLinks struct {
	Collection string   `json:"_links"`
	Owner      string   `json:"_id"`
	Members    []string `json:"members"`
}

type archiveStage struct{ Class, Item, Workflow, Stage string }

// readArchive reads an export and looks for contradictions:
//
//   - dangling links and references
//   - file rows without an object
//   - files without a row or with incomplete content
//   - stages of missing objects
func readArchive(r io.Reader) *archive {
	a := &archive{items: state{}, raw: map[itemName]map[string]json.RawMessage{}, rows: map[string]fileRow{}, contents: map[string][]byte{}, whole: map[string]int{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			a.line(line)
		}
		if err != nil {
			break
		}
	}
	if !a.ended {
		a.fault("the export is cut off")
	}
	for name, raw := range a.raw {
		a.items[name] = a.values(name, raw)
	}
	for _, l := range a.links {
		a.link(l)
	}
	for _, s := range a.stages {
		a.stage(s)
	}
	for id, row := range a.rows {
		a.fault("file %s: a row says that %s of %s %s holds it, which does not", id, row.Attribute, row.Class, row.Item)
	}
	return a
}

func (a *archive) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// line reads a line of the export.
func (a *archive) line(text []byte) {
	var l map[string]json.RawMessage
	if err := json.Unmarshal(text, &l); err != nil {
		a.fault("a line is no JSON: %.100q", text)
		return
	}
	into := func(v any) {
		if err := json.Unmarshal(text, v); err != nil {
			a.fault("a line cannot be read: %.100q: %v", text, err)
		}
	}
	var kind struct {
		Class    string `json:"_class"`
		ID       string `json:"_id"`
		Links    string `json:"_links"`
		Content  string `json:"_content"`
		Restsrv  string `json:"_restsrv"`
		Items    int    `json:"items"`
		Size     *int   `json:"size"`
		Data     []byte `json:"data"`
		Workflow string `json:"workflow"`
	}
	into(&kind)
	switch {
	case kind.Restsrv == "end":
		if a.ended = true; kind.Items != a.count {
			a.fault("the export has %d items, and says it has %d", a.count, kind.Items)
		}
	case kind.Links != "":
		var links archiveLinks
		into(&links)
		a.links = append(a.links, links)
	case kind.Content != "":
		a.contents[kind.Content] = append(a.contents[kind.Content], kind.Data...)
		if kind.Size != nil {
			a.whole[kind.Content] = *kind.Size
		}
	case kind.Class != "":
		a.count++
		a.item(kind.Class, kind.ID, l, into)
	}
}

// item reads the line of an item.
func (a *archive) item(class, id string, l map[string]json.RawMessage, into func(any)) {
	switch class {
	case "#file":
		var row fileRow
		into(&row)
		a.rows[row.ID] = row
	case "#stage":
		var s archiveStage
		into(&s)
		a.stages = append(a.stages, s)
	default:
		if strings.HasSuffix(class, "@crash") {
			a.raw[itemName{class, id}] = l
		}
	}
}

// values returns the values of an item, without its id.
func (a *archive) values(name itemName, raw map[string]json.RawMessage) values {
	v := values{}
	for attribute, text := range raw {
		if attribute == "id" || strings.HasPrefix(attribute, "_") {
			continue
		}
		var plain string
		if json.Unmarshal(text, &plain) != nil {
			plain = a.files(name, attribute, text)
		}
		if to := crashReferences[name.class][attribute]; to != "" && a.raw[itemName{to, plain}] == nil {
			a.fault("%s: %s leads to %s %s, which is not there", name, attribute, to, plain)
		}
		v = v.set(attribute, plain)
	}
	return v
}

// files returns the names and contents of the files in an attribute, and removes the rows of
// these files. At the end, only rows that belong to no object remain.
func (a *archive) files(name itemName, attribute string, text json.RawMessage) string {
	if text[0] != '[' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	var list []fileRow
	if err := json.Unmarshal(text, &list); err != nil {
		a.fault("%s: %s is no file: %s", name, attribute, text)
	}
	var all []string
	for _, f := range list {
		row, ok := a.rows[f.ID]
		delete(a.rows, f.ID)
		f.Class, f.Item, f.Attribute = name.class, name.id, attribute
		switch content, there := a.contents[f.Hash]; {
		case !ok:
			a.fault("%s: %s holds file %s, of which there is no row", name, attribute, f.ID)
		case row != f:
			a.fault("%s: %s holds file %+v, the row says %+v", name, attribute, f, row)
		case !there:
			a.fault("%s: the content of file %s is not there", name, f.ID)
		case len(content) != f.Size, a.whole[f.Hash] != f.Size, hashOf(content) != f.Hash:
			a.fault("%s: the content of file %s is not whole: %d bytes of %d", name, f.ID, len(content), f.Size)
		}
		all = append(all, fileText(f.Name, string(a.contents[f.Hash])))
	}
	return strings.Join(all, " ")
}

// fileText returns a file as a part of values.
func fileText(name, content string) string { return name + "=" + content }

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// link adds members to the values of the owner.
func (a *archive) link(l archiveLinks) {
	classes, ok := crashLinks[l.Collection]
	owner := itemName{classes[0], l.Owner}
	switch {
	case !ok:
		a.fault("links of %s are not known", l.Collection)
		return
	case a.items[owner] == nil:
		a.fault("%s: has members in %s, and is not there", owner, l.Collection)
		return
	}
	for _, member := range l.Members {
		if a.raw[itemName{classes[1], member}] == nil {
			a.fault("%s: has the member %s in %s, which is not there", owner, member, l.Collection)
		}
	}
	_, attribute, _ := strings.Cut(l.Collection, ".")
	a.items[owner] = a.items[owner].set(attribute, idList(append(idsIn(a.items[owner][attribute]), l.Members...)))
}

// idList returns ids as a value of a collection, and idsIn returns the ids in such a value.
func idList(ids []string) string {
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func idsIn(list string) []string { return strings.Fields(list) }

// stage adds a stage to the values of its item.
func (a *archive) stage(s archiveStage) {
	name := itemName{s.Class, s.Item}
	if a.items[name] == nil {
		a.fault("%s: has the stage %s, and is not there", name, s.Stage)
		return
	}
	if s.Stage == "new" { // the start stage may be stored or not
		return
	}
	a.items[name] = a.items[name].set("stage", idList(append(idsIn(a.items[name]["stage"]), s.Workflow+":"+s.Stage)))
}
