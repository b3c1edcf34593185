package transfer_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"restsrv/engine/transfer"
)

// zipped returns a zip file. The arguments are names and texts in turn.
func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = io.WriteString(f, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// objectsOf reads a data folder with one zip file, and returns one line for each object.
func objectsOf(t testing.TB, archive []byte) (total int64, lines []string) {
	t.Helper()
	s, err := transfer.Directory(fstest.MapFS{"x.zip": {Data: archive}}, "lib")
	if err != nil {
		t.Fatal(err)
	}
	for o := range s.Objects {
		switch {
		case o.Err != nil:
			lines = append(lines, o.Where+": "+o.Err.Error())
		case o.Numbers != nil:
			lines = append(lines, fmt.Sprintf("%s: %v", o.Where, o.Numbers))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s %q %d", o.Where, o.Class, o.ID, len(o.Text)))
		}
	}
	return s.Total, lines
}

// TestZipLimits checks that a zip file is not unpacked beyond its limits.
func TestZipLimits(t *testing.T) {
	big := strings.Repeat("x", 34<<20)
	huge := zipped(t, "book@lib@1.json", big+big, "book@lib@2.json", `{}`)
	lying := bytes.Clone(huge)
	for at := range len(lying) - 46 { // the list of files contains the length
		if bytes.HasPrefix(lying[at:], []byte("PK\x01\x02")) {
			binary.LittleEndian.PutUint32(lying[at+24:], 5)
		}
	}
	many := []string{}
	for i := range 5 {
		many = append(many, fmt.Sprintf("book@lib@%d.json", i), big)
	}
	long := strings.Repeat("x", 60_000)
	names := make([]string, 0, 2400)
	for i := range 1200 { // 72 MB of names
		names = append(names, fmt.Sprintf("%s%d.json", long, i), "")
	}
	for name, c := range map[string]struct {
		archive []byte
		want    []string
	}{
		"a long file":          {huge, []string{"x.zip/book@lib@1.json: the file is longer than 67108864 bytes", `x.zip/book@lib@2.json: book@lib "2" 2`}},
		"a length that lies":   {lying, []string{"x.zip/book@lib@1.json: it cannot be unpacked", "x.zip/book@lib@2.json: it cannot be unpacked"}},
		"many long files":      {zipped(t, many...), []string{"x.zip/book@lib@0.json: malformed JSON…", "x.zip/book@lib@1.json: malformed JSON…", "x.zip/book@lib@2.json: malformed JSON…", "x.zip: it unpacks to too many bytes for its size…"}},
		"a long list":          {zipped(t, names...), []string{"x.zip: the list of the files in it is longer than 67108864 bytes"}},
		"no zip file":          {[]byte("PK"), []string{"x.zip: it is no zip file, or it is damaged"}},
		"numbers of sequences": {zipped(t, "sequences.data", `{"a": 1, "b": "2"}`, "book@lib@a%20b.json", `{}`), []string{`x.zip/book@lib@a%20b.json: book@lib "a b" 2`, "x.zip/sequences.data: map[a:1 b:2]"}},
	} {
		total, got := objectsOf(t, c.archive)
		if name == "numbers of sequences" && total != 2 {
			t.Errorf("%s: the total for a progress bar is %d, want 2", name, total)
		}
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && matches(c.want[i], got[i])
		}
		if !ok {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// FuzzArchive reads arbitrary zip files of a data folder. Each file in them must be yielded at most once, under a
// printable name.
func FuzzArchive(f *testing.F) {
	f.Add(zipped(f, "book@lib@1.json", `{"id": 1}`, "sequences.data", `{"a": 1}`))
	f.Add(zipped(f, "../x.json", `{`, `a\b.json`, `{}`, "notes.txt", "", "dir/", "", "c:/x@y@z.json", `{}`))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, archive []byte) {
		total, lines := objectsOf(t, archive)
		files := 1
		if r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive))); err == nil {
			files += len(r.File)
		}
		if total < 0 || total > int64(files) {
			t.Errorf("the total is %d of %d files", total, files)
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "x.zip") {
				t.Errorf("%q names no file of the zip file", line)
			}
		}
	})
}
