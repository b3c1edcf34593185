package main

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// number is the kind of number in a slot of a template.
type number int

// The numbers of one sending: a seeded row, a seeded group, a count that
// increases with every sending, the first of a block of consecutive seeded rows
// with its group, and the first of a block of rows that do not exist yet with
// its group.
const (
	anyRow number = iota
	anyGroup
	serial
	oldBlock
	oldGroup
	newBlock
	newGroup
	numbers
)

// digits is the width of every number in a template, so that a sending only
// overwrites bytes.
const digits = 12

// groupSize is the number of consecutive rows with the same value of the
// indexed attribute. It divides the size of every block.
const groupSize = 100

// template is a request with places for numbers. The zero value is empty.
type template struct {
	raw   []byte
	slots []slot
	block int // rows of a block, if there is a slot for oldBlock or newBlock
}

type slot struct {
	at   int
	what number
	plus int
}

// text appends fixed bytes.
func (t *template) text(s string) *template {
	t.raw = append(t.raw, s...)
	return t
}

// number appends a place for a number, to which plus is added.
func (t *template) number(n number, plus int) *template {
	t.slots = append(t.slots, slot{at: len(t.raw), what: n, plus: plus})
	t.raw = append(t.raw, bytes.Repeat([]byte{'0'}, digits)...)
	return t
}

// join appends another template.
func (t *template) join(o *template) *template {
	for _, s := range o.slots {
		s.at += len(t.raw)
		t.slots = append(t.slots, s)
	}
	t.raw = append(t.raw, o.raw...)
	t.block = max(t.block, o.block)
	return t
}

// ask returns a complete HTTP request: method, path, further header lines and,
// if body is not nil, a JSON body.
func ask(method string, path *template, header string, body *template) *template {
	t := new(template).text(method + " ").join(path).text(" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header)
	if body == nil {
		return t.text("\r\n")
	}
	t.text("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body.raw)) + "\r\n\r\n")
	return t.join(body)
}

// copy returns a template with its own bytes, so that one connection can fill
// it.
func (t *template) copy() *template {
	return &template{raw: bytes.Clone(t.raw), slots: t.slots, block: t.block}
}

// fill writes the numbers of one sending.
func (t *template) fill(values *[numbers]int) {
	for _, s := range t.slots {
		v := values[s.what] + s.plus
		for i := s.at + digits - 1; i >= s.at; i-- {
			t.raw[i] = byte('0' + v%10)
			v /= 10
		}
	}
}

// counters draws the numbers of a server's sendings; safe for concurrent use.
type counters struct {
	rows   int // seeded rows
	fresh  atomic.Int64
	serial atomic.Int64
}

// draw returns the numbers of the next sending of t.
func (c *counters) draw(t *template, values *[numbers]int) {
	if n := t.block; n > 0 {
		values[newBlock] = int(c.fresh.Add(int64(n))) - n
		values[newGroup] = values[newBlock] / groupSize
		values[oldBlock] = rand.IntN(c.rows/n) * n
		values[oldGroup] = values[oldBlock] / groupSize
	}
	values[serial] = int(c.serial.Add(1))
	values[anyRow] = rand.IntN(c.rows)
	values[anyGroup] = rand.IntN(c.rows / groupSize)
}
