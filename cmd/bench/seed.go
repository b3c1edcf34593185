package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
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
		step := max(p.numbers.rows/10, bulkNew)
		err := seedRows(ctx, p, func(done int) {
			if done%step == 0 {
				fmt.Fprintf(os.Stderr, "%s: %d of %d rows\n", p.name, done, p.numbers.rows)
			}
		})
		if err == nil {
			err = p.db.settle(p.address)
		}
		if err != nil {
			return fmt.Errorf("seeding %s: %w", p.name, err)
		}
	}
	return nil
}

// seedRows loads the rows of an empty server through its acceptor, and the entries if it has that
// class. It calls progress with the number of rows so far.
func seedRows(ctx context.Context, p *process, progress func(done int)) error {
	c, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	save := func(t *template) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var values [numbers]int
		c.conn.SetDeadline(time.Now().Add(patience))
		p.numbers.draw(t, &values)
		t.fill(&values)
		var body bytes.Buffer
		status, err := c.exchange(t.raw, &body)
		if err == nil && status != 200 {
			err = fmt.Errorf("status %d: %s", status, excerpt(body.String()))
		}
		return err
	}
	if p.classes {
		if err := save(ask("POST", path("acceptor"), authLine(), entryRecords())); err != nil {
			return err
		}
	}
	t := ask("POST", path("acceptor"), authLine(), bulkBody(bulkNew, newBlock))
	for done := 0; done < p.numbers.rows; done += bulkNew {
		if err := save(t); err != nil {
			return err
		}
		progress(done + bulkNew)
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

// middlePage returns the request for a page of 20 that begins in the middle of all rows and is
// selected with a cursor. sort is a parameter followed by &, or "". Only the server can create
// cursors, so middlePage reads all pages before it.
func middlePage(ctx context.Context, p *process, sort string) (*template, error) {
	const stride = 1000
	next := "/rest/crud/note@bench?" + sort + "_fields=id&_after=&_count="
	page := fmt.Sprint(next, stride)
	if p.numbers.rows/2 < stride {
		page = fmt.Sprint(next, p.numbers.rows/2)
	}
	for passed := 0; passed < p.numbers.rows/2; passed += stride {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+page, nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		link, _, found := strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
		if resp.StatusCode != 200 || !found {
			return nil, fmt.Errorf("status %d and no next page: %s", resp.StatusCode, excerpt(body.String()))
		}
		page = link
	}
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	cursor := u.Query().Get("_after")
	if cursor == "" {
		return nil, errors.New("the next page has no cursor")
	}
	return get(path("crud/note@bench/?" + sort + "_count=20&_after=" + url.QueryEscape(cursor))), nil
}
