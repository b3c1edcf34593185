package platform

import (
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// intlModules returns the modules that implement the global Intl. Each file in modules/intl describes one locale.
func intlModules() map[string]module {
	all := map[string]module{
		"#intl":        {file: "intl", native: intlNative},
		"#intl-locale": {file: "intl-locale"},
		"#intl-number": {file: "intl-number", native: defineNative},
		"#intl-date":   {file: "intl-date", native: zoneNative},
	}
	for _, name := range []string{"derive", "en", "en-gb", "ru", "de", "fr", "es", "it", "pt", "zh", "ja"} {
		all["#intl/"+name] = module{file: "intl/" + name}
	}
	return all
}

// intl returns the value of the global Intl.
func intl(p *Platform) goja.Value { return p.Module("#intl").(*goja.Object).Get("Intl") }

// intlNative returns the Go functions for the file modules/intl.js: define, and compare(a, b), which compares texts.
// The order is the same for all languages.
func intlNative(p *Platform) goja.Value {
	compare, ok := goja.AssertFunction(p.js.Get("String").(*goja.Object).Get("prototype").(*goja.Object).Get("localeCompare"))
	if !ok {
		p.fail("TypeError", "", "String.prototype.localeCompare was replaced by something else")
	}
	return p.newNatives(natives{
		"define": p.addHidden,
		"compare": func(call goja.FunctionCall) goja.Value {
			v, err := compare(call.Argument(0), call.Argument(1))
			must(err)
			return v
		},
	})
}

func defineNative(p *Platform) goja.Value {
	return p.newNatives(natives{"define": p.addHidden})
}

// zoneNative returns the Go functions for the file modules/intl-date.js, which provide the time zones of the machine.
func zoneNative(p *Platform) goja.Value {
	zones := map[string]*time.Location{}
	return p.newNatives(natives{
		"define": p.addHidden,
		// localZone returns the name of the time zone of the server.
		"localZone": func(goja.FunctionCall) goja.Value {
			name := localZone()
			zones[name] = time.Local
			return p.js.ToValue(name)
		},
		// zone returns the canonical name of a time zone, or undefined if the zone does not exist.
		"zone": func(call goja.FunctionCall) goja.Value {
			name, zone := findZone(textArgument(call, 0))
			if zone == nil {
				return goja.Undefined()
			}
			zones[name] = zone
			return p.js.ToValue(name)
		},
		// offset returns [seconds, abbreviation] for a time zone at a time: the offset in seconds east of Greenwich,
		// and the abbreviation of the zone.
		"offset": func(call goja.FunctionCall) goja.Value {
			at := time.UnixMilli(call.Argument(1).ToInteger())
			name, offset := at.In(zones[textArgument(call, 0)]).Zone()
			return p.js.NewArray(offset, name)
		},
	})
}

var fixedZone = regexp.MustCompile(`^([+-])(\d\d):?(\d\d)?$`)

// findZone finds a time zone by its name or by an offset such as +05:30, and returns its canonical name. The zone is
// nil if it does not exist.
func findZone(name string) (string, *time.Location) {
	switch strings.ToUpper(name) {
	case "UTC", "GMT", "ETC/UTC", "ETC/GMT", "Z":
		return "UTC", time.UTC
	case "", "LOCAL":
		return "", nil
	}
	if m := fixedZone.FindStringSubmatch(name); m != nil {
		minutes := m[3]
		if minutes == "" {
			minutes = "00"
		}
		at, err := time.Parse("-07:00", m[1]+m[2]+":"+minutes)
		if err != nil {
			return "", nil
		}
		_, offset := at.Zone()
		name = m[1] + m[2] + ":" + minutes
		return name, time.FixedZone("", offset)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return "", nil
	}
	return name, zone
}

// localZone returns the name of the server's time zone in the time zone database. If the name cannot be determined,
// it returns the current offset.
func localZone() string {
	if name := time.Local.String(); name != "Local" {
		if found, zone := findZone(name); zone != nil {
			return found
		}
	}
	if name, ok := os.LookupEnv("TZ"); ok {
		if found, zone := findZone(strings.TrimPrefix(name, ":")); zone != nil {
			return found
		}
	}
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			if found, zone := findZone(name); zone != nil {
				return found
			}
		}
	}
	if _, offset := time.Now().Zone(); offset != 0 {
		return time.Now().Format("-07:00")
	}
	return "UTC"
}
