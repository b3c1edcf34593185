package sandbox

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
)

// Limits for the arguments of functions that process a text character by character, such as toUpperCase, and for
// regular expressions. Neither can be interrupted.
const (
	maxScan    = 4 << 20   // characters of a text that is processed
	maxPattern = 128 << 10 // characters of a regular expression compiled at run time
	maxNumber  = 1 << 20   // characters of a text that is converted to a number
	maxGroups  = 1000      // nesting depth of groups in a regular expression
	maxSteps   = 1 << 30   // product of the lengths of a text and a regular expression
)

// checkScan throws if a text is too long to be processed.
func (h limiter) checkScan(v goja.Value, what string) {
	h.TooMuch(float64(js.TextLength(v)), min(maxScan, h.Limits.Text), what+" of a text of characters")
}

func (h *Guards) guardScan(name string) {
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) { h.checkScan(call.This, name) })
}

// checkMatch throws if matching a regular expression against a text could take too long.
func (h limiter) checkMatch(text, expression goja.Value, what string) {
	h.checkScan(text, what)
	if o, ok := expression.(*goja.Object); ok {
		if s, ok := o.Get("source").(goja.String); ok {
			h.TooMuch(float64(js.TextLength(text))*float64(s.Length()), maxSteps, what+": characters times those of the pattern")
		}
	}
}

// guardTest limits the text that a method of regular expressions, such as test, searches.
func (h *Guards) guardTest(name string) {
	h.guardMethod(h.PrototypeOf("RegExp"), name, func(call goja.FunctionCall) { h.checkMatch(call.Argument(0), call.This, name) })
}

// guardSearch limits the text that a method such as match searches. The argument of the method is a regular
// expression, or a string that the method compiles to one. In the second case, the string is limited like the source
// text of a regular expression.
func (h *Guards) guardSearch(name string) {
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) {
		h.checkMatch(call.This, call.Argument(0), name)
		h.checkPattern(call.Argument(0))
	})
}

// checkPattern throws if v, the source text of a regular expression, is too long or nested too deep. The compiler is
// recursive, and a longer expression takes more time for each character of a text.
func (h limiter) checkPattern(v goja.Value) {
	s, ok := v.(goja.String)
	if !ok {
		return
	}
	h.TooMuch(float64(s.Length()), maxPattern, "characters of a pattern")
	depth := 0
	for _, c := range []byte(s.String()) {
		switch c {
		case '(':
			if depth++; depth > maxGroups {
				panic(h.RangeError("groups of a pattern are nested deeper than %d", maxGroups))
			}
		case ')':
			depth = max(0, depth-1)
		}
	}
}

func (h *Guards) guardRepeat(name string) {
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) {
		h.TooMuch(call.Argument(0).ToFloat()*float64(js.TextLength(call.This)), h.Limits.Text, name)
	})
}

func (h *Guards) guardPad(name string) {
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) {
		h.TooMuch(call.Argument(0).ToFloat(), h.Limits.Text, name)
	})
}

// guardRaw limits the number of parts that String.raw joins.
func (h *Guards) guardRaw(name string) {
	h.guardMethod(h.JS.Get("String").(*goja.Object), name, func(call goja.FunctionCall) {
		if o, ok := call.Argument(0).(*goja.Object); ok {
			h.TooLong(o.Get("raw"), name)
		}
	})
}

// guardParseFloat throws if parseFloat would read too many digits.
func (h *Guards) guardParseFloat(name string) {
	h.guardMethod(h.JS.GlobalObject(), name, func(call goja.FunctionCall) {
		h.TooMuch(float64(js.TextLength(call.Argument(0))), maxNumber, "digits of a number")
	})
}

// guardEscape throws if the text for a function such as encodeURI is too long.
func (h *Guards) guardEscape(name string) {
	h.guardMethod(h.JS.GlobalObject(), name, func(call goja.FunctionCall) { h.checkScan(call.Argument(0), name) })
}

// guardSplit throws if split would return too many parts.
func (h *Guards) guardSplit(name string) {
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) {
		limit := h.Limits.Elements
		n := js.TextLength(call.This)
		by, ok := call.Argument(0).(goja.String)
		if !ok {
			if _, ok := call.Argument(0).(*goja.Object); ok {
				h.checkMatch(call.This, call.Argument(0), name)
			}
			return
		}
		if n > limit && n/max(1, by.Length()) > limit {
			h.TooMuch(float64(countOccurrences(call.This, by)), limit, name)
		}
	})
}

func countOccurrences(text, part goja.Value) int { return strings.Count(text.String(), part.String()) }

// guardReplace throws if replace or replaceAll would return a text that is too long.
func (h *Guards) guardReplace(name string) {
	var match goja.Callable
	if o, ok := h.PrototypeOf("String").Get("match").(*goja.Object); ok {
		match, _ = goja.AssertFunction(o)
	}
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) {
		what, with := call.Argument(0), call.Argument(1)
		_, pattern := what.(*goja.Object)
		if pattern {
			h.checkMatch(call.This, what, name)
		}
		by, ok := with.(goja.String)
		limit := float64(h.Limits.Text)
		n := float64(js.TextLength(call.This))
		if !ok || n*replacementGrowth(by.String(), n) <= limit || name == "replace" && !pattern {
			return
		}
		found := 0.0
		switch what := what.(type) {
		case goja.String:
			found = float64(countOccurrences(call.This, what))
		case *goja.Object:
			if g := what.Get("global"); g == nil || !g.ToBoolean() {
				return
			}
			list, err := match(call.This, what)
			if err != nil {
				panic(js.Rethrow(err))
			}
			if o, ok := list.(*goja.Object); ok {
				found = o.Get("length").ToFloat()
			}
		}
		h.TooMuch(found*replacementGrowth(by.String(), n), int(limit), name)
	})
}

// replacementGrowth returns the maximum number of characters that one replacement can add to a text of length n.
func replacementGrowth(by string, n float64) float64 {
	return float64(len(by)) + n*float64(strings.Count(by, "$`")+strings.Count(by, "$'"))
}
