// Package apptest is the harness of the tests below cmd/restsrv. It is not part of restsrv.
//
// The tests run restsrv in three ways:
//
//   - Start and Launch start a Process. Use it if a test must kill the server. The program is the test binary itself.
//   - A Case has a server in the process of the test. PlayCase executes a text of testdata, and tests in Go call its
//     methods.
//   - Serve starts a Server in the process of the test. Use it if a test starts many servers for one testing.T.
//
// RunCommand and MustRun run commands in the process of the test. Package pgtest has the databases of PostgreSQL: each
// test binary starts one cluster. TestMain of each package calls RunTests. Its tests hash passwords with less work,
// and keep temporary files in memory if there is enough of it.
package apptest
