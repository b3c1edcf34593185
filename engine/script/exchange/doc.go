// Package exchange connects scripts with HTTP. It reads request bodies (body.go, multipart.go, query.go), makes the
// objects req of handlers (request.go, express.go), and converts the results of handlers to responses (response.go).
//
// ServeRoute runs the handler of a route. A Job runs any other function that receives req, such as the handler of an
// event. If many requests have large bodies, Intake admits them in order.
package exchange
