//go:build !race

package apptest

// RaceDetector is set if the tests run under the race detector, which makes everything many times
// slower.
const RaceDetector = false
