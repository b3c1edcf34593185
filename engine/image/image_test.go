package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/file"
)

var square = engine.ThumbnailKind{Name: "small", Width: 100, Height: 100}

// open returns a storage of files in a directory, with one kind of thumbnails by
// default.
func open(t testing.TB, cfg Config, kinds ...engine.ThumbnailKind) *Storage {
	t.Helper()
	cfg.Files = file.New(file.Config{Dir: t.TempDir()})
	return New(cfg).With(kinds)
}

func put(t testing.TB, s *Storage, content []byte) engine.StoredFile {
	t.Helper()
	f, err := s.Put(context.Background(), "a", "image/png", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// thumbnail makes a thumbnail and decodes it.
func thumbnail(t testing.TB, s *Storage, content []byte, kind string) (image.Image, string) {
	t.Helper()
	small, err := s.Thumbnail(context.Background(), put(t, s, content), kind)
	if err != nil {
		t.Fatal(err)
	}
	defer small.Content.Close()
	m, format, err := image.Decode(small.Content)
	if err != nil || "image/"+format != small.MimeType {
		t.Fatal(format, small.MimeType, err)
	}
	return m, format
}

func encoded(t testing.TB, encode func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, m image.Image) []byte {
	return encoded(t, func(w io.Writer) error { return png.Encode(w, m) })
}

func asJPEG(t testing.TB, m image.Image) []byte {
	return encoded(t, func(w io.Writer) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: 95}) })
}

var (
	red   = color.RGBA{255, 0, 0, 255}
	green = color.RGBA{0, 255, 0, 255}
	blue  = color.RGBA{0, 0, 255, 255}
	white = color.RGBA{255, 255, 255, 255}
)

// quarters returns a picture whose quarters have these colors, in reading order.
func quarters(w, h int, corners ...color.Color) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, corners[2*(2*y/h)+2*x/w])
		}
	}
	return m
}

func near(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb), int(aa) - int(ba)} {
		if max(d, -d) > 0x2000 {
			return false
		}
	}
	return true
}

// corners returns the colors of the quarters of a picture, in reading order.
func corners(m image.Image) (all []color.Color) {
	b := m.Bounds()
	for _, y := range []int{1, 3} {
		for _, x := range []int{1, 3} {
			all = append(all, m.At(b.Min.X+x*b.Dx()/4, b.Min.Y+y*b.Dy()/4))
		}
	}
	return all
}

// TestSizes checks that thumbnails keep the proportions, fit the size, and are never enlarged.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		w, h         int
		kind         engine.ThumbnailKind
		wantW, wantH int
	}{
		{400, 200, square, 100, 50}, {200, 400, square, 50, 100}, {1001, 333, square, 100, 33}, {100, 100, square, 100, 100},
		{30, 20, square, 30, 20}, {3000, 1, square, 100, 1}, {1, 3000, square, 1, 100}, {199, 150, square, 100, 75},
		{400, 200, engine.ThumbnailKind{Name: "small", Width: 40}, 40, 20}, {400, 200, engine.ThumbnailKind{Name: "small", Height: 40}, 80, 40},
	} {
		s := open(t, Config{}, c.kind)
		m, _ := thumbnail(t, s, asPNG(t, quarters(c.w, c.h, red, green, blue, white)), "small")
		if size := m.Bounds().Size(); size.X != c.wantW || size.Y != c.wantH {
			t.Errorf("%d × %d by %v is %v, want %d × %d", c.w, c.h, c.kind, size, c.wantW, c.wantH)
		}
	}
}

// TestSeesEveryPixel checks that lines thinner than a pixel of the thumbnail still affect the
// thumbnail.
func TestSeesEveryPixel(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 1600, 1600))
	for i := range 1600 * 1600 {
		m.Set(i%1600, i/1600, color.Gray{Y: uint8(255 * (i % 2))})
	}
	small, _ := thumbnail(t, open(t, Config{}, square), asPNG(t, m), "small")
	for _, c := range corners(small) {
		if !near(c, color.Gray{Y: 127}) {
			t.Errorf("black and white lines: got %v, want gray", c)
		}
	}
}

// TestFormats checks the supported formats. Colors and transparency are kept;
// transparent thumbnails are PNG.
func TestFormats(t *testing.T) {
	clear := color.RGBA{}
	opaque, through := quarters(400, 400, red, green, blue, white), quarters(400, 400, red, clear, blue, white)
	paletted := image.NewPaletted(opaque.Rect, color.Palette{red, green, blue, white, clear})
	for y := range 400 {
		for x := range 400 {
			paletted.Set(x, y, through.At(x, y))
		}
	}
	second := image.NewPaletted(opaque.Rect, color.Palette{blue})
	moving := encoded(t, func(w io.Writer) error {
		return gif.EncodeAll(w, &gif.GIF{Image: []*image.Paletted{paletted, second}, Delay: []int{1, 1}})
	})
	gray := image.NewGray16(opaque.Rect)
	for i := range gray.Pix {
		gray.Pix[i] = 0x80
	}
	for name, c := range map[string]struct {
		content []byte
		format  string // requested format
		want    string
		corners []color.Color
	}{
		"jpeg":        {asJPEG(t, opaque), "", "jpeg", []color.Color{red, green, blue, white}},
		"png":         {asPNG(t, opaque), "", "jpeg", []color.Color{red, green, blue, white}},
		"transparent": {asPNG(t, through), "", "png", []color.Color{red, clear, blue, white}},
		"gif":         {moving, "", "png", []color.Color{red, clear, blue, white}},
		"as png":      {asJPEG(t, opaque), "png", "png", []color.Color{red, green, blue, white}},
		"as jpeg":     {asPNG(t, through), "jpeg", "jpeg", []color.Color{red, white, blue, white}},
		"gray":        {asPNG(t, gray), "", "jpeg", []color.Color{color.Gray{Y: 0x80}, color.Gray{Y: 0x80}, color.Gray{Y: 0x80}, color.Gray{Y: 0x80}}},
		"webp":        {webpPicture, "", "png", []color.Color{color.NRGBA{255, 0, 0, 128}}},
	} {
		kind := square
		kind.Format = c.format
		m, format := thumbnail(t, open(t, Config{}, kind), c.content, "small")
		if format != c.want {
			t.Errorf("%s: a thumbnail is %s, want %s", name, format, c.want)
		}
		for i, got := range corners(m)[:len(c.corners)] {
			if !near(got, c.corners[i]) {
				t.Errorf("%s: corner %d is %v, want %v", name, i, got, c.corners[i])
			}
		}
	}
}

// withEXIF returns a JPEG with an orientation, in either byte order.
func withEXIF(content []byte, orientation uint16, order binary.ByteOrder) []byte {
	mark := "MM"
	if order == binary.LittleEndian {
		mark = "II"
	}
	tiff := order.(binary.AppendByteOrder).AppendUint16([]byte(mark), 42)
	app := order.(binary.AppendByteOrder)
	tiff = app.AppendUint32(tiff, 8)
	tiff = app.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x0100, 7}, {0x0112, orientation}} {
		tiff = app.AppendUint16(app.AppendUint16(tiff, entry[0]), 3)
		tiff = app.AppendUint16(app.AppendUint16(app.AppendUint32(tiff, 1), entry[1]), 0)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{0xff, 0xd8, 0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(segment)+2))...)
	return append(append(out, segment...), content[2:]...)
}

// TestOrientation checks that thumbnails of rotated pictures are upright.
func TestOrientation(t *testing.T) {
	upright := []color.Color{red, green, blue, white}
	// The colors of the quarters as a camera stores them, for each orientation. All show the same
	// picture.
	for orientation, stored := range map[uint16][]color.Color{
		1: {red, green, blue, white}, 2: {green, red, white, blue}, 3: {white, blue, green, red}, 4: {blue, white, red, green},
		5: {red, blue, green, white}, 6: {green, white, red, blue}, 7: {white, green, blue, red}, 8: {blue, red, white, green},
		0: {red, green, blue, white}, 9: {red, green, blue, white},
	} {
		w, h := 600, 300
		if orientation >= 5 && orientation <= 8 {
			w, h = h, w
		}
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			content := withEXIF(asJPEG(t, quarters(w, h, stored...)), orientation, order)
			m, _ := thumbnail(t, open(t, Config{}, square), content, "small")
			if size := m.Bounds().Size(); size.X != 100 || size.Y != 50 {
				t.Errorf("orientation %d: got the size %v, want 100 × 50", orientation, size)
			}
			for i, got := range corners(m) {
				if !near(got, upright[i]) {
					t.Errorf("orientation %d, %v: corner %d is %v, want %v", orientation, order, i, got, upright[i])
				}
			}
		}
	}
}

// sized returns a PNG with the given size in its header.
func sized(content []byte, w, h uint32) []byte {
	b := bytes.Clone(content)
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

// TestUnusable checks that a file has no thumbnail if it is not an image or cannot be decoded.
func TestUnusable(t *testing.T) {
	whole := asPNG(t, quarters(40, 40, red, green, blue, white))
	photo := asJPEG(t, quarters(40, 40, red, green, blue, white))
	for name, c := range map[string]struct {
		content []byte
		why     string
	}{
		"nothing":        {nil, "no JPEG, PNG, GIF or WebP"},
		"text":           {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), "no JPEG, PNG, GIF or WebP"},
		"a head":         {whole[:20], "a picture that cannot be read"},
		"cut png":        {whole[:len(whole)-30], "a picture that cannot be read"},
		"cut jpeg":       {photo[:len(photo)/2], "a picture that cannot be read"},
		"of no size":     {sized(whole, 0, 0), "a picture that cannot be read"},
		"a bomb":         {sized(whole, 100_000, 100_000), "too large to be made smaller here: it has 100000 × 100000 pixels"},
		"of any size":    {sized(whole, 1<<31-1, 1<<31-1), "cannot be read"},
		"a little lie":   {sized(whole, 50, 50), "a picture that cannot be read"},
		"webp of vapour": {[]byte("RIFF\xff\xff\xff\x7fWEBPVP8X\n\x00\x00\x00\x10\x00\x00\x00\xff\x3f\x00\xff\x3f\x00"), "too large"},
	} {
		s := open(t, Config{}, square)
		_, err := s.Thumbnail(context.Background(), put(t, s, c.content), "small")
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != engine.NotFound || e.Reason != "no-thumbnail" || !strings.Contains(e.Message, c.why) {
			t.Errorf("%s: got %v, want no-thumbnail because of %q", name, err, c.why)
		}
	}
	s := open(t, Config{}, square)
	cut := put(t, s, whole[:len(whole)-30])
	for _, waiting := range []int{1, 0} { // the second time, no image may be decoded
		s.limits.queue = waiting
		if _, err := s.Thumbnail(context.Background(), cut, "small"); engine.CodeOf(err) != engine.NotFound || !strings.HasSuffix(err.Error(), "it is a picture that cannot be read") {
			t.Errorf("an image that cannot be decoded, with a queue of %d: got %v", waiting, err)
		}
	}
	var e *engine.Error
	if _, err := s.Thumbnail(context.Background(), put(t, s, whole), "large"); !errors.As(err, &e) || e.Reason != "unknown-thumbnail" {
		t.Errorf("an unknown kind: got %v", err)
	}
	if _, err := s.Thumbnail(context.Background(), engine.StoredFile{ID: "x", Hash: strings.Repeat("0", 64)}, "small"); !errors.As(err, &e) || e.Reason != "lost-file" {
		t.Errorf("missing content: got %v", err)
	}
}

// TestMemory checks the estimates of the memory for decoding, which the memory limit depends on.
func TestMemory(t *testing.T) {
	of := func(content []byte) float64 {
		p, err := readHead(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return p.format.cost(p)
	}
	m := quarters(64, 64, red, green, blue, white)
	photo := asJPEG(t, m)
	progressive := bytes.Clone(photo)
	progressive[bytes.Index(photo, []byte{0xff, 0xc0})+1] = markSOF2
	interlaced := asPNG(t, m)
	interlaced[28] = 1
	binary.BigEndian.PutUint32(interlaced[29:], crc32.ChecksumIEEE(interlaced[12:29]))
	for name, c := range map[string]struct{ got, want float64 }{
		"jpeg, subsampled": {of(photo), 1.5}, "progressive": {of(progressive), 7.5}, "png": {of(asPNG(t, m)), 4}, "interlaced": {of(interlaced), 8},
		"gray": {of(asJPEG(t, image.NewGray(m.Rect))), 1}, "16 bits": {of(asPNG(t, image.NewNRGBA64(m.Rect))), 8},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v bytes per pixel, want %v", name, c.got, c.want)
		}
	}
	// A picture must not get a lower estimate by hiding its real cost.
	frame := bytes.Index(progressive, []byte{0xff, markSOF2})
	hidden := func(mark byte) []byte {
		// A reader that takes the marker for the start of a segment skips the frame, which begins
		// with 0xffc2.
		lies := append(bytes.Clone(progressive[:frame]), 0xff, mark)
		return append(lies, progressive[frame:]...)
	}
	transparent := asPNG(t, image.NewGray(m.Rect))
	late := append(append(bytes.Clone(interlaced[:8]), "\x00\x00\x00\x11tEXt\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...), make([]byte, 4)...)
	binary.BigEndian.PutUint32(late[33:], crc32.ChecksumIEEE(late[12:33]))
	late = append(late, interlaced[8:]...)
	for name, c := range map[string]struct {
		content []byte
		least   float64
	}{
		"progressive behind a restart": {hidden(0xd3), 7.5}, "progressive behind a stuffed byte": {hidden(0), 7.5},
		"gray with a colour that is transparent": {transparent, 4}, "interlaced, said late": {late, 8},
	} {
		if got := of(c.content); got < c.least {
			t.Errorf("%s: %v bytes per pixel, want %v", name, got, c.least)
		}
	}
	p, err := readHead(bytes.NewReader(photo))
	if err != nil {
		t.Fatal(err)
	}
	if small, large := p.estimateMemory(square), p.estimateMemory(engine.ThumbnailKind{Width: 64}); large < small || small < 64*64*8 {
		t.Errorf("got %d bytes for a thumbnail as large as the picture and %d for a smaller one", large, small)
	}
	s := open(t, Config{Memory: 2 << 20}, square)
	if _, err := s.Thumbnail(context.Background(), put(t, s, asPNG(t, image.NewGray(image.Rect(0, 0, 1000, 1000)))), "small"); engine.CodeOf(err) != engine.NotFound || err == nil {
		t.Errorf("a picture beyond the memory: got %v, want NotFound", err)
	}
}

// TestKept checks that a thumbnail is made once, and made again if the size of its kind changes.
func TestKept(t *testing.T) {
	s := open(t, Config{}, square)
	f := put(t, s, asPNG(t, quarters(400, 400, red, green, blue, white)))
	tag := func(s *Storage) string {
		small, err := s.Thumbnail(context.Background(), f, "small")
		if err != nil {
			t.Fatal(err)
		}
		return small.Tag + errorText(small.Content.Close())
	}
	first := tag(s)
	s.limits.queue = 0 // no more thumbnails can be made
	if again := tag(s); again != first {
		t.Errorf("second thumbnail: got %s, want %s", again, first)
	}
	smaller := s.With([]engine.ThumbnailKind{{Name: "small", Width: 50}})
	if _, err := smaller.Thumbnail(context.Background(), f, "small"); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("a kind of another size: got %v, want a new thumbnail", err)
	}
	s.limits.queue = 1
	if again := tag(smaller); again == first {
		t.Error("two different thumbnails have the same tag")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestQueue checks that the number of waiting requests is limited, and that a request stops
// waiting when its context ends.
func TestQueue(t *testing.T) {
	s := open(t, Config{Waiting: 2, Time: 50 * time.Millisecond}, square)
	done, err := s.limits.waitForMemory(context.Background(), s.limits.most)
	if err != nil {
		t.Fatal(err)
	}
	f := put(t, s, asPNG(t, quarters(400, 400, red, green, blue, white)))
	if _, err := s.Thumbnail(context.Background(), f, "small"); engine.CodeOf(err) != engine.Timeout {
		t.Errorf("after the time limit: got %v, want Timeout", err)
	}
	s.limits.time = time.Minute
	var waits sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	waits.Go(func() {
		if _, err := s.Thumbnail(ctx, f, "small"); engine.CodeOf(err) != engine.Timeout {
			t.Errorf("after the end of the request: got %v, want Timeout", err)
		}
	})
	await(s, 2)
	var e *engine.Error
	if _, err := s.Thumbnail(context.Background(), f, "small"); !errors.As(err, &e) || e.Code != engine.Unavailable || e.RetryAfter == 0 {
		t.Errorf("with a full queue: got %v, want Unavailable with RetryAfter", err)
	}
	cancel()
	waits.Wait()
	done()
	if _, err := s.Thumbnail(context.Background(), f, "small"); err != nil {
		t.Errorf("after the queue: got %v, want a thumbnail", err)
	}
	if n := waiting(s); n != 0 || len(s.limits.lanes) != 0 {
		t.Errorf("at the end: got %d waiting in %d lanes, want 0", n, len(s.limits.lanes))
	}
}

func waiting(s *Storage) int {
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	return s.limits.waiting
}

func await(s *Storage, n int) {
	for waiting(s) < n {
		time.Sleep(time.Millisecond)
	}
}

// TestQueueOfOthers checks an account that requests many thumbnails at once: a request of another
// account waits for only a few of them.
func TestQueueOfOthers(t *testing.T) {
	const many = 20
	s := open(t, Config{Waiting: many}, square)
	as := func(id string) context.Context {
		return engine.WithAccount(context.Background(), &engine.Account{ID: id})
	}
	var waits sync.WaitGroup
	end := make(chan bool) // for one picture
	for range many {
		waits.Go(func() {
			done, err := s.limits.waitForMemory(as("many@local"), 0)
			if err != nil {
				t.Error(err)
				return
			}
			<-end
			done()
		})
	}
	await(s, many)
	if _, err := s.limits.waitForMemory(as("many@local"), 0); engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("with a full queue: got %v, want Unavailable", err)
	}
	other := make(chan bool)
	waits.Go(func() {
		done, err := s.limits.waitForMemory(as("one@local"), s.limits.most)
		if err != nil {
			t.Error(err)
		} else {
			done()
		}
		close(other)
	})
	await(s, many+1)
	ended := 0
	for waiting := true; waiting; {
		select {
		case <-other:
			waiting = false
		case <-time.After(20 * time.Millisecond): // time for the next request to get its turn
			end <- true
			ended++
		}
	}
	close(end)
	waits.Wait()
	if most := int(s.limits.atOnce) + many/4; ended > most {
		t.Errorf("%d images of another account were decoded first, want at most %d", ended, most)
	}
}

// TestConcurrentThumbnails checks that concurrent requests for one thumbnail all succeed.
func TestConcurrentThumbnails(t *testing.T) {
	s := open(t, Config{}, square)
	f := put(t, s, asJPEG(t, quarters(800, 800, red, green, blue, white)))
	var asks sync.WaitGroup
	for range 20 {
		asks.Go(func() {
			small, err := s.Thumbnail(context.Background(), f, "small")
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := jpeg.Decode(small.Content); err != nil {
				t.Error(err)
			}
			_ = small.Content.Close()
		})
	}
	asks.Wait()
}

// FuzzThumbnail checks that any content gives either a thumbnail or an error that blames the
// content, and never a crash, a timeout or a failure of the server.
func FuzzThumbnail(f *testing.F) {
	m := quarters(9, 7, red, green, blue, color.RGBA{})
	f.Add(asPNG(f, m))
	f.Add(asJPEG(f, m))
	f.Add(withEXIF(asJPEG(f, m), 6, binary.BigEndian))
	f.Add(encoded(f, func(w io.Writer) error { return gif.Encode(w, m, nil) }))
	f.Add(webpPicture)
	f.Fuzz(func(t *testing.T, content []byte) {
		r := bytes.NewReader(content)
		p, err := readHead(r)
		kind := engine.ThumbnailKind{Width: 5, Height: 5}
		if err == nil && p.estimateMemory(kind) <= 16<<20 {
			_, err = p.thumbnail(context.Background(), r, kind)
		}
		var u unusable
		if err != nil && !errors.As(err, &u) {
			t.Fatal(err)
		}
	})
}
