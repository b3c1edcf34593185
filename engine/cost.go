package engine

// Limits of input that costs more than its size suggests.
const (
	maxPasswords = 100 // passwords in one input: each one needs a hash

	// MaxUploads is the maximum number of files in one input: each one must be
	// written to the disk.
	MaxUploads = 1000
)

// countCost refuses input that costs far more than its size suggests.
func (s *scope) countCost(p *Property, value any) *Error {
	switch v := value.(type) {
	case string:
		if p.Type == Password {
			s.passwords++
		}
	case *Upload:
		s.uploads++
	case []*Upload:
		s.uploads += len(v)
	}
	var e *Error
	switch {
	case s.passwords > maxPasswords:
		e = Errorf(Invalid, "too-many", "more than %d passwords are given at once", maxPasswords)
	case s.uploads > MaxUploads:
		e = Errorf(Invalid, "too-many", "more than %d files are given at once", MaxUploads)
	default:
		return nil
	}
	e.Attribute = p.Name
	return e
}
