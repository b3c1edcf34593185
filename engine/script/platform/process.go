package platform

import (
	"log/slog"
	"math/big"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// process returns the global process. It contains the time, and the environment variables that globals.scripts.env in
// deploy.json lists. Scripts cannot control the process with it.
func process(p *Platform) goja.Value {
	o := p.newNatives(natives{
		"nextTick": p.nextTick,
		"uptime": func(goja.FunctionCall) goja.Value {
			return p.js.ToValue(time.Since(processStart).Seconds())
		},
		"cwd": func(goja.FunctionCall) goja.Value { return p.js.ToValue("/") },
		"hrtime": func(call goja.FunctionCall) goja.Value {
			ns := time.Since(processStart).Nanoseconds()
			if before, ok := call.Argument(0).(*goja.Object); ok {
				ns -= before.Get("0").ToInteger()*1e9 + before.Get("1").ToInteger()
			}
			return p.js.NewArray(ns/1e9, ns%1e9)
		},
	})
	hrtime := o.Get("hrtime").(*goja.Object)
	_ = hrtime.Set("bigint", p.newFunction("bigint", func(goja.FunctionCall) goja.Value {
		return p.js.ToValue(big.NewInt(time.Since(processStart).Nanoseconds()))
	}))
	refuse := func(name, why string) {
		_ = o.Set(name, p.newFunction(name, func(goja.FunctionCall) goja.Value {
			p.fail("Error", "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", "process.%s is not supported: %s", name, why)
			return nil
		}))
	}
	refuse("exit", "a service does not end the server; throw an error instead")
	refuse("abort", "a service does not end the server; throw an error instead")
	refuse("kill", "a service does not signal processes")
	refuse("chdir", "require finds files relative to the script, and nothing else is read")
	refuse("memoryUsage", "the memory of the server is not that of a service")
	refuse("cpuUsage", "the time of the server is not that of a service; use performance.now")
	refuse("binding", "scripts reach no internals of the engine")
	refuse("dlopen", "scripts load no native code")
	p.addProcessEvents(o)
	for fd, name := range []string{"stdin", "stdout", "stderr"} {
		p.addStandardStream(o, name, fd)
	}
	_ = o.Set("emitWarning", p.newFunction("emitWarning", func(call goja.FunctionCall) goja.Value {
		p.host.Log(slog.LevelWarn, call.Argument(0).String())
		return goja.Undefined()
	}))
	_ = o.Set("umask", p.newFunction("umask", func(goja.FunctionCall) goja.Value { return p.js.ToValue(0o22) }))
	_ = o.Set("pid", 1)
	_ = o.Set("ppid", 0)
	_ = o.Set("argv0", "restsrv")
	_ = o.Set("execPath", "/restsrv")
	_ = o.Set("exitCode", goja.Undefined())
	_ = o.Set("features", p.js.NewObject())
	_ = o.Set("config", p.js.NewObject())
	_ = o.Set("env", p.environment())
	_ = o.Set("argv", p.js.NewArray())
	_ = o.Set("execArgv", p.js.NewArray())
	_ = o.Set("platform", runtime.GOOS)
	_ = o.Set("arch", map[string]string{"amd64": "x64", "386": "ia32"}[runtime.GOARCH])
	if name := runtime.GOARCH; o.Get("arch").String() == "" {
		_ = o.Set("arch", name)
	}
	_ = o.Set("title", "restsrv")
	_ = o.Set("version", nodeVersion)
	versions := p.js.NewObject()
	_ = versions.Set("node", nodeVersion[1:])
	_ = o.Set("versions", versions)
	release := p.js.NewObject()
	_ = release.Set("name", "restsrv")
	_ = o.Set("release", release)
	p.setTag(o, "process")
	return o
}

// processEvents are the methods that process inherits from EventEmitter in Node.js.
const processEvents = "addListener emit eventNames getMaxListeners listenerCount listeners off on once prependListener prependOnceListener rawListeners " +
	"removeAllListeners removeListener setMaxListeners"

// addProcessEvents adds the methods of an EventEmitter to process. Packages register listeners when they are loaded, for
// example to end with the process. The server does not emit events to scripts: it logs unhandled errors itself.
func (p *Platform) addProcessEvents(o *goja.Object) {
	var emitter *goja.Object
	for name := range strings.FieldsSeq(processEvents) {
		_ = o.DefineDataProperty(name, p.newFunction(name, func(call goja.FunctionCall) goja.Value {
			if emitter == nil {
				made, err := p.js.New(p.Module("events"))
				must(err)
				emitter = made
			}
			f, _ := goja.AssertFunction(emitter.Get(name))
			v, err := f(emitter, call.Arguments...)
			must(err)
			if v == emitter {
				return o
			}
			return v
		}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
}

// addStandardStream adds process.stdin, stdout or stderr. Text that a script writes goes to the log.
func (p *Platform) addStandardStream(o *goja.Object, name string, fd int) {
	get := p.newFunction("get "+name, func(goja.FunctionCall) goja.Value {
		return p.Module("#stdio").(*goja.Object).Get(strconv.Itoa(fd))
	})
	_ = o.DefineAccessorProperty(name, get, nil, goja.FLAG_TRUE, goja.FLAG_TRUE)
}

// stdioNative returns the Go function of the file modules/stdio.js: print(fd, text), which logs each line.
func stdioNative(p *Platform) goja.Value {
	return p.newNatives(natives{"print": func(call goja.FunctionCall) goja.Value {
		level := slog.LevelInfo
		if call.Argument(0).ToInteger() == 2 {
			level = slog.LevelWarn
		}
		for line := range strings.Lines(call.Argument(1).String()) {
			p.host.Log(level, strings.TrimRight(line, "\r\n"))
		}
		return goja.Undefined()
	}})
}

// nodeVersion is the value of process.version: the version of Node.js that the platform follows. It has no suffix,
// because packages compare it by the rules of semantic versions, where a version with a suffix precedes v20.0.0.
const nodeVersion = "v20.0.0"

// environment returns the frozen object process.env. It contains the variables that Settings.Env lists. A variable
// that is not set is undefined.
func (p *Platform) environment() *goja.Object {
	o := p.js.NewObject()
	settings := p.host.Settings()
	look := settings.Look
	if look == nil {
		look = os.LookupEnv
	}
	for _, name := range settings.Env {
		if value, ok := look(name); ok {
			_ = o.Set(name, value)
		}
	}
	freeze, _ := goja.AssertFunction(p.js.Get("Object").(*goja.Object).Get("freeze"))
	_, err := freeze(goja.Undefined(), o)
	must(err)
	return o
}

// nextTick implements process.nextTick. It calls the function as a microtask, like queueMicrotask.
func (p *Platform) nextTick(call goja.FunctionCall) goja.Value {
	f, ok := goja.AssertFunction(call.Argument(0))
	if !ok {
		p.fail("TypeError", "ERR_INVALID_ARG_TYPE", "process.nextTick takes a function")
	}
	args := append([]goja.Value(nil), call.Arguments[1:]...)
	p.host.Provide("queueMicrotask")
	queue, _ := goja.AssertFunction(p.js.Get("queueMicrotask"))
	_, err := queue(goja.Undefined(), p.newFunction("nextTick", func(goja.FunctionCall) goja.Value {
		_, err := f(goja.Undefined(), args...)
		must(err)
		return goja.Undefined()
	}))
	must(err)
	return goja.Undefined()
}
