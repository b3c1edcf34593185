package main

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// number is a kind of number that a request can contain, for example the number of a row in its
// URL. Each time a request is sent, it contains new numbers.
type number int

// The kinds of numbers. Rows are numbered from 0. A block is a sequence of consecutive rows; its
// number is the number of its first row. The group of a block is the group of its first row.
const (
	anyRow   number = iota // an existing row
	anyGroup               // an existing group
	serial                 // increases with each request
	oldBlock               // a block of existing rows
	oldGroup               // group of oldBlock
	newBlock               // a block of rows that do not exist yet
	newGroup               // group of newBlock
	numbers                // count of the kinds
)

// digits is the number of digits of each number in a template. Since it is constant, the numbers
// of the next request can replace the old numbers without moving other bytes.
const digits = 12

// groupSize is the number of consecutive rows with the same value in the indexed attribute. The
// size of each block is a multiple of it.
const groupSize = 100

// template is a request with slots for numbers. The zero value is empty.
type template struct {
	raw   []byte
	slots []slot
	block int // number of rows of a block, if there is a slot for oldBlock or newBlock
}

type slot struct {
	at   int
	what number
	plus int
}

// text appends fixed text.
func (t *template) text(s string) *template {
	t.raw = append(t.raw, s...)
	return t
}

// number appends a slot for a number. plus is added to the number.
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

// ask returns a complete HTTP request with the method, the path, header lines and, if body is not
// nil, a JSON body.
func ask(method string, path *template, header string, body *template) *template {
	t := new(template).text(method + " ").join(path).text(" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header)
	if body == nil {
		return t.text("\r\n")
	}
	t.text("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body.raw)) + "\r\n\r\n")
	return t.join(body)
}

// copy returns a copy with its own bytes, which a connection can fill independently.
func (t *template) copy() *template {
	return &template{raw: bytes.Clone(t.raw), slots: t.slots, block: t.block}
}

// counters provides the numbers for requests to a server. It is safe for concurrent use.
type counters struct {
	rows   int // number of existing rows
	fresh  atomic.Int64
	serial atomic.Int64
}

// fill writes the numbers for the next request into t.
func (c *counters) fill(t *template) {
	var values [numbers]int
	if n := t.block; n > 0 {
		values[newBlock] = int(c.fresh.Add(int64(n))) - n
		values[newGroup] = values[newBlock] / groupSize
		values[oldBlock] = rand.IntN(c.rows/n) * n
		values[oldGroup] = values[oldBlock] / groupSize
	}
	values[serial] = int(c.serial.Add(1))
	values[anyRow] = rand.IntN(c.rows)
	values[anyGroup] = rand.IntN(c.rows / groupSize)
	for _, s := range t.slots {
		v := values[s.what] + s.plus
		for i := s.at + digits - 1; i >= s.at; i-- {
			t.raw[i] = byte('0' + v%10)
			v /= 10
		}
	}
}
