package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"restsrv/engine/script/types"
)

const typesUsage = `restsrv types writes TypeScript declarations of the classes of the application and
of everything that scripts can use. With them an editor completes the attributes
of items, in JavaScript too, and flags what is misspelt. Write them again after a
change of a class.

  restsrv types          write scripts/restsrv.d.ts
  restsrv types -init    write scripts/jsconfig.json, too, if there is none
  restsrv types -check   only check whether the file is up to date

In JavaScript, /** @type {restsrv.Routes} */ before module.exports = {...} gives
the handlers of the short form their types. If TypeScript is installed, check all scripts
by: tsc -p scripts/jsconfig.json
`

// jsconfig is the jsconfig.json with which editors and tsc check the scripts. It uses only the
// declarations of restsrv. The checks are strict, except the checks that need types for which
// JavaScript has no syntax.
const jsconfig = `{
  "compilerOptions": {
    "target": "es2022",
    "lib": ["es2023"],
    "types": [],
    "module": "preserve",
    "moduleDetection": "force",
    "allowJs": true,
    "checkJs": true,
    "maxNodeModuleJsDepth": 0,
    "resolveJsonModule": true,
    "strict": true,
    "noImplicitAny": false,
    "noImplicitThis": false,
    "useUnknownInCatchVariables": false,
    "noEmit": true
  },
  "exclude": ["node_modules"]
}
`

// typesCommand runs restsrv types.
func typesCommand(_ context.Context, args []string, s Stdio) error {
	c := &dataCommand{commandLine: newCommandLine("types", "", typesUsage, s), io: s}
	c.set.StringVar(&c.config, "config", "", "the deploy.json of the application (default deploy.json)")
	to := c.set.String("o", "scripts/restsrv.d.ts", "the file to write, in the application directory; - for the standard output")
	check := c.set.Bool("check", false, "write nothing, and fail when the file is not up to date")
	first := c.set.Bool("init", false, "write a jsconfig.json beside the file, too, if there is none")
	if _, err := c.parseAtMost(args, 0); err != nil {
		return err
	}
	if err := c.loadApp(); err != nil {
		return err
	}
	text, err := types.Declarations(c.app.Meta.Classes())
	if err != nil {
		return err
	}
	if *to == "-" {
		_, err := s.Out.Write(text)
		return err
	}
	file := c.app.Config.Abs(*to)
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	current := err == nil && bytes.Equal(old, text)
	if *check {
		if current {
			return nil
		}
		return fmt.Errorf("%s is not up to date: run restsrv types", *to)
	}
	if !current {
		if err := replaceFile(file, text); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Out, "%s: %d classes\n", *to, len(c.app.Meta.Classes()))
	if *first {
		return writeConfig(filepath.Join(filepath.Dir(file), "jsconfig.json"))
	}
	return nil
}

// writeConfig writes a jsconfig.json unless it exists.
func writeConfig(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(jsconfig)
	return errors.Join(err, f.Close())
}

// replaceFile replaces a file atomically: readers see either the old or the new text.
func replaceFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the temporary file
	}
	return err
}
