package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// The number of objects of the classes with references. Many entries refer to the same author and
// topic, as is common for reference data.
const (
	entries = 200
	authors = 20
	topics  = 10
)

// seedAll prepares empty servers and loads their rows.
func seedAll(ctx context.Context, servers []*process) error {
	for _, p := range servers {
		if p.prepare != nil {
			if err := p.prepare(ctx, p); err != nil {
				return fmt.Errorf("preparing %s: %w", p.name, err)
			}
		}
		err := seedRows(ctx, p)
		if err == nil {
			err = p.db.settle(p.address)
		}
		if err != nil {
			return fmt.Errorf("seeding %s: %w", p.name, err)
		}
	}
	return nil
}

// seedRows loads the rows into an empty server through its acceptor. If the server has the class of
// the entries, it also loads the entries.
func seedRows(ctx context.Context, p *process) error {
	if p.classes {
		if _, err := sendOnce(ctx, p, ask("POST", path("acceptor"), authLine(), entryRecords())); err != nil {
			return err
		}
	}
	t := ask("POST", path("acceptor"), authLine(), bulkBody(largeSize, newBlock))
	for done := 0; done < p.numbers.rows; done += largeSize {
		fmt.Fprintf(os.Stderr, "%s: %d of %d rows\n", p.name, done, p.numbers.rows)
		if _, err := sendOnce(ctx, p, t); err != nil {
			return err
		}
	}
	return nil
}

// entryRecords returns the body that saves the entries, authors and topics.
func entryRecords() *template {
	var list []string
	one := func(class string, n int, more string) {
		list = append(list, fmt.Sprintf(`{"_id":"%s-%012d","_class":"%s@bench","_classVer":null,"title":"Title %012d","group":"%s%012d","body":"%s"%s}`,
			class, n, class, n, groupPrefix, n/groupSize, bodyText, more))
	}
	for n := range authors {
		one("author", n, "")
	}
	for n := range topics {
		one("topic", n, "")
	}
	for n := range entries {
		one("entry", n, fmt.Sprintf(`,"author":"author-%012d","topic":"topic-%012d"`, n%authors, n%topics))
	}
	return new(template).text("[" + strings.Join(list, ",") + "]")
}

// middlePage returns the request for a page of 20 rows that begins in the middle of all rows and
// is selected with a cursor. Only the server can create cursors, so middlePage reads all pages
// before the middle.
func middlePage(ctx context.Context, p *process) (*template, error) {
	const stride = 1000
	page := fmt.Sprint("/rest/crud/note@bench?_fields=id&_after=&_count=", stride)
	for passed := 0; passed < p.numbers.rows/2; passed += stride {
		a, err := p.fetch(ctx, "GET", page, "", "")
		if err != nil {
			return nil, err
		}
		page, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	}
	u, err := url.Parse(page)
	if err != nil || u.Query().Get("_after") == "" {
		return nil, fmt.Errorf("the next page has no cursor: %q", page)
	}
	return get(path("crud/note@bench/?_count=20&_after=" + url.QueryEscape(u.Query().Get("_after")))), nil
}

// answer is the answer to a request that is not measured.
type answer struct {
	header http.Header
	text   []byte
}

// fetch sends a request that is not measured. If user is not "", it is a request of this account.
// It returns an error if the status is not 200.
func (p *process) fetch(ctx context.Context, method, path, user, form string) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, strings.NewReader(form))
	if err != nil {
		return a, err
	}
	if user != "" {
		r.SetBasicAuth(user, adminPassword)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.header = resp.Header
	a.text, err = io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", path, resp.StatusCode, excerpt(string(a.text)))
	}
	return a, err
}
