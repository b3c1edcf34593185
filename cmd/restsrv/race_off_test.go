//go:build !race

package main

// raceDetector is set if the tests run under the race detector, which makes everything many times
// slower.
const raceDetector = false
