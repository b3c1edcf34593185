package main

import (
	"os"
	"path/filepath"
	"testing"
)

// testApplication is an IONDV application that tests use.
type testApplication struct {
	name, namespace string
	overlays        []string // folders of testdata with files that its repository does not contain

	accounts    string // line of an import about accounts and roles
	duplicates  int    // class files that describe a class again
	exportBytes int    // minimum size of an export
	metaAnswers int    // minimum number of answers of the service meta
	metaLengths map[string]int

	class, object     string // a class with two texts, and the id of its only object
	line, body        string // the names of the texts
	value             string // of line in the object
	accessTable       string // expected answers, in testdata
	employee          string // an object that makes an account a member of a department
	department        string // the one above that of the employee
	departmentComment string

	gateway                      string // base path of the gateway
	section, node                string // of the navigation
	workflowClass, workflowState string
}

var libraryApp = &testApplication{
	name: "library", namespace: "library",
	accounts:    "       4  accounts and 2 roles taken, 0 accounts and roles known before, 4 resources declared\n",
	exportBytes: 5000, metaAnswers: 90,
	class: "memo@library", object: "10000000-0000-4000-8000-000000000050", line: "line", body: "body", value: "Closed on “Monday”",
	accessTable: "library-access.txt", employee: "employee@library/10000000-0000-4000-8000-000000000090", department: "D1",
	departmentComment: "user is the employee of department D2, whose superior is D1",
	gateway:           "/api", section: "stock", node: "library@publications",
	workflowClass: "loan@library", workflowState: "lending@library/asked",
}

var developAndTest = &testApplication{
	name: "develop-and-test", namespace: "develop-and-test", overlays: []string{"transcripts", "real"},
	accounts:   "       4  accounts and 2 roles taken, 0 accounts and roles known before, 381 resources declared\n",
	duplicates: 1, exportBytes: 50_000, metaAnswers: 900,
	metaLengths: map[string]int{ // of the answers of IONDV
		"getMeta/class_string@develop-and-test": 2170, "listMeta": 357016, "listMeta?ancestor=basicObj@develop-and-test": 8276, "ancestor/event@develop-and-test": 8514,
		"propertyMetas/class_string@develop-and-test": 2087, "getNavigationSections": 80719, "getNavigationSection/simpleTypes?namespace=develop-and-test": 8587,
		"getNodes/simpleTypes?namespace=develop-and-test": 8130, "getItemViewModel/class_string@develop-and-test": 2196,
		"getListViewModel/class_string@develop-and-test": 2322, "getCreationViewModel/class_string@develop-and-test": 2211,
		"getWorkflowView/workflowBase@develop-and-test/simpleWorkflow@develop-and-test/canStart": 2621,
		"getWorkflows/workflowBase@develop-and-test":                                             2424, "getWorkflow/workflowBase@develop-and-test/simpleWorkflow@develop-and-test": 2422,
	},
	class: "class_string@develop-and-test", object: "66dbb3d0-5583-11e6-aef7-cf50314f026b", line: "string_text", body: "string_formattext",
	value:       `Example of the "String [0]" type in the "Text [1]" view`,
	accessTable: "real-access.txt", employee: "employee@develop-and-test/948d47d0-fcd5-11e7-a721-01eaff6b56ab", department: "5674",
	departmentComment: "user is the employee of department 1243, whose superior is 5674",
	gateway:           "/registry-ajax-api", section: "simpleTypes", node: "develop-and-test@class_string",
	workflowClass: "workflowBase@develop-and-test", workflowState: "simpleWorkflow@develop-and-test/canStart",
}

// eachApplication runs a test for the application library, which is in testdata, and for
// develop-and-test, a public application of IONDV. If the latter is not beside the
// repository, its test is skipped.
func eachApplication(t *testing.T, test func(t *testing.T, app *testApplication)) {
	t.Helper()
	for _, app := range []*testApplication{libraryApp, developAndTest} {
		t.Run(app.name, func(t *testing.T) {
			t.Parallel()
			test(t, app)
		})
	}
}

// original returns a copy of the application without overlays.
func (a *testApplication) original(t *testing.T) (dir string) {
	t.Helper()
	from := filepath.Join("testdata", a.name)
	if a == developAndTest {
		from = realApplication(t)
	}
	dir = t.TempDir()
	lay(t, from, dir)
	return dir
}

// complete returns a copy of the application with its overlays. Later overlays replace files of
// earlier ones.
func (a *testApplication) complete(t *testing.T) (dir string) {
	t.Helper()
	dir = a.original(t)
	for _, folder := range a.overlays {
		lay(t, filepath.Join("testdata", folder), dir)
	}
	return dir
}

// mutations returns the number of mutations to try. It is RESTSRV_MUTATIONS or 150; for library it
// is a fifth of that if develop-and-test is tried too.
func (a *testApplication) mutations() int {
	n := environmentNumber("RESTSRV_MUTATIONS", 150)
	if a == libraryApp && isDirectory(developAndTestFolder) {
		n /= 5
	}
	return n
}

// developAndTestFolder is the folder of the application develop-and-test.
var developAndTestFolder = filepath.Join(root, "..", "shared", "apps", "develop-and-test")

// realApplication returns the folder of the application develop-and-test. If it does not
// exist, it skips the test.
func realApplication(t *testing.T) (dir string) {
	t.Helper()
	if !isDirectory(developAndTestFolder) {
		t.Skip("the application develop-and-test is not beside the repository")
	}
	dir, err := filepath.Abs(developAndTestFolder)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
