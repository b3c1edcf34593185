package consistency

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine/store/postgres/pgtest"
)

// momentApp is an application with the following objects. readArchive can read its exports.
//
//   - pairs with two sides, whose sum is always pairSum
//   - boxes, each with the sum of its parts
//   - guests, which are created and deleted
//   - papers with files
const momentApp = `{
  "namespace": "crash",
  "classes": [
    {"name": "left", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "n", "type": "string"}, {"name": "batch", "type": "string"}]},
    {"name": "right", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "n", "type": "string"}, {"name": "batch", "type": "string"}]},
    {"name": "pair", "key": ["id"], "properties": [{"name": "id", "type": "string"},
      {"name": "a", "type": "reference", "refClass": "left"}, {"name": "b", "type": "reference", "refClass": "right"}]},
    {"name": "box", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "sum", "type": "string"},
      {"name": "parts", "type": "collection", "itemsClass": "part", "backRef": "box"}]},
    {"name": "part", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "n", "type": "string"},
      {"name": "box", "type": "reference", "refClass": "box"}]},
    {"name": "job", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "text", "type": "string"}]},
    {"name": "guest", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "name", "type": "string"}]},
    {"name": "paper", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "scan", "type": "file"}]}],
  "modules": {"rest": {"globals": {"authMode": {"crud": "none", "acceptor": "none", "guests": "none", "workflows": "none"}, "di": {
    "crud": {"module": "builtin/crud"}, "workflows": {"module": "builtin/workflows"}, "guests": {"module": "guests.js"},
    "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo", "fileStorage": "ion://fileStorage"}}}}}}
}`

// momentWorkflow is the workflow of jobs. A job can be moved at any time.
const momentWorkflow = `{"name": "life", "caption": "Life", "wfClass": "job", "startState": "new", "states": [{"name": "new", "caption": "New"}, {"name": "done", "caption": "Done"}],
  "transitions": [
    {"name": "do", "caption": "Do", "startState": "new", "finishState": "done", "conditions": {"eq": ["$text", "new"]}, "assignments": [{"key": "text", "value": "done"}]},
    {"name": "renew", "caption": "Renew", "startState": "done", "finishState": "new", "conditions": {"eq": ["$text", "done"]}, "assignments": [{"key": "text", "value": "new"}]}]}`

// guestsService creates guests and deletes others, in one transaction.
const guestsService = `module.exports = {
  'POST /': async (req) => dataRepo.transaction(async (t) => {
    for (const id of req.body.come) await t.createItem('guest@crash', {id, name: id});
    for (const id of req.body.go) await t.deleteItem('guest@crash', id).catch(() => {}); // a refused request did not create it
    return {};
  }),
  'GET /': async () => { const l = await dataRepo.getList('guest@crash', {countTotal: true}); return {found: l.length, total: l.total}; },
};`

const (
	pairs   = 1200 // more than one page of an export
	pairSum = 1000
)

// TestOneMoment checks that each export and each answer to a list request shows one state of the
// data while writers change them. RESTSRV_MOMENTS="EXPORTS LISTS" sets the numbers of exports and
// lists.
func TestOneMoment(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { oneMoment(t, "") })
	t.Run("postgres", func(t *testing.T) { oneMoment(t, pgtest.Database(t)) })
}

func oneMoment(t *testing.T, db string) {
	exports, lists := 8, 400
	if text := os.Getenv("RESTSRV_MOMENTS"); text != "" {
		if _, err := fmt.Sscan(text, &exports, &lists); err != nil {
			t.Fatalf("RESTSRV_MOMENTS is %q, want two numbers: %v", text, err)
		}
	}
	m := &moments{Case: apptest.NewOpenCase(t, db)}
	defer m.StopServer()
	m.WriteFile("deploy.json", momentApp)
	m.WriteFile("guests.js", guestsService)
	m.WriteFile("workflows/life.wf.json", momentWorkflow)
	m.StartServer()
	m.fill()
	var stop atomic.Bool
	var writers, readers sync.WaitGroup
	for i, write := range []func(*rand.Rand, int) error{m.movePairs, m.movePairs, m.changeAll, m.fillBoxes, m.inviteGuests, m.replacePapers, m.moveJob} {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 14))
			for step := 0; !stop.Load(); step++ {
				if err := write(random, i); err != nil {
					t.Errorf("writer %d, step %d: %v", i, step, err)
					return
				}
				m.steps[i].Add(1)
			}
		})
	}
	torn := make([]int, 4)
	for i := range 3 {
		readers.Go(func() {
			for n := i; n < lists; n += 3 {
				if fault := m.list(n / 3); fault != "" {
					if torn[i]++; torn[i] < 4 {
						t.Errorf("list %d: %s", n, fault)
					}
				}
			}
		})
	}
	readers.Go(func() {
		for n := range exports {
			if faults := m.export(n%2 == 0); len(faults) > 0 {
				if torn[3]++; torn[3] < 4 {
					t.Errorf("export %d: got %d faults, want none: %s", n, len(faults), strings.Join(faults[:min(len(faults), 3)], "; "))
				}
			}
		}
	})
	readers.Wait()
	stop.Store(true)
	writers.Wait()
	var steps []int64
	for i := range m.steps {
		steps = append(steps, m.steps[i].Load())
	}
	t.Logf("%d of %d exports and %d of %d lists are torn; writes beside them: %v", torn[3], exports, torn[0]+torn[1]+torn[2], lists, steps)
}

// moments is a server with momentApp.
type moments struct {
	*apptest.Case
	steps  [7]atomic.Int64
	guests atomic.Int64 // number of the newest guest
}

// post sends a body. It returns an error for any answer except 200 and refusals after which the
// request can be repeated.
func (m *moments) post(path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	resp, err := http.Post("http://"+m.Addr+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK && resp.Header.Get("Retry-After") == "" {
		return fmt.Errorf("POST %s answers %s: %.300s (%v)", path, resp.Status, answer, err)
	}
	return nil
}

type document = map[string]any

func (m *moments) fill() {
	m.Helper()
	var all []document
	for i := range pairs {
		id := strconv.Itoa(i)
		all = append(all, document{"_class": "left@crash", "_id": id, "n": strconv.Itoa(pairSum), "batch": "0"},
			document{"_class": "right@crash", "_id": id, "n": "0", "batch": "0"},
			document{"_class": "pair@crash", "_id": id, "a": id, "b": id})
	}
	for i := range 4 {
		all = append(all, document{"_class": "box@crash", "_id": strconv.Itoa(i), "sum": "0"}, document{"_class": "guest@crash", "_id": "guest" + strconv.Itoa(i)})
		for n := range 3 {
			all = append(all, document{"_class": "part@crash", "_id": fmt.Sprint(i, "-", n), "n": "0", "box": strconv.Itoa(i)})
		}
	}
	all = append(all, document{"_class": "job@crash", "_id": "1", "text": "new"})
	for some := range slices.Chunk(all, 900) {
		if err := m.post("/rest/acceptor", some); err != nil {
			m.Fatal(err)
		}
	}
}

// sides returns the records that divide pairSum between the two sides of a pair.
func sides(pair, left int, batch string) []document {
	id := strconv.Itoa(pair)
	return []document{{"_class": "right@crash", "_id": id, "n": strconv.Itoa(pairSum - left), "batch": batch},
		{"_class": "left@crash", "_id": id, "n": strconv.Itoa(left), "batch": batch}}
}

// movePairs changes some of the first pairs, which are on the first page of lists.
func (m *moments) movePairs(random *rand.Rand, _ int) error {
	var batch []document
	for first, i := random.IntN(40), 0; i < 5; i++ {
		batch = append(batch, sides(first+i, random.IntN(pairSum), "few")...)
	}
	return m.post("/rest/acceptor", batch)
}

// changeAll changes every pair from 50 on in one batch.
func (m *moments) changeAll(random *rand.Rand, _ int) error {
	var batch []document
	name := strconv.Itoa(random.Int())
	for i := 50; i < pairs; i += 4 {
		batch = append(batch, sides(i, random.IntN(pairSum), name)...)
	}
	return m.post("/rest/acceptor", batch)
}

// fillBoxes changes the parts of a box and its sum.
func (m *moments) fillBoxes(random *rand.Rand, _ int) error {
	box, sum := strconv.Itoa(random.IntN(4)), 0
	var batch []document
	for n := range 3 {
		v := random.IntN(100)
		sum += v
		batch = append(batch, document{"_class": "part@crash", "_id": fmt.Sprint(box, "-", n), "n": strconv.Itoa(v), "box": box})
	}
	return m.post("/rest/acceptor", append(batch, document{"_class": "box@crash", "_id": box, "sum": strconv.Itoa(sum)}))
}

// inviteGuests creates up to three guests and deletes the oldest guests, so that there are about
// twenty.
func (m *moments) inviteGuests(random *rand.Rand, _ int) error {
	come, leave := []string{}, []string{}
	for range 1 + random.IntN(3) {
		n := m.guests.Add(1)
		come = append(come, fmt.Sprint("n", n))
		if n > 20 {
			leave = append(leave, fmt.Sprint("n", n-20))
		}
	}
	return m.post("/rest/guests", document{"come": come, "go": leave})
}

// replacePapers replaces the file of a paper.
func (m *moments) replacePapers(random *rand.Rand, _ int) error {
	content := base64.StdEncoding.EncodeToString([]byte(fmt.Sprint("content ", random.Int())))
	return m.post("/rest/acceptor", []document{{"_class": "paper@crash", "_id": strconv.Itoa(random.IntN(5)), "scan": document{"name": "a.txt", "body": content}}})
}

// moveJob moves the job to its other state.
func (m *moments) moveJob(*rand.Rand, int) error {
	req, err := http.NewRequestWithContext(m.Context(), "PUT", "http://"+m.Addr+"/rest/workflows/job@crash/1", strings.NewReader(`["life@crash.do", "life@crash.renew"]`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "[]" {
		return fmt.Errorf("moving the job answers %s %.300s (%v)", resp.Status, text, err)
	}
	return nil
}

// list makes a list request of one of several kinds. It returns a description of the contradiction
// in the answer, or "".
func (m *moments) list(n int) string {
	switch n % 8 {
	case 0:
		return m.counted("GET", "/rest/crud/guest@crash?_count=1000&_total=1", "", 0)
	case 1:
		return m.counted("GET", "/rest/crud/guest@crash?_count=1000&_total=1&_offset=10&_sort=name", "", 10)
	case 2:
		return m.counted("SEARCH", "/rest/crud/guest@crash?_total=1", `{"count": 1000, "filter": {"name": {"$regex": "n"}}}`, 0)
	case 3:
		return m.summed("GET", "/rest/crud/pair@crash?_count=40&_eager=a|b&_total=1", "", wholePair)
	case 4:
		return m.summed("GET", fmt.Sprintf("/rest/crud/pair@crash/%d?_eager=a|b", n%40), "", wholePair)
	case 5:
		return m.summed("SEARCH", "/rest/crud/box@crash", `{"forceEnrichment": [["parts"]]}`, wholeBox)
	case 6:
		var status struct {
			Stages map[string]struct{ Next map[string]any }
		}
		if _, err := m.answer("GET", "/rest/workflows/job@crash/1", "", &status); err != nil {
			return err.Error()
		}
		if len(status.Stages) != 1 || len(status.Stages["life@crash"].Next) != 1 {
			return fmt.Sprintf("the job has the stages %v, want one with one transition", status.Stages)
		}
		return ""
	}
	var answer struct{ Found, Total int }
	if _, err := m.answer("GET", "/rest/guests", "", &answer); err != nil {
		return err.Error()
	}
	if answer.Found != answer.Total {
		return fmt.Sprintf("a script finds %d guests and a total of %d", answer.Found, answer.Total)
	}
	return ""
}

func (m *moments) answer(method, path, body string, into any) (http.Header, error) {
	req, err := http.NewRequestWithContext(m.Context(), method, "http://"+m.Addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s answers %s: %.300s (%v)", method, path, resp.Status, text, err)
	}
	return resp.Header, json.Unmarshal(text, into)
}

// counted checks that the total of a list is equal to the number of its objects.
func (m *moments) counted(method, path, body string, offset int) string {
	var found []document
	header, err := m.answer(method, path, body, &found)
	if err != nil {
		return err.Error()
	}
	if total, err := strconv.Atoi(header.Get("X-Total-Count")); err != nil || len(found) != max(total-offset, 0) {
		return fmt.Sprintf("%s %s has %d objects and X-Total-Count %q", method, path, len(found), header.Get("X-Total-Count"))
	}
	return ""
}

// summed checks each object of an answer.
func (m *moments) summed(method, path, body string, check func(document) string) string {
	var answer any
	if _, err := m.answer(method, path, body, &answer); err != nil {
		return err.Error()
	}
	list, ok := answer.([]any)
	if !ok {
		list = []any{answer}
	}
	for _, one := range list {
		if fault := check(one.(document)); fault != "" {
			return fault
		}
	}
	return ""
}

func number(v any) int {
	text, _ := v.(string)
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1 << 40
	}
	return n
}

func wholePair(pair document) string {
	a, _ := pair["a"].(document)
	b, _ := pair["b"].(document)
	if number(a["n"])+number(b["n"]) != pairSum {
		return fmt.Sprintf("pair %v has %v and %v, want a sum of %d", pair["id"], a["n"], b["n"], pairSum)
	}
	return ""
}

func wholeBox(box document) string {
	sum := 0
	parts, _ := box["parts"].([]any)
	for _, p := range parts {
		sum += number(p.(document)["n"])
	}
	if len(parts) != 3 || number(box["sum"]) != sum {
		return fmt.Sprintf("box %v has the sum %v and %d parts whose sum is %d", box["id"], box["sum"], len(parts), sum)
	}
	return ""
}

// export makes an export and returns its contradictions.
func (m *moments) export(files bool) (faults []string) {
	args := []string{"export", "-config", filepath.Join(m.Dir, "deploy.json")}
	if files {
		args = append(args, "-files")
	}
	var out, told bytes.Buffer
	if err := command.Run(m.Context(), args, command.Stdio{In: strings.NewReader(""), Out: &out, Err: &told, Env: m.Env}); err != nil {
		return []string{err.Error()}
	}
	if strings.Contains(told.String(), "lost") {
		faults = append(faults, told.String())
	}
	a := readArchive(&out)
	if files {
		faults = append(faults, a.faults...)
	}
	in := map[itemName]document{}
	for name, raw := range a.raw {
		in[name] = document{}
		for attribute, text := range raw {
			var v any
			_ = json.Unmarshal(text, &v) // it was one
			in[name][attribute] = v
		}
	}
	batches := map[any]bool{}
	for i := range pairs {
		id := strconv.Itoa(i)
		left, right := in[itemName{"left@crash", id}], in[itemName{"right@crash", id}]
		if fault := wholePair(document{"id": id, "a": left, "b": right}); fault != "" {
			faults = append(faults, fault)
		}
		if i >= 50 && i%4 == 2 {
			batches[left["batch"]], batches[right["batch"]] = true, true
		}
	}
	if len(batches) != 1 {
		faults = append(faults, fmt.Sprintf("objects that are always changed together are of %d batches", len(batches)))
	}
	for i := range 4 {
		id := strconv.Itoa(i)
		box := document{"id": id, "sum": in[itemName{boxes, id}]["sum"]}
		var members []any
		for n := range 3 {
			members = append(members, in[itemName{parts, fmt.Sprint(id, "-", n)}])
		}
		box["parts"] = members
		if fault := wholeBox(box); fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}
