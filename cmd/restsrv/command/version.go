package command

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

const versionUsage = `restsrv version prints the version of restsrv, the commit that it was built from,
the version of Go and the platform.
`

// versionCommand runs restsrv version.
func versionCommand(_ context.Context, args []string, s Stdio) error {
	c := newCommandLine("version", "", versionUsage, s)
	names, err := c.parse(args)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return c.usageError("expected no arguments, found %q", names[0])
	}
	printVersion(s.Out)
	return nil
}

// printVersion prints the version that the Go command has recorded in the binary.
func printVersion(w io.Writer) {
	version, commit, changed := "(unknown)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				changed = " with changes"
			}
		}
	}
	fmt.Fprintf(w, "restsrv %s\n", version)
	if commit != "" {
		fmt.Fprintf(w, "commit %s%s\n", commit, changed)
	}
	fmt.Fprintf(w, "%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
