package script

import (
	"strings"

	"github.com/dop251/goja"
)

// The engine of regular expressions, and what walks through a text letter by
// letter, cannot be interrupted.
const (
	maxScan    = 4 << 20   // characters of a text that they may walk through
	maxPattern = 128 << 10 // characters of a pattern made at run time
	maxNumber  = 1 << 20   // characters of a text that becomes a number
	maxGroups  = 1000      // of a pattern, one in another
	maxSteps   = 1 << 30   // characters of a text times those of the pattern
)

// scannable throws when a text is too long to be walked through.
func (h *host) scannable(v goja.Value, what string) {
	h.tooMuch(float64(textLength(v)), min(maxScan, h.v.gen.limits.Text), what+" of a text of characters")
}

func (h *host) guardScan(name string) {
	h.guard(h.prototype("String"), name, func(call goja.FunctionCall) { h.scannable(call.This, name) })
}

// matchable throws when an expression has too much to do with a text.
func (h *host) matchable(text, expression goja.Value, what string) {
	h.scannable(text, what)
	if o, ok := expression.(*goja.Object); ok {
		if s, ok := o.Get("source").(goja.String); ok {
			h.tooMuch(float64(textLength(text))*float64(s.Length()), maxSteps, what+": characters times those of the pattern")
		}
	}
}

// guardTest bounds the text that an expression looks at.
func (h *host) guardTest(name string) {
	h.guard(h.prototype("RegExp"), name, func(call goja.FunctionCall) { h.matchable(call.Argument(0), call.This, name) })
}

// guardSearch does it for the methods of texts; those make patterns of texts.
func (h *host) guardSearch(name string) {
	h.guard(h.prototype("String"), name, func(call goja.FunctionCall) {
		h.matchable(call.This, call.Argument(0), name)
		h.checkPattern(call.Argument(0))
	})
}

// checkPattern bounds the text of a pattern: its compiler recurses, and a
// larger one takes longer at every character.
func (h *host) checkPattern(v goja.Value) {
	s, ok := v.(goja.String)
	if !ok {
		return
	}
	h.tooMuch(float64(s.Length()), maxPattern, "characters of a pattern")
	depth := 0
	for _, c := range []byte(s.String()) {
		switch c {
		case '(':
			if depth++; depth > maxGroups {
				panic(h.rangeError("groups of a pattern are nested deeper than %d", maxGroups))
			}
		case ')':
			depth = max(0, depth-1)
		}
	}
}

func (h *host) guardRepeat(name string) {
	h.guard(h.prototype("String"), name, func(call goja.FunctionCall) {
		h.tooMuch(call.Argument(0).ToFloat()*float64(textLength(call.This)), h.v.gen.limits.Text, name)
	})
}

func (h *host) guardPad(name string) {
	h.guard(h.prototype("String"), name, func(call goja.FunctionCall) {
		h.tooMuch(call.Argument(0).ToFloat(), h.v.gen.limits.Text, name)
	})
}

// guardRaw bounds String.raw.
func (h *host) guardRaw(name string) {
	h.guard(h.js.Get("String").(*goja.Object), name, func(call goja.FunctionCall) {
		if o, ok := call.Argument(0).(*goja.Object); ok {
			h.tooLong(o.Get("raw"), name)
		}
	})
}

// guardParseFloat bounds the digits of a number.
func (h *host) guardParseFloat(name string) {
	h.guard(h.js.GlobalObject(), name, func(call goja.FunctionCall) {
		h.tooMuch(float64(textLength(call.Argument(0))), maxNumber, "digits of a number")
	})
}

// guardEscape bounds the texts that are written for a URL.
func (h *host) guardEscape(name string) {
	h.guard(h.js.GlobalObject(), name, func(call goja.FunctionCall) { h.scannable(call.Argument(0), name) })
}

// guardSplit bounds the pieces of a text.
func (h *host) guardSplit(name string) {
	h.guard(h.prototype("String"), name, func(call goja.FunctionCall) {
		limit := h.v.gen.limits.Elements
		n := textLength(call.This)
		by, ok := call.Argument(0).(goja.String)
		if !ok {
			if _, ok := call.Argument(0).(*goja.Object); ok {
				h.matchable(call.This, call.Argument(0), name)
			}
			return
		}
		if n > limit && n/max(1, by.Length()) > limit {
			h.tooMuch(float64(occurrences(call.This, by)), limit, name)
		}
	})
}

func occurrences(text, part goja.Value) int { return strings.Count(text.String(), part.String()) }

// guardReplace bounds the text that grows by what is put into it.
func (h *host) guardReplace(name string) {
	var match goja.Callable
	if o, ok := h.prototype("String").Get("match").(*goja.Object); ok {
		match, _ = goja.AssertFunction(o)
	}
	h.guard(h.prototype("String"), name, func(call goja.FunctionCall) {
		what, with := call.Argument(0), call.Argument(1)
		_, pattern := what.(*goja.Object)
		if pattern {
			h.matchable(call.This, what, name)
		}
		by, ok := with.(goja.String)
		limit := float64(h.v.gen.limits.Text)
		n := float64(textLength(call.This))
		if !ok || n*growth(by.String(), n) <= limit || name == "replace" && !pattern {
			return
		}
		found := 0.0
		switch what := what.(type) {
		case goja.String:
			found = float64(occurrences(call.This, what))
		case *goja.Object:
			if g := what.Get("global"); g == nil || !g.ToBoolean() {
				return
			}
			list, err := match(call.This, what)
			if err != nil {
				panic(rethrow(err))
			}
			if o, ok := list.(*goja.Object); ok {
				found = o.Get("length").ToFloat()
			}
		}
		h.tooMuch(found*growth(by.String(), n), int(limit), name)
	})
}

// growth is how many characters one replacement may put into a text of n.
func growth(by string, n float64) float64 {
	return float64(len(by)) + n*float64(strings.Count(by, "$`")+strings.Count(by, "$'"))
}
