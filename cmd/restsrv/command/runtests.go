package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/script/module"
	"restsrv/engine/script/suite"
	"restsrv/engine/script/vm"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
)

const testUsage = `restsrv test runs the tests beside the scripts: files *.test.js and *.test.ts in
the folder scripts and in those of the services. Each file has a database of its
own, which is thrown away: the classes, the inline objects and the accounts of
the folder acl are there, and what its tests write stays for the tests after them
in the file. The database and the files of the application are not touched.

  restsrv test                        run all
  restsrv test scripts/echo.test.js   run one file
  restsrv test -run 'echo > answers'  run the tests whose names match

A test is test('name', async () => { ... }) and fails by throwing, as assert does.
There are describe, before, after, beforeEach, afterEach, test.skip, test.only and
test.todo; a test takes 5 seconds at most unless it says otherwise, test('name',
work, {timeout: 20000}). request('GET', '/rest/echo', {json, form, body, headers,
account, auth}) goes through the whole server and gives {status, headers, text,
json, bytes}; account signs anybody in without a password, and so does
asAccount('ann@local'). addAccount('ann@local', {roles: ['clerk'], grant:
{'c:::note@sample': 'read write'}}) creates an account. dataRepo checks no permissions here.
`

// testCommand runs restsrv test.
func testCommand(ctx context.Context, args []string, s Stdio) error {
	c := &dataCommand{commandLine: newCommandLine("test", "", testUsage, s), io: s}
	c.set.StringVar(&c.config, "config", "", "the deploy.json of the application (default deploy.json)")
	var match *regexp.Regexp
	c.set.Func("run", "run the tests whose names, with those of their groups, match the `pattern`", func(p string) (err error) {
		match, err = regexp.Compile(p)
		return err
	})
	verbose := c.set.Bool("v", false, "print the tests that pass, too, and their logs")
	junit := c.set.String("junit", "", "write the results to a `file`, too, in the form of JUnit")
	files, err := c.parse(args)
	if err != nil {
		return err
	}
	if err := c.loadApp(); err != nil {
		return err
	}
	if files, err = testFiles(c.app, files); err != nil {
		return err
	}
	r := &testRun{app: c.app, match: match, report: &testReport{to: s.Out, verbose: *verbose, colour: useColours(s, s.Out)}, log: &testLog{}}
	if err := r.runAll(ctx, files); err != nil {
		return err
	}
	if *junit != "" {
		if err := r.report.writeJUnit(*junit); err != nil {
			return err
		}
	}
	if match != nil && r.report.countReported() == 0 {
		return fmt.Errorf("no test has a name that matches %q", match)
	}
	return r.report.end()
}

// testFiles returns the test files to run, relative to the application directory. named are the
// files in the arguments; without any, it finds all test files.
func testFiles(a *appdata.App, named []string) ([]string, error) {
	dir := a.Config.Dir
	if len(named) > 0 {
		for i, name := range named {
			rel, err := filepath.Rel(dir, a.Config.Abs(name))
			if err != nil {
				return nil, err
			}
			named[i] = filepath.ToSlash(rel)
		}
		return named, nil
	}
	folders := []string{"scripts"}
	for _, svc := range a.Config.Services {
		if svc.Script != "" {
			folders = append(folders, path.Dir(svc.Script))
		}
	}
	var found []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(folder)), func(p string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && p != dir):
				return fs.SkipDir
			case !d.IsDir() && testName.MatchString(d.Name()):
				rel, err := filepath.Rel(dir, p)
				found = append(found, filepath.ToSlash(rel))
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

var testName = regexp.MustCompile(`\.test\.(js|mjs|ts|mts)$`)

// testRun runs test files and reports the results.
type testRun struct {
	app      *appdata.App
	match    *regexp.Regexp // selects tests by name; if nil, all tests run
	report   *testReport
	log      *testLog
	template string // SQLite file that is copied for each test file
	told     bool   // services that cannot be loaded are already reported
}

func (r *testRun) runAll(ctx context.Context, files []string) (err error) {
	r.report.start = time.Now()
	template, err := server.OpenSandbox(ctx, r.app, server.SandboxConfig{})
	if err != nil {
		return err
	}
	done, err := template.Fill(ctx, false)
	if left := done.Access.RejectedEntries(); err == nil && len(left) > 0 {
		err = errors.New(strings.Join(left, "\n"))
	}
	file, remove, closed := template.Freeze()
	if err == nil {
		err = closed
	}
	r.template = file
	defer func() { err = errors.Join(err, remove()) }()
	if err != nil {
		return fmt.Errorf("a database for the tests cannot be made: %w", err)
	}
	for _, file := range files {
		if err := r.runFile(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// runFile runs the tests in one file. The error is only set if the tests could not run.
func (r *testRun) runFile(ctx context.Context, file string) (err error) {
	started := time.Now()
	b, err := server.OpenSandbox(ctx, r.app, server.SandboxConfig{Template: r.template, Log: slog.New(r.log)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.Load(ctx); err != nil {
		return err
	}
	if !r.told {
		r.told = true
		for _, text := range scriptFaults(b.Scripts(), nil, r.report.colour) {
			r.report.reportService(text)
		}
	}
	r.log.takeLines()
	admin, _, err := b.Database().Accounts.Current(ctx, account.AdminID)
	if err != nil {
		return err
	}
	tests, err := b.LoadTests(file)
	r.report.beginFile(file)
	var failed *module.LoadError
	switch {
	case errors.As(err, &failed):
		r.report.reportResult(testResult{name: "the file is loaded", failure: &suite.TestFailure{Failure: &vm.Failure{Message: failed.Error()}, Excerpt: failed.Excerpt}, log: r.log.takeLines()})
	case err != nil:
		return err
	default:
		r.runSuite(ctx, tests, admin)
		tests.Close()
	}
	r.report.finishFile(time.Since(started))
	return ctx.Err()
}

// runSuite runs the selected tests of a file. The after hooks of a group run only if a test in
// the group has run.
func (r *testRun) runSuite(ctx context.Context, file *suite.Suite, admin *engine.Account) {
	tests := file.Tests()
	only := slices.ContainsFunc(tests, func(t *suite.TestCase) bool { return t.Mode == "only" })
	var ran []*suite.TestCase
	for i, t := range tests {
		if t.Mode == "after" {
			if slices.ContainsFunc(ran, t.Within) {
				if f := file.Run(ctx, i, admin); f != nil {
					r.report.reportResult(testResult{name: "after", failure: f, log: r.log.takeLines()})
				}
			}
			continue
		}
		switch {
		case ctx.Err() != nil:
			return
		case only && t.Mode != "only", r.match != nil && !r.match.MatchString(t.Name()):
		case t.Mode == "skip" || t.Mode == "todo":
			r.report.reportResult(testResult{name: t.Name(), skipped: t.Mode})
		default:
			ran = append(ran, t)
			started := time.Now()
			f := file.Run(ctx, i, admin)
			took := time.Since(started)
			log := r.log.takeLines()
			if f == nil {
				f, log = lostRejection(log)
			}
			r.report.reportResult(testResult{name: t.Name(), took: took, failure: f, log: log})
		}
	}
}

// lostRejection returns a failure if a promise was rejected without a handler during a test that
// passed. It removes the rejection from the log.
func lostRejection(log []logged) (*suite.TestFailure, []logged) {
	for i, l := range log {
		if l.rejection {
			f := &vm.Failure{Message: vm.RejectionMessage + ": " + l.failure}
			return &suite.TestFailure{Failure: f, Excerpt: l.excerpt}, slices.Delete(log, i, i+1)
		}
	}
	return nil, log
}
