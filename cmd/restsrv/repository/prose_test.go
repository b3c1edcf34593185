package repository

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// wordGroup limits how often a group of words may occur in comments and documents. The
// words to avoid are typical of clipped or literary sentences: "what is kept" instead of
// "the stored value", "nobody is shown it" instead of "no account can see it". Plain
// technical sentences use "if", "when", "use" and "should" often.
type wordGroup struct {
	name    string
	words   *regexp.Regexp
	atLeast bool    // limits are minimums
	code    float64 // limit for comments, per 1,000 words
	text    float64 // limit for documents, per 1,000 words
}

var wordGroups = []wordGroup{
	{"what, whatever", regexp.MustCompile(`(?i)^(what|whatever)$`), false, 2, 2},
	{"nothing, nobody, none", regexp.MustCompile(`(?i)^(nothing|nobody|none)$`), false, 2.5, 2.5},
	{"who, whom, whose, whoever", regexp.MustCompile(`(?i)^(who|whom|whose|whoever)$`), false, 1.2, 1.2},
	{"tell, tells, telling, told", regexp.MustCompile(`(?i)^(tell|tells|telling|told)$`), false, 0.6, 0.6},
	{"if, when, use, uses, should", regexp.MustCompile(`(?i)^(if|when|use|uses|should)$`), true, 14, 8},
}

const (
	minCommentWords  = 300 // packages with fewer words of comments are counted only in the total
	minDocumentWords = 500 // the same for documents
	maxOneWord       = 30  // percentage of unexported functions with a name of one word
	maxPlaces        = 5   // places that a failure lists
)

// proseExceptions lists packages and documents that may exceed the limit of a group. The
// key is the path and the name of the group, as in "engine: what, whatever"; the value is
// the reason.
var proseExceptions = map[string]string{}

// prose is the text of a package or document.
type prose struct {
	words  int
	counts []int      // number of occurrences, by word group
	places [][]string // the places of these occurrences, for groups of words to avoid
}

func (p *prose) add(place, text string) {
	if p.counts == nil {
		p.counts, p.places = make([]int, len(wordGroups)), make([][]string, len(wordGroups))
	}
	for _, word := range proseWord.FindAllString(text, -1) {
		p.words++
		for i, g := range wordGroups {
			if !g.words.MatchString(word) {
				continue
			}
			p.counts[i]++
			if !g.atLeast && len(p.places[i]) < maxPlaces {
				p.places[i] = append(p.places[i], place)
			}
		}
	}
}

var (
	proseWord      = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)
	commentLine    = regexp.MustCompile(`^\s*//\s?(.*)`)
	commentAtEnd   = regexp.MustCompile(`\s//\s(.*)`)
	codeBlock      = regexp.MustCompile("(?s)```.*?```")
	unexportedFunc = regexp.MustCompile(`^func (?:\([^)]*\) )?([a-z]\w*)[\[(]`)
	manyWords      = regexp.MustCompile(`[A-Z_0-9]`)
)

// TestProse checks the language of comments and documents by the frequency of some words,
// and that functions have names of more than one word. Test files are not counted.
func TestProse(t *testing.T) {
	packages, documents, functions := readProse(t)
	checkProse(t, "comments", packages, minCommentWords, func(g wordGroup) float64 { return g.code })
	checkProse(t, "documents", documents, minDocumentWords, func(g wordGroup) float64 { return g.text })
	checkNames(t, functions)
}

// readProse returns the comments by package, the documents by file and the names of
// unexported functions by package.
func readProse(t *testing.T) (packages, documents map[string]*prose, functions map[string][]string) {
	t.Helper()
	packages, documents, functions = map[string]*prose{}, map[string]*prose{}, map[string][]string{}
	err := filepath.WalkDir(apptest.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != apptest.Root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		isDocument := strings.HasSuffix(path, ".md")
		if d.IsDir() || !isDocument && (!strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go")) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(apptest.Root, path)
		file := filepath.ToSlash(rel)
		if isDocument {
			documents[file] = &prose{}
			documents[file].add(file, codeBlock.ReplaceAllString(string(text), " "))
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		if packages[dir] == nil {
			packages[dir] = &prose{}
		}
		for i, line := range strings.Split(string(text), "\n") {
			m := commentLine.FindStringSubmatch(line)
			if m == nil {
				m = commentAtEnd.FindStringSubmatch(line)
			}
			if m != nil && !strings.HasPrefix(m[1], "go:") {
				packages[dir].add(fmt.Sprintf("%s:%d", file, i+1), m[1])
			}
			if m := unexportedFunc.FindStringSubmatch(line); m != nil {
				functions[dir] = append(functions[dir], m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages, documents, functions
}

// checkProse compares word rates with the limits: the rate of all texts together, and the rate of
// each text with at least least words.
func checkProse(t *testing.T, kind string, texts map[string]*prose, least int, limit func(wordGroup) float64) {
	t.Helper()
	total := &prose{counts: make([]int, len(wordGroups)), places: make([][]string, len(wordGroups))}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		p := texts[name]
		total.words += p.words
		for i, n := range p.counts {
			total.counts[i] += n
		}
		if p.words > least {
			checkRates(t, name, p, limit)
		}
	}
	if total.words < 1000 {
		t.Errorf("%s: got %d words in total, want at least 1,000: the files were not found", kind, total.words)
		return
	}
	checkRates(t, "all "+kind, total, limit)
}

func checkRates(t *testing.T, name string, p *prose, limit func(wordGroup) float64) {
	t.Helper()
	for i, g := range wordGroups {
		got, want := 1000*float64(p.counts[i])/float64(p.words), limit(g)
		bad, bound := got > want, "at most"
		if g.atLeast {
			bad, bound = got < want, "at least"
		}
		key := name + ": " + g.name
		switch excepted := proseExceptions[key] != ""; {
		case bad && !excepted:
			t.Errorf("%s (%d words): got %.2f of %q per 1,000 words, want %s %.1f: %s", name, p.words, got, g.name, bound, want, strings.Join(p.places[i], " "))
		case !bad && excepted:
			t.Errorf("%s: got %.2f, which is within the limit %.1f: remove the exception", key, got, want)
		}
	}
}

func checkNames(t *testing.T, functions map[string][]string) {
	t.Helper()
	isOneWord := func(name string) bool { return !manyWords.MatchString(name) }
	one, all := 0, 0
	var shares []string
	for _, dir := range slices.Sorted(maps.Keys(functions)) {
		names := functions[dir]
		n := 0
		for _, name := range names {
			if isOneWord(name) {
				n++
			}
		}
		one, all = one+n, all+len(names)
		if 100*n > maxOneWord*len(names) {
			shares = append(shares, fmt.Sprintf("%s: %d of %d", dir, n, len(names)))
		}
	}
	if all == 0 || 100*one > maxOneWord*all {
		t.Errorf("unexported functions with a name of one word: got %d of %d, want at most %d %%; packages above it:\n%s", one, all, maxOneWord, strings.Join(shares, "\n"))
	}
}
