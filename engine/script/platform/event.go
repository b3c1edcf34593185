package platform

import (
	"time"

	"github.com/dop251/goja"
)

// processStart is the time at which performance.now returns 0.
var processStart = time.Now()

// sinceStart returns the time since processStart in milliseconds, rounded to microseconds.
func sinceStart() float64 {
	return float64(time.Since(processStart).Microseconds()) / 1000
}

// eventNative returns the Go functions for the file modules/event.js: now(), and later(milliseconds, f), which calls
// f in a later turn. If f throws, the error is logged.
func eventNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"now": func(goja.FunctionCall) goja.Value { return p.js.ToValue(sinceStart()) },
		"later": func(call goja.FunctionCall) goja.Value {
			f, _ := goja.AssertFunction(call.Argument(1))
			delay := time.Duration(min(call.Argument(0).ToFloat(), 1<<31) * float64(time.Millisecond))
			p.host.Later(delay, func() {
				_, err := f(goja.Undefined())
				must(err)
			})
			return goja.Undefined()
		},
	})
}

// performance returns the global performance, with now() and timeOrigin.
func performance(p *Platform) goja.Value {
	o := p.newNatives(natives{
		"now": func(goja.FunctionCall) goja.Value { return p.js.ToValue(sinceStart()) },
	})
	_ = o.Set("timeOrigin", float64(processStart.UnixMicro())/1000)
	p.setTag(o, "Performance")
	return o
}

// setTag sets the property Symbol.toStringTag of an object.
func (p *Platform) setTag(o *goja.Object, name string) {
	_ = o.DefineDataPropertySymbol(goja.SymToStringTag, p.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
