package storetest

// SplitLetters returns the letters of a text as a list of ids with one letter each.
func SplitLetters(letters string) []string {
	all := []string{}
	for _, r := range letters {
		all = append(all, string(r))
	}
	return all
}
