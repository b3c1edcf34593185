//go:build !race

package main

// raceDetector tells that the tests run under the race detector, which makes
// everything many times slower.
const raceDetector = false
