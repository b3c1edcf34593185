package consistency

// This test compares real servers with a model of restsrv (package oracle). It sends random
// sequences of requests for crud and acceptor to a server on SQLite and to a server on
// PostgreSQL. Every answer must be as in the model. After each request, the test reads the
// objects that the request writes. Every 25 requests it reads all objects.
//
// Answers must have the same status as in the model. For status 200, the body must be equal byte
// by byte. For refusals, both databases must give the same body. The test does not compare the
// following:
//
//   - Generated ids. The two databases generate different ids. The model has a token for each
//     id, which stands for the id in the first answer that contains it.
//   - Revisions. Instead, the test checks ETags. If the answer to a request shows an object in
//     the same form as a read after the request, both must have the same ETag. An ETag must
//     always come with the same body.
//   - The value in a refusal, if other objects already have several of the values: the databases
//     check their indexes in different orders.
//   - The status of a request that has a mistake and changes an object that does not exist: it
//     may be 400 or 404.
//   - Times in answers of workflows and in the journal, and the order of the records that one
//     request adds to the journal.
//   - The headers Date and Content-Length, and request ids.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/oracle"
	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/store/postgres/pgtest"
)

// oracleReads is the number of requests between two comparisons of all objects.
const oracleReads = 25

// TestOracle plays random sequences of requests. RESTSRV_STEPS is the number of requests of a
// sequence (500), RESTSRV_SEEDS the number of sequences (2), and RESTSRV_SEED the first seed (1).
// If a sequence fails, the test makes it shorter before it prints it.
func TestOracle(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("thousands of requests: the run without the race detector makes them")
	}
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	first, steps := number("RESTSRV_SEED", 1), number("RESTSRV_STEPS", 500)
	classes := oracleClasses(t)
	for seed := first; seed < first+number("RESTSRV_SEEDS", 2); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := newOracleRandom(uint64(seed), classes)
			run := &oracleRun{classes: classes, next: func(w *oracle.World, step int) (oracle.Request, bool) {
				if step == steps {
					return oracle.Request{}, false
				}
				r := random.request(w)
				r.Number = step + 1
				return r, true
			}}
			if found := run.play(t); found != "" {
				shorter, last := shrinkOracleRun(t, run.sent, found)
				t.Errorf("seed %d, request %d:\n%s\nThe shortest sequence found with a difference:\n%s%s", seed, len(run.sent), found, oracleHistory(shorter), last)
			}
		})
	}
}

// oracleClasses reads the classes of the application on the servers.
func oracleClasses(t testing.TB) []*engine.Class {
	app, err := server.LoadApplication(filepath.Join("../testdata", "oracle", "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	return app.Meta.Classes()
}

// oracleRun is one sequence of requests.
type oracleRun struct {
	classes []*engine.Class
	next    func(w *oracle.World, step int) (r oracle.Request, more bool)

	sent  []oracle.Request
	world *oracle.World
	only  string        // the name of the only side, "" for both
	brief int           // number of requests after which it does not read the objects
	sides []*oracleSide // the two servers
}

// oracleSide is one of the two servers.
type oracleSide struct {
	*apptest.Server
	name    string
	dir     string            // directory of the application
	db      string            // address of the database; "" for the one in deploy.json
	tokens  map[string]string // the text that each token of the model stands for
	tokenOf map[string]string // the token for each text
	bodies  map[string]string // bodies of objects by ETag
	last    oracleAnswer
}

// play sends the requests to new servers and returns the first difference, or "".
func (run *oracleRun) play(t testing.TB) (difference string) {
	done := &apptest.Scope{TB: t}
	defer done.End()
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run.sides = nil
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		if run.only != "" && run.only != name {
			continue
		}
		db := ""
		if name == "PostgreSQL" {
			db = pgtest.Database(done)
		}
		s := &oracleSide{name: name, dir: filepath.Join(dir, name), db: db, tokens: map[string]string{}, tokenOf: map[string]string{}, bodies: map[string]string{}}
		if s.Server, err = serveOracle(s.dir, db); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Stop(); err != nil {
				t.Errorf("%s: %v\n%s", s.name, err, s.Failures())
			}
		}()
		run.sides = append(run.sides, s)
	}
	run.world, run.sent = newOracleWorld(run.classes), nil
	for step := 0; ; step++ {
		r, more := run.next(run.world, step)
		if !more {
			if difference = run.readAll(); difference == "" {
				difference = run.readJournal()
			}
			return difference
		}
		if oracleToken.MatchString(run.sides[0].resolve(requestLine(r))) {
			continue // the sequence was made shorter, so no answer has shown this id
		}
		run.sent = append(run.sent, r)
		if difference = run.step(r, step < run.brief); difference == "" && step%oracleReads == oracleReads-1 && step >= run.brief {
			difference = run.readAll()
		}
		if difference != "" {
			for _, s := range run.sides {
				difference += s.Failures()
			}
			return difference
		}
	}
}

// serveOracle starts a server of the application on an empty database.
func serveOracle(dir, db string) (*apptest.Server, error) {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../testdata", "oracle"))); err != nil {
		return nil, err
	}
	return apptest.Serve(dir, db)
}

// step sends a request to the model and to the servers, and reads the objects that it writes. If
// brief is set, it reads only objects with unknown ids.
func (run *oracleRun) step(r oracle.Request, brief bool) string {
	want := run.world.Do(r)
	if difference := run.compare(r, want); difference != "" || want.Status != 200 {
		return difference
	}
	var written []oracleAnswer
	for _, s := range run.sides {
		written = append(written, s.last)
	}
	seen := map[string]bool{}
	for _, o := range want.Objects {
		if run.unknown(o) { // it was created as a nested object, so only lists show its id
			read := oracle.Request{Service: "crud", Method: "GET", Class: o.Class.FullName}
			if difference := run.compare(read, run.world.Do(read)); difference != "" {
				return difference
			}
		}
		read := oracle.Request{Service: "crud", Method: "GET", Class: o.Class.FullName, ID: o.ID()}
		if brief && !hasFile(o) {
			continue
		}
		if seen[read.Class+"/"+read.ID] {
			continue
		}
		seen[read.Class+"/"+read.ID] = true
		difference := run.compare(read, run.world.Do(read))
		if difference == "" && r.Eager == "" { // with _eager, the ETag is for another form
			difference = run.tagsDiffer(r, written)
		}
		if difference == "" {
			difference = run.readFiles(o)
		}
		if difference != "" {
			return difference
		}
	}
	return ""
}

func hasFile(o *oracle.Object) bool {
	for _, v := range o.Values {
		if _, ok := v.(*oracle.File); ok {
			return true
		}
	}
	return false
}

// unknown reports whether no answer has shown the id of an object yet.
func (run *oracleRun) unknown(o *oracle.Object) bool {
	return oracleToken.MatchString(run.sides[0].resolve(o.ID()))
}

// tagsDiffer reports an object whose ETag differs from the ETag in the answer to the request that
// wrote it, although both show the same values.
func (run *oracleRun) tagsDiffer(r oracle.Request, written []oracleAnswer) string {
	for i, s := range run.sides {
		if was, is := written[i].header.Get("Etag"), s.last.header.Get("Etag"); written[i].body == s.last.body && was != is {
			return fmt.Sprintf("%s: %s\nis answered with ETag %s, and a GET has %s:\n%s", s.name, requestLine(r), was, is, s.last.body)
		}
	}
	return ""
}

// readFiles compares the contents of the files of an object.
func (run *oracleRun) readFiles(o *oracle.Object) string {
	for _, v := range o.Values {
		if f, ok := v.(*oracle.File); ok {
			read := oracle.Request{Service: "files", Method: "GET", ID: f.ID}
			if difference := run.compare(read, run.world.Do(read)); difference != "" {
				return difference
			}
		}
	}
	return ""
}

// readAll compares all objects, with the members of all collections.
func (run *oracleRun) readAll() string {
	for _, c := range run.classes {
		if c.Ancestor != nil {
			continue
		}
		var collections []string
		for _, p := range c.Properties {
			if p.Type == engine.Collection {
				collections = append(collections, p.Name)
			}
		}
		r := oracle.Request{Service: "crud", Method: "GET", Class: c.FullName, Eager: strings.Join(collections, "|")}
		if difference := run.compare(r, run.world.Do(r)); difference != "" {
			return difference
		}
	}
	return ""
}

// compare sends a request to both servers. It compares the answers with the expected answer and
// with each other.
func (run *oracleRun) compare(r oracle.Request, want oracle.Answer) string {
	type result struct {
		oracleAnswer
		err error
	}
	got := make([]result, len(run.sides))
	done := make(chan bool)
	for i, s := range run.sides {
		go func() {
			got[i].oracleAnswer, got[i].err = s.ask(r)
			done <- true
		}()
	}
	for range run.sides {
		<-done
	}
	for i, s := range run.sides {
		s.last = got[i].oracleAnswer
		if got[i].err != nil {
			return fmt.Sprintf("%s: %s\n%v", s.name, requestLine(r), got[i].err)
		}
		if difference := s.differs(r, got[i].oracleAnswer, want); difference != "" {
			return difference
		}
	}
	for i, s := range run.sides[1:] {
		first, second := run.sides[0].normalise(got[0].oracleAnswer), s.normalise(got[i+1].oracleAnswer)
		if first != second {
			return fmt.Sprintf("%s\nSQLite answers\n%s\nPostgreSQL answers\n%s", requestLine(r), first, second)
		}
	}
	return ""
}

// oracleAnswer is the answer of a server.
type oracleAnswer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request after replacing its tokens.
func (s *oracleSide) ask(r oracle.Request) (oracleAnswer, error) {
	path := "/rest/" + r.Service
	if r.Service == "files" {
		path = "/files"
	}
	for _, part := range []string{r.Class, s.resolve(r.ID)} {
		if part != "" {
			path += "/" + url.PathEscape(part)
		}
	}
	query := url.Values{}
	if r.Eager != "" {
		query.Set("_eager", r.Eager)
	}
	if r.Service == "crud" && r.Method == "GET" && r.ID == "" {
		query.Set("_count", "100000")
	}
	sent := apptest.Request{Method: r.Method, Target: path + "?" + query.Encode(), Header: []string{"Accept: application/problem+json, application/json"}}
	if r.Body != nil {
		sent.Body = s.resolve(apptest.JSON(r.Body))
	}
	if r.Strict {
		sent.Header = append(sent.Header, "Prefer: handling=strict")
	}
	resp, body, err := s.Send("admin@local", sent)
	if err != nil {
		return oracleAnswer{}, err
	}
	return oracleAnswer{resp.StatusCode, resp.Header, body}, nil
}

var (
	oracleToken    = regexp.MustCompile(`«([\d.]+|time)»`)
	generatedID    = regexp.MustCompile(`^(?:` + anyGeneratedID.String() + `)`)
	anyGeneratedID = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9]{26}`) // ids of objects and files
	undoneID       = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	oracleSince    = regexp.MustCompile(`"since":"[^"]*"`)
	oracleTime     = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// resolve replaces tokens with the texts that they stand for.
func (s *oracleSide) resolve(text string) string {
	return oracleToken.ReplaceAllStringFunc(text, func(token string) string {
		if known, ok := s.tokens[token]; ok {
			return known
		}
		return token
	})
}

// differs compares an answer with the expected one. If the answer contains a token for the first
// time, differs stores its text.
func (s *oracleSide) differs(r oracle.Request, got oracleAnswer, want oracle.Answer) string {
	report := func(what string) string {
		return fmt.Sprintf("%s: %s\n%s\ngot  %d %s\nwant %d %s %s", s.name, requestLine(r), what, got.status, s.forget(got.body), want.Status, want.Code, want.Body)
	}
	if want.Status == 404 && got.status == 400 && r.Method != "GET" {
		return "" // there are two mistakes, see above
	}
	if got.status != want.Status {
		return report("The status differs.")
	}
	if got.status != 200 {
		return ""
	}
	rest := got.body
	last := 0
	for _, at := range append(oracleToken.FindAllStringIndex(want.Body, -1), []int{len(want.Body), len(want.Body)}) {
		literal, token := want.Body[last:at[0]], want.Body[at[0]:at[1]]
		last = at[1]
		if !strings.HasPrefix(rest, literal) {
			return report("The body differs.")
		}
		rest = rest[len(literal):]
		if token == "" {
			break
		}
		value, known := s.tokens[token]
		if token == oracle.Time {
			value, known = oracleTime.FindString(rest), true
		}
		if !known {
			if value = generatedID.FindString(rest); value == "" {
				return report("The body has no generated id for " + token + ".")
			}
			s.tokens[token], s.tokenOf[value] = value, token
		}
		if !strings.HasPrefix(rest, value) {
			return report("The body differs at " + token + ".")
		}
		rest = rest[len(value):]
	}
	if rest != "" {
		return report("The body is longer.")
	}
	return s.tagDiffers(r, got)
}

// tagDiffers reports an ETag that an earlier answer had with another body.
func (s *oracleSide) tagDiffers(r oracle.Request, got oracleAnswer) string {
	tag := got.header.Get("Etag")
	if tag == "" || r.Method != "GET" || r.Service != "crud" || r.ID == "" {
		return ""
	}
	at := r.Class + "/" + r.ID + " " + tag
	if before, seen := s.bodies[at]; seen && before != got.body {
		return fmt.Sprintf("%s: %s\nETag %s came with two bodies:\n%s\n%s", s.name, requestLine(r), tag, before, got.body)
	}
	s.bodies[at] = got.body
	return ""
}

// forget replaces generated ids with their tokens.
func (s *oracleSide) forget(text string) string {
	return anyGeneratedID.ReplaceAllStringFunc(text, func(id string) string {
		if token, known := s.tokenOf[id]; known {
			return token
		}
		return id
	})
}

// oracleSettling lists headers that are not compared.
var oracleSettling = []string{"Content-Length", "Date", "Etag", "X-Request-Id"}

// normalise returns an answer without the parts that differ between the two
// databases.
func (s *oracleSide) normalise(a oracleAnswer) string {
	var b strings.Builder
	fmt.Fprintln(&b, a.status)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		if !slices.Contains(oracleSettling, name) {
			fmt.Fprintf(&b, "%s: %s\n", name, s.forget(strings.Join(a.header[name], "\n")))
		}
	}
	if a.status != http.StatusOK { // the body may contain the id of an object that the refused request has created
		a.body = undoneID.ReplaceAllString(s.forget(a.body), "generated")
	}
	if strings.Contains(a.body, `"code":"duplicate"`) {
		return b.String() + `"code":"duplicate"`
	}
	return b.String() + oracleSince.ReplaceAllString(s.forget(a.body), `"since":""`)
}

// requestLine returns a request as one line.
func requestLine(r oracle.Request) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func oracleHistory(requests []oracle.Request) string {
	var b strings.Builder
	for _, r := range requests {
		b.WriteString(requestLine(r) + "\n")
	}
	return b.String()
}

// replayOracle plays given requests and returns the first difference. If run.only is not "", it
// uses only the database with this name.
func replayOracle(t testing.TB, run oracleRun, requests []oracle.Request) string {
	run.next = func(_ *oracle.World, step int) (r oracle.Request, more bool) {
		if more = step < len(requests); more {
			r = requests[step]
		}
		return r, more
	}
	return run.play(t)
}

// shrinkOracleRun leaves out requests as long as a difference remains. It returns the remaining
// requests and the last difference.
func shrinkOracleRun(t testing.TB, sent []oracle.Request, found string) ([]oracle.Request, string) {
	end := time.Now().Add(3 * time.Minute)
	run := oracleRun{classes: oracleClasses(t)}
	if name, _, of := strings.Cut(found, ": "); of && (name == "SQLite" || name == "PostgreSQL") {
		run.only = name // otherwise the databases differ from each other
	}
	fails := func(requests []oracle.Request) bool {
		if time.Now().After(end) {
			return false
		}
		run.brief = len(requests) - 1
		difference := replayOracle(t, run, requests)
		if difference != "" {
			found = difference
		}
		return difference != ""
	}
	if changing := changingRequests(run.classes, sent); fails(changing) {
		sent = changing
	}
	apptest.Halve(len(sent)-1, func(from, to int) bool {
		shorter := slices.Delete(slices.Clone(sent), from, to)
		if !fails(shorter) {
			return false
		}
		sent = shorter
		return true
	})
	return sent, found
}

// changingRequests returns the requests that change something in the model, and the last request.
func changingRequests(classes []*engine.Class, sent []oracle.Request) (changing []oracle.Request) {
	w := newOracleWorld(classes)
	for i, r := range sent {
		if w.Do(r).Status == http.StatusOK && r.Method != "GET" || i == len(sent)-1 {
			changing = append(changing, r)
		}
	}
	return changing
}

func newOracleWorld(classes []*engine.Class) *oracle.World {
	w := oracle.New(classes)
	w.Formulas, w.Workflows = oracleFormulas, oracleWorkflows
	return w
}
