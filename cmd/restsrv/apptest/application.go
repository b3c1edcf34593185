package apptest

import (
	"os"
	"path/filepath"
	"testing"
)

// Application is an IONDV application that tests use.
type Application struct {
	name, Namespace string
	overlays        []string // folders of testdata with files that the repository of the application does not contain

	Accounts    string // line of an import about accounts and roles
	Duplicates  int    // class files that describe a class again
	ExportBytes int    // minimum size of an export
	MetaAnswers int    // minimum number of answers of the service meta
	MetaLengths map[string]int

	Class, Object     string // a class with two texts, and the id of its only object
	Line, Body        string // the names of the texts
	Value             string // of line in the object
	AccessTable       string // expected answers, in testdata
	Employee          string // an object that makes an account a member of a department
	Department        string // the department above the department of the employee
	DepartmentComment string

	Gateway                      string // base path of the gateway
	Section, Node                string // of the navigation
	WorkflowClass, WorkflowState string
}

// Library is the application in testdata/library.
var Library = &Application{
	name: "library", Namespace: "library",
	Accounts:    "       4  accounts and 2 roles taken, 0 accounts and roles known before, 4 resources declared\n",
	ExportBytes: 5000, MetaAnswers: 90,
	Class: "memo@library", Object: "10000000-0000-4000-8000-000000000050", Line: "line", Body: "body", Value: "Closed on “Monday”",
	AccessTable: "library-access.txt", Employee: "employee@library/10000000-0000-4000-8000-000000000090", Department: "D1",
	DepartmentComment: "user is the employee of department D2, whose superior is D1",
	Gateway:           "/api", Section: "stock", Node: "library@publications",
	WorkflowClass: "loan@library", WorkflowState: "lending@library/asked",
}

// DevelopAndTest is a public application of IONDV, which is not part of the repository.
var DevelopAndTest = &Application{
	name: "develop-and-test", Namespace: "develop-and-test", overlays: []string{"transcripts", "real"},
	Accounts:   "       4  accounts and 2 roles taken, 0 accounts and roles known before, 381 resources declared\n",
	Duplicates: 1, ExportBytes: 50_000, MetaAnswers: 900,
	MetaLengths: map[string]int{ // of the answers of IONDV
		"getMeta/class_string@develop-and-test": 2170, "listMeta": 357016, "listMeta?ancestor=basicObj@develop-and-test": 8276, "ancestor/event@develop-and-test": 8514,
		"propertyMetas/class_string@develop-and-test": 2087, "getNavigationSections": 80719, "getNavigationSection/simpleTypes?namespace=develop-and-test": 8587,
		"getNodes/simpleTypes?namespace=develop-and-test": 8130, "getItemViewModel/class_string@develop-and-test": 2196,
		"getListViewModel/class_string@develop-and-test": 2322, "getCreationViewModel/class_string@develop-and-test": 2211,
		"getWorkflowView/workflowBase@develop-and-test/simpleWorkflow@develop-and-test/canStart": 2621,
		"getWorkflows/workflowBase@develop-and-test":                                             2424, "getWorkflow/workflowBase@develop-and-test/simpleWorkflow@develop-and-test": 2422,
	},
	Class: "class_string@develop-and-test", Object: "66dbb3d0-5583-11e6-aef7-cf50314f026b", Line: "string_text", Body: "string_formattext",
	Value:       `Example of the "String [0]" type in the "Text [1]" view`,
	AccessTable: "real-access.txt", Employee: "employee@develop-and-test/948d47d0-fcd5-11e7-a721-01eaff6b56ab", Department: "5674",
	DepartmentComment: "user is the employee of department 1243, whose superior is 5674",
	Gateway:           "/registry-ajax-api", Section: "simpleTypes", Node: "develop-and-test@class_string",
	WorkflowClass: "workflowBase@develop-and-test", WorkflowState: "simpleWorkflow@develop-and-test/canStart",
}

// EachApplication runs a test for Library and for DevelopAndTest. It skips the test for
// DevelopAndTest if that application is not in its folder beside the repository.
func EachApplication(t *testing.T, test func(t *testing.T, app *Application)) {
	t.Helper()
	for _, app := range []*Application{Library, DevelopAndTest} {
		t.Run(app.name, func(t *testing.T) {
			t.Parallel()
			test(t, app)
		})
	}
}

// Original returns a copy of the application without overlays.
func (a *Application) Original(t *testing.T) (dir string) {
	t.Helper()
	from := filepath.Join("../testdata", a.name)
	if a == DevelopAndTest {
		from = FindDevelopAndTest(t)
	}
	dir = t.TempDir()
	CopyFiles(t, from, dir)
	return dir
}

// Complete returns a copy of the application with its overlays. A later overlay can replace files
// of an earlier overlay.
func (a *Application) Complete(t *testing.T) (dir string) {
	t.Helper()
	dir = a.Original(t)
	for _, folder := range a.overlays {
		CopyFiles(t, filepath.Join("../testdata", folder), dir)
	}
	return dir
}

// developAndTestFolder is the folder of the application develop-and-test.
var developAndTestFolder = filepath.Join(Root, "..", "shared", "apps", "develop-and-test")

// FindDevelopAndTest returns the folder of the application develop-and-test. If it does not
// exist, it skips the test.
func FindDevelopAndTest(t *testing.T) (dir string) {
	t.Helper()
	if !HasDevelopAndTest() {
		t.Skip("the application develop-and-test is not beside the repository")
	}
	dir, err := filepath.Abs(developAndTestFolder)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// HasDevelopAndTest reports whether the application develop-and-test is beside the repository.
func HasDevelopAndTest() bool {
	info, err := os.Stat(developAndTestFolder)
	return err == nil && info.IsDir()
}

// CopySample returns a copy of the repository's application.
func CopySample(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	CopyFiles(t, filepath.Join(Root, "scripts"), filepath.Join(dir, "scripts"))
	WriteFile(t, filepath.Join(dir, "deploy.json"), ReadFile(t, filepath.Join(Root, "deploy.json")))
	return dir
}

// StartSample starts a server for a copy of the repository's application.
func StartSample(t *testing.T) *Process {
	t.Helper()
	return Start(t, CopySample(t))
}
