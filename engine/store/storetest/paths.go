package storetest

// SplitLetters returns one id for each letter.
func SplitLetters(letters string) []string {
	all := []string{}
	for _, r := range letters {
		all = append(all, string(r))
	}
	return all
}
