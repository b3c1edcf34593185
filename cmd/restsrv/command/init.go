package command

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"restsrv/engine/script/types"
	"restsrv/engine/server"
)

const initUsage = `restsrv init writes a new application into a folder, which must be empty or not
exist yet: a deploy.json with a class and an object, a script with its test, and the
declarations that make editors complete the attributes of the class.

  restsrv init DIR         with a script in JavaScript
  restsrv init -ts DIR     with a script in TypeScript and a tsconfig.json
`

// initial contains the files of a new application.
//
//go:embed initial
var initial embed.FS

// initCommand runs restsrv init.
func initCommand(_ context.Context, args []string, s Stdio) error {
	c := newCommandLine("init", "", initUsage, s)
	ts := c.set.Bool("ts", false, "write the script in TypeScript")
	names, err := c.parse(args)
	if err != nil {
		return err
	}
	if len(names) != 1 || names[0] == "" {
		return c.usageError("expected one folder, found %s", countText(len(names), "argument"))
	}
	dir := names[0]
	if err := checkEmpty(dir); err != nil {
		return err
	}
	if err := writeInitial(dir, *ts); err != nil {
		return fmt.Errorf("the application cannot be written completely: %w", err)
	}
	fmt.Fprintf(s.Out, `%s has a new application: the class task and the service scripts/tasks.%s.

  cd %s
  restsrv test        run the tests
  restsrv -watch      serve it, and reload files when they are saved
  curl -u admin@local:PASSWORD http://127.0.0.1:8888/rest/tasks

The first start shows the password of admin@local, or uses RESTSRV_ADMIN_PASSWORD.
`, dir, scriptExtension(*ts), dir)
	return nil
}

func scriptExtension(ts bool) string {
	if ts {
		return "ts"
	}
	return "js"
}

// checkEmpty returns an error unless dir is an empty folder or does not exist.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("a new application needs an empty folder: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty, it has %s: choose an empty folder or a new name", dir, entries[0].Name())
	}
	return nil
}

// writeInitial writes the files of a new application.
func writeInitial(dir string, ts bool) error {
	scripts := filepath.Join(dir, "scripts")
	if err := os.MkdirAll(scripts, 0o755); err != nil {
		return err
	}
	ext := scriptExtension(ts)
	for from, to := range map[string]string{
		"deploy.json": "deploy.json", "gitignore": ".gitignore",
		"tasks." + ext: "scripts/tasks." + ext, "tasks.test.js": "scripts/tasks.test." + ext,
	} {
		if err := writeEmbedded(from, filepath.Join(dir, filepath.FromSlash(to)), ext); err != nil {
			return err
		}
	}
	if ts {
		if err := writeEmbedded("tsconfig.json", filepath.Join(dir, "tsconfig.json"), ext); err != nil {
			return err
		}
	} else if err := writeConfig(filepath.Join(scripts, "jsconfig.json")); err != nil {
		return err
	}
	a, err := server.LoadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		return err
	}
	text, err := types.Declarations(a.Meta.Classes())
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(scripts, "restsrv.d.ts"), text)
}

// writeEmbedded writes a file of a new application. ext is the extension of its script.
func writeEmbedded(from, to, ext string) error {
	text, err := initial.ReadFile("initial/" + from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "scripts/tasks.js", "scripts/tasks."+ext)), 0o644)
}
