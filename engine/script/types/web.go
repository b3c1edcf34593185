package types

import (
	"fmt"
	"regexp"
	"strings"
)

// The files of webFiles declare the classes of browsers. A project may include the library "dom" of TypeScript, which
// declares the same global names in other words. So the declarations of these files are in the namespace restsrv.web,
// and each global name stands for the declaration there only if dom has not declared it.
var webFiles = []string{"web", "streams", "crypto"}

const webHeading = `/**
 * The classes of browsers. The global names stand for these declarations, or for those of the library "dom" if a project
 * includes it.
 */
declare namespace restsrv.web {
  type UnlessDom<T> = typeof globalThis extends { onmessage: any } ? {} : T;
`

// webVariable matches the declaration of a global variable, and webInterface that of an interface with its type
// parameters.
var (
	webVariable  = regexp.MustCompile(`(?m)^declare var (\w+):`)
	webInterface = regexp.MustCompile(`(?m)^interface (\w+)(?:<(.*?)>)? (?:extends|\{)`)
)

// writeWeb writes the declarations in text, which is the content of the files webFiles.
func (w *writer) writeWeb(text string) {
	w.b.WriteString(webHeading)
	for line := range strings.Lines(strings.ReplaceAll(text, "\ndeclare var ", "\nvar ")) {
		if line != "\n" {
			w.b.WriteString("  ")
		}
		w.b.WriteString(line)
	}
	w.writeLine("}")
	variables := map[string]bool{}
	for _, m := range webVariable.FindAllStringSubmatch(text, -1) {
		name := m[1]
		variables[name] = true
		w.writeLine("declare var %s: typeof globalThis extends { onmessage: any; %s: infer T } ? T : typeof restsrv.web.%s;", name, name, name)
	}
	for _, m := range webInterface.FindAllStringSubmatch(text, -1) {
		if name, parameters := m[1], m[2]; variables[name] {
			w.writeLine("interface %s extends restsrv.web.UnlessDom<restsrv.web.%s> {}", withParameters(name, parameters), withArguments(name, parameters))
		}
	}
	w.writeLine("")
}

func withParameters(name, parameters string) string {
	if parameters == "" {
		return name
	}
	return fmt.Sprintf("%s<%s>", name, parameters)
}

// withArguments returns the type with the names of its type parameters as arguments.
func withArguments(name, parameters string) string {
	var names []string
	for p := range strings.SplitSeq(parameters, ",") {
		if fields := strings.Fields(p); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	return withParameters(name, strings.Join(names, ", "))
}
