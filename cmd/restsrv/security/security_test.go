package security

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// securityTests lists the tests for each kind of attack. A test is the name of a case file, or a
// package directory and the name of a Go test. Add a row for a new kind of attack, and change the
// row if you rename a test.
var securityTests = []struct {
	name  string
	tests []string
	none  string // if there are no tests, the reason why none is needed
}{
	{name: "hidden data in conditions", tests: []string{"cmd/restsrv/security.TestHiddenDataMatrix", "cmd/restsrv/security.TestHiddenAttributesMatrix", "testdata/access-attributes.txtar", "testdata/access-search.txtar", "testdata/access-script.txtar", "testdata/access-eager.txtar",
		"engine.TestHiddenIsUnknown", "engine/access.TestHiddenAttributesAreUnknown", "engine/access.TestNothingShowsWhatIsHidden", "builtin/crud.TestHiddenInRequests", "engine/script.TestHiddenInScripts"}},
	{name: "unknown, forbidden and missing data", tests: []string{"testdata/security-same-answers.txtar", "cmd/restsrv/security.TestHiddenDataMatrix", "testdata/access-rows.txtar", "engine/access.TestHiddenIsAsMissing", "builtin/crud.TestPermissionBeforeInput", "builtin/acceptor.TestPermission"}},
	{name: "hostile names", tests: []string{"cmd/restsrv/security.TestHostileNames", "engine/query.FuzzParseFilter", "engine/store.FuzzQuery", "engine/store/postgres.FuzzMatchLikeGo"}},
	{name: "other types than text", tests: []string{"testdata/security-types.txtar", "engine/oauth.TestMalformedTokenRequests", "testdata/session-refused.txtar"}},
	{name: "realtime", none: "the server has no subscriptions"},
	{name: "limits that are bypassed", tests: []string{"testdata/security-one-counter.txtar", "testdata/sign-in-limits.txtar", "testdata/session-undeclared-proxy.txtar", "testdata/oauth-guessing.txtar", "engine/account.TestFloodCostsTwentyHashes", "engine/guess.TestProcessesCountTogether", "cmd/restsrv/security.TestAttack"}},
	{name: "revoked credentials", tests: []string{"cmd/restsrv/security.TestCredentialsEndInBothProcesses", "testdata/oauth-beside-server.txtar", "testdata/session-ends.txtar", "testdata/auth-users-beside-server.txtar", "testdata/acl-beside-server.txtar", "engine/oauth.TestRevokedTokensEnd", "engine/oauth.TestRemovedClientLosesGrants", "engine/session.TestAccountEnds"}},
	{name: "concurrent use of single-use credentials", tests: []string{"cmd/restsrv/security.TestCredentialsAreUsedOnce", "engine/oauth.TestCodeIsUsedOnce", "engine/oauth.TestRefreshTokenIsUsedOnce", "testdata/acceptor-idempotency-key.txtar"}},
	{name: "codes of other clients", tests: []string{"testdata/security-codes.txtar", "engine/oauth.TestCodesMatchTheirRequest", "engine/oauth.TestCodeEndsWhenClientChanges", "engine/oauth.TestInvalidRequestsForCodes", "engine/session.FuzzLocalPath"}},
	{name: "external identities", none: "the server does not use sign-ins of other servers"},
	{name: "forged hosts and framed pages", tests: []string{"testdata/security-forged-host.txtar", "engine/oauth.TestPagesAreProtected", "testdata/session-cross-origin.txtar", "testdata/session-behind-proxy.txtar"}},
	{name: "account enumeration", tests: []string{"testdata/security-enumeration.txtar", "engine/account.TestFailedSignInsAreAlike", "engine/oauth.TestClientAuthentication", "testdata/auth-wrong.txtar", "testdata/session-refused.txtar"}},
	{name: "names of services and handlers", tests: []string{"testdata/security-names.txtar", "testdata/crud-names-like-system.txtar", "testdata/gateway.txtar"}},
	{name: "prototypes in bodies", tests: []string{"testdata/script-prototype.txtar", "engine/script.TestRequest", "testdata/security-names.txtar"}},
	{name: "escape from the sandbox", tests: []string{"testdata/script-outside-directory.txtar", "testdata/script-globals.txtar", "engine/script.TestRequire", "engine/deploy.TestLinksMustNotLeadOut"}},
	{name: "hostile scripts", tests: []string{"engine/script.TestKillers", "engine/script.TestGrowers", "engine/script.TestCPULimit", "engine/script/vm.TestHeapLimit", "engine/script.TestTooManyTimers", "engine/script.TestConsoleIsBounded", "engine/script.TestInnocentRequests",
		"testdata/script-endless-loop.txtar", "testdata/script-endless-regexp.txtar", "testdata/script-memory.txtar", "testdata/script-never-settles.txtar"}},
	{name: "panics", tests: []string{"engine/script.TestPanicInTurn", "engine/script.TestRepositoryFailures", "engine/store.TestVisitPanics", "engine/rest.TestHandlers"}},
	{name: "input that is too deep, too wide or too long", tests: []string{"testdata/security-limits.txtar", "engine/query.TestFilterCost", "engine.TestBindLimitsNesting", "engine/store.TestStatementsAreBounded"}},
	{name: "regular expressions and parsers", tests: []string{"engine/query.TestRegexpRefused", "engine.FuzzBind", "engine/rest.FuzzAuthorization", "engine/rest.FuzzMatch", "engine/wire.FuzzDecode", "engine/session.FuzzLocalPath", "engine/account.FuzzParseHash", "engine/formula.FuzzCompile"}},
	{name: "requests without credentials", tests: []string{"testdata/security-public.txtar", "testdata/health.txtar", "cmd/restsrv/security.TestDatabaseAway"}},
	{name: "files of other accounts", tests: []string{"testdata/security-files-of-others.txtar", "testdata/access-files.txtar", "builtin/crud.TestPermissionBeforeInput", "builtin/crud.TestRowBeforeFiles"}},
	{name: "malformed files", tests: []string{"testdata/security-files-served.txtar", "testdata/file-refused.txtar", "engine/rest.TestFileRanges", "engine/rest.TestFileTypes", "engine/rest.TestFileNames"}},
	{name: "requests that the server sends", tests: []string{"engine/script.TestFetchIsConfined", "engine/script.TestFetch", "engine/script/platform.TestPublicAddresses", "engine/script/platform.TestFetchHosts", "engine/script/platform.TestRedirectsToPrivateAddresses", "engine/gateway.TestRedirectsAreNotFollowed"}},
	{name: "change of owner", tests: []string{"testdata/security-owner.txtar", "engine/store/sqlite.TestRepository", "engine/store/postgres.TestRepository", "engine/access.TestAttributesNotToWrite"}},
	{name: "read-only callers", tests: []string{"testdata/security-read-only.txtar", "engine/access.TestAttributesNotToWrite", "engine/access.TestScopeLimits"}},
	{name: "secrets in responses and logs", tests: []string{"cmd/restsrv/security.TestSecretsAreNotRevealed", "cmd/restsrv/security.TestRequestSecretsAreNotLogged", "engine/audit.TestSecretsAreRedacted", "engine/account.TestNoSecretIsLogged", "testdata/acceptor-passwords.txtar", "testdata/value-password.txtar"}},
	{name: "other origins", tests: []string{"testdata/security-origins.txtar", "testdata/session-cross-origin.txtar", "testdata/gateway.txtar"}},
	{name: "default permissions", tests: []string{"testdata/security-nothing-granted.txtar", "testdata/auth-first-start.txtar", "testdata/auth-missing.txtar"}},
	{name: "records of other accounts", tests: []string{"testdata/security-acceptor.txtar", "testdata/access-acceptor.txtar", "builtin/acceptor.TestPermission"}},
	{name: "reloading", tests: []string{"engine/script.TestReload", "engine/script.TestReloadUnderLoad", "cmd/restsrv/operation.TestReloadMarathon", "testdata/script-reload.txtar", "testdata/script-mended.txtar"}},
}

// TestSecurityTable checks that each kind of attack has tests, that these tests exist, and that
// each case file security-*.txtar is in the table.
func TestSecurityTable(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range securityTests {
		if row.name == "" || len(row.tests) == 0 && row.none == "" {
			t.Errorf("row %+v has no name, or neither tests nor a reason for having none", row)
		}
		for _, name := range row.tests {
			listed[name] = true
			if file, is := strings.CutPrefix(name, "testdata/"); is {
				if _, err := os.Stat(filepath.Join("../testdata", file)); err != nil {
					t.Errorf("%s: %v", row.name, err)
				}
			} else if !testsOf(t, name[:strings.LastIndex(name, ".")])[name] {
				t.Errorf("%s: test %s does not exist", row.name, name)
			}
		}
	}
	cases, err := filepath.Glob("../testdata/security-*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("got %d case files, %v", len(cases), err)
	}
	for _, file := range cases {
		if !listed["testdata/"+filepath.Base(file)] {
			t.Errorf("%s is not in the table", file)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testsOf returns the tests of a package directory, by directory and name.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(apptest.Root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, file := range files {
		for _, m := range testFunction.FindAllStringSubmatch(apptest.ReadFile(t, file), -1) {
			all[dir+"."+m[1]] = true
		}
	}
	return all
}
