// Package exchange connects scripts with HTTP. It reads the bodies of requests (body.go, multipart.go, query.go),
// creates the object req for handlers (request.go, express.go), and converts the results of handlers to responses
// (response.go).
//
// ServeRoute runs the handler of a route. A Job runs any other function that gets req, such as the handler of an
// event. An Intake limits the memory for large request bodies: requests with such bodies wait for each other.
package exchange
