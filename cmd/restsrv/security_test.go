package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// securityTests lists the test for each entry of the catalogue of attacks (S1 to
// S30): a case file, or package directory and test. Add a row for a new attack,
// and change it when a test is renamed.
var securityTests = []struct {
	name  string
	tests []string
	none  string // why there is no test yet
}{
	{name: "S1 conditions that name what is hidden", tests: []string{"cmd/restsrv.TestS1Matrix", "cmd/restsrv.TestS1MatrixOfAllRows", "testdata/access-attributes.txtar", "testdata/access-search.txtar", "testdata/access-script.txtar", "testdata/access-eager.txtar",
		"engine.TestHiddenIsUnknown", "engine/access.TestHiddenAttributesAreUnknown", "engine/access.TestNothingShowsWhatIsHidden", "builtin/crud.TestHiddenInRequests", "engine/script.TestHiddenInScripts"}},
	{name: "S2 unknown, forbidden and missing", tests: []string{"testdata/security-s2-told-alike.txtar", "cmd/restsrv.TestS1Matrix", "testdata/access-rows.txtar", "engine/access.TestHiddenIsAsMissing", "builtin/crud.TestPermissionBeforeInput", "builtin/acceptor.TestPermission"}},
	{name: "S3 hostile names", tests: []string{"cmd/restsrv.TestS3Identifiers", "engine.FuzzParseFilter", "engine/store.FuzzQuery", "engine/store/postgres.FuzzMatchLikeGo"}},
	{name: "S4 other types than text", tests: []string{"testdata/security-s4-types.txtar", "engine/oauth.TestS4TokenRequests", "testdata/session-refused.txtar"}},
	{name: "S5 realtime", none: "nothing is sent by itself: there are no subscriptions"},
	{name: "S6 limits passed by", tests: []string{"testdata/security-s6-one-counter.txtar", "testdata/sign-in-limits.txtar", "testdata/session-undeclared-proxy.txtar", "testdata/oauth-guessing.txtar", "engine/account.TestS6FloodCostsTwentyHashes", "engine/guess.TestProcessesCountTogether", "cmd/restsrv.TestAttack"}},
	{name: "S7 what ended still counts", tests: []string{"cmd/restsrv.TestS7TwoProcesses", "testdata/oauth-beside-server.txtar", "testdata/session-ends.txtar", "testdata/auth-users-beside-server.txtar", "testdata/acl-beside-server.txtar", "engine/oauth.TestS7TokensEnd", "engine/oauth.TestS7ConfiguredClientIsTakenOut", "engine/session.TestAccountEnds"}},
	{name: "S8 one use, a hundred times at once", tests: []string{"cmd/restsrv.TestS8OnceOverHTTP", "engine/oauth.TestS8CodeIsUsedOnce", "engine/oauth.TestS8RefreshTokenIsUsedOnce", "testdata/acceptor-idempotency-key.txtar"}},
	{name: "S9 codes for others", tests: []string{"testdata/security-s9-codes.txtar", "engine/oauth.TestS9Codes", "engine/oauth.TestS9ClientIsChanged", "engine/oauth.TestS9RequestsForCodes", "engine/session.FuzzLocalPath"}},
	{name: "S10 external identities", none: "nobody else's sign-in is taken"},
	{name: "S11 forged hosts, framed pages", tests: []string{"testdata/security-s11-forged-host.txtar", "engine/oauth.TestS11Pages", "testdata/session-cross-origin.txtar", "testdata/session-behind-proxy.txtar"}},
	{name: "S12 which accounts there are", tests: []string{"testdata/security-s12-enumeration.txtar", "engine/account.TestS12FailuresCostTheSame", "engine/oauth.TestS12ClientsAreAuthenticated", "testdata/auth-wrong.txtar", "testdata/session-refused.txtar"}},
	{name: "S13 names of services and handlers", tests: []string{"testdata/security-s13-names.txtar", "testdata/crud-names-like-system.txtar", "testdata/gateway.txtar"}},
	{name: "S14 prototypes in bodies", tests: []string{"testdata/script-prototype.txtar", "engine/script.TestRequest", "testdata/security-s13-names.txtar"}},
	{name: "S15 out of the sandbox", tests: []string{"testdata/script-outside-directory.txtar", "testdata/script-globals.txtar", "engine/script.TestRequire", "engine/deploy.TestLinksMustNotLeadOut"}},
	{name: "S16 hostile scripts", tests: []string{"engine/script.TestKillers", "engine/script.TestGrowers", "engine/script.TestCPULimit", "engine/script.TestHeapLimit", "engine/script.TestTooManyTimers", "engine/script.TestConsoleIsBounded", "engine/script.TestInnocentRequests",
		"testdata/script-endless-loop.txtar", "testdata/script-endless-regexp.txtar", "testdata/script-memory.txtar", "testdata/script-never-settles.txtar"}},
	{name: "S17 panics", tests: []string{"engine/script.TestPanicInTurn", "engine/script.TestRepositoryFailures", "engine/store.TestVisitPanics", "engine/rest.TestHandlers"}},
	{name: "S18 too deep, too wide, too long", tests: []string{"testdata/security-s18-limits.txtar", "engine.TestFilterCost", "engine.TestBindLimitsNesting", "engine/store.TestStatementsAreBounded"}},
	{name: "S19 regular expressions and parsers", tests: []string{"engine.TestRegexpRefused", "engine.FuzzBind", "engine/rest.FuzzAuthorization", "engine/rest.FuzzMatch", "engine/wire.FuzzDecode", "engine/session.FuzzLocalPath", "engine/account.FuzzParseHash", "engine/formula.FuzzCompile"}},
	{name: "S20 what anybody may ask", tests: []string{"testdata/security-s20-public.txtar", "testdata/health.txtar", "cmd/restsrv.TestDatabaseAway"}},
	{name: "S21 files of others", tests: []string{"testdata/security-s21-files-of-others.txtar", "testdata/access-files.txtar", "builtin/crud.TestPermissionBeforeInput", "builtin/crud.TestRowBeforeFiles"}},
	{name: "S22 malformed files", tests: []string{"testdata/security-s22-files-served.txtar", "testdata/file-refused.txtar", "engine/rest.TestFileRanges", "engine/rest.TestFileTypes", "engine/rest.TestFileNames"}},
	{name: "S23 requests that the server sends", tests: []string{"engine/script.TestS23Fetch", "engine/script.TestFetch", "engine/script/platform.TestS23Addresses", "engine/script/platform.TestS23Hosts", "engine/script/platform.TestS23Redirects", "engine/gateway.TestRedirectsAreNotFollowed"}},
	{name: "S24 another owner", tests: []string{"testdata/security-s24-owner.txtar", "engine/store/sqlite.TestRepository", "engine/store/postgres.TestRepository", "engine/access.TestAttributesNotToWrite"}},
	{name: "S25 who may only read", tests: []string{"testdata/security-s25-read-only.txtar", "engine/access.TestAttributesNotToWrite", "engine/access.TestScopeLimits"}},
	{name: "S26 secrets told", tests: []string{"cmd/restsrv.TestS26Canaries", "cmd/restsrv.TestS26SecretsOfRequests", "engine/audit.TestS26NoSecrets", "engine/account.TestNoSecretIsLogged", "testdata/acceptor-passwords.txtar", "testdata/value-password.txtar"}},
	{name: "S27 other origins", tests: []string{"testdata/security-s27-origins.txtar", "testdata/session-cross-origin.txtar", "testdata/gateway.txtar"}},
	{name: "S28 nothing granted", tests: []string{"testdata/security-s28-nothing-granted.txtar", "testdata/auth-first-start.txtar", "testdata/auth-missing.txtar"}},
	{name: "S29 records of others", tests: []string{"testdata/security-s29-acceptor.txtar", "testdata/access-acceptor.txtar", "builtin/acceptor.TestPermission"}},
	{name: "S30 reloading", tests: []string{"engine/script.TestReload", "engine/script.TestReloadUnderLoad", "cmd/restsrv.TestReloadMarathon", "testdata/script-reload.txtar", "testdata/script-mended.txtar"}},
}

// TestSecurityTable holds that every row of the catalogue has its tests, and
// every test that is named by a number its row.
func TestSecurityTable(t *testing.T) {
	listed := map[string][]int{}
	for i, row := range securityTests {
		number, _, _ := strings.Cut(row.name, " ")
		if number != "S"+strconv.Itoa(i+1) || len(row.tests) == 0 && row.none == "" {
			t.Errorf("row %d: %+v", i+1, row)
		}
		for _, name := range row.tests {
			listed[name] = append(listed[name], i+1)
			if file, is := strings.CutPrefix(name, "testdata/"); is {
				if _, err := os.Stat(filepath.Join("testdata", file)); err != nil {
					t.Errorf("%s: %v", number, err)
				}
			} else if !testsOf(t, name[:strings.LastIndex(name, ".")])[name] {
				t.Errorf("%s: there is no test %s", number, name)
			}
		}
	}
	for name := range numberedTests(t) {
		m := regexp.MustCompile(`(?:TestS|security-s)(\d+)`).FindStringSubmatch(name)
		if n, _ := strconv.Atoi(m[1]); !slices.Contains(listed[name], n) {
			t.Errorf("%s is not listed for S%d", name, n)
		}
	}
	if len(securityTests) != 30 {
		t.Errorf("%d rows", len(securityTests))
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testsOf are the tests of a package directory, by directory and name.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, file := range files {
		for _, m := range testFunction.FindAllStringSubmatch(readText(t, file), -1) {
			all[dir+"."+m[1]] = true
		}
	}
	return all
}

// numberedTests returns all tests with the number of a row in their names.
func numberedTests(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	cases, _ := filepath.Glob("testdata/security-s*.txtar")
	for _, file := range cases {
		all[filepath.ToSlash(file)] = true
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		dir, _ := filepath.Rel(root, path)
		for name := range testsOf(t, filepath.ToSlash(dir)) {
			if regexp.MustCompile(`\.TestS\d+[A-Z]`).MatchString(name) {
				all[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
