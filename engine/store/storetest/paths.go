package storetest

// SplitLetters returns the letters of a text as a list, for ids of one letter.
func SplitLetters(letters string) []string {
	all := []string{}
	for _, r := range letters {
		all = append(all, string(r))
	}
	return all
}
