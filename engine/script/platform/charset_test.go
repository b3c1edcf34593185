package platform

import (
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// TestSingleByteCharsets compares the tables with those of another library.
func TestSingleByteCharsets(t *testing.T) {
	for name, m := range map[string]*charmap.Charmap{
		"windows-1251": charmap.Windows1251, "windows-1252": charmap.Windows1252, "koi8-r": charmap.KOI8R, "ibm866": charmap.CodePage866,
	} {
		if len(single[name]) != 128 {
			t.Fatalf("%s: got %d characters, want 128", name, len(single[name]))
		}
		for i, c := range single[name] {
			want := m.DecodeByte(byte(0x80 + i))
			if c != want && !(c == 0 && (want == 0xFFFD || want == rune(0x80+i))) {
				t.Errorf("%s: byte %x: got %c, want %c", name, 0x80+i, c, want)
			}
		}
	}
}
