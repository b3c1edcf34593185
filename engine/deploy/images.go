package deploy

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// Images configures the thumbnails of images. It is read from the options of the plug-in
// imageStorage.
type Images struct {
	Thumbnails []engine.ThumbnailKind // default tiny, small, medium and preview: 50, 100, 300 and 500 pixels
	Memory     int64                  // limit for the total size of decoded pictures, in bytes; 0 for the default
}

func defaultImages() Images {
	square := func(name string, side int) engine.ThumbnailKind {
		return engine.ThumbnailKind{Name: name, Width: side, Height: side}
	}
	return Images{Thumbnails: []engine.ThumbnailKind{square("tiny", 50), square("small", 100), square("medium", 300), square("preview", 500)}}
}

// maxSide is the maximum side of a thumbnail, in pixels.
const maxSide = 4096

// readImages reads the options of imageStorage. An entry of thumbnails adds a kind of thumbnail,
// or replaces the default kind with the same name. memory limits the use of memory. Other
// options, with which IONDV chooses the folder of the files, have no effect.
func (l *loader) readImages(entries jsonfile.Object) {
	options := optionsOf(entries, "imageStorage")
	l.markRead(options.Path)
	l.config.given["imageStorage"] = given{options.Path, options.Fields}
	if n, ok := options.Whole("memory", 1<<20, 1<<40); ok {
		l.config.Images.Memory = n
	}
	kinds, _ := childOf(options, "thumbnails")
	kinds.WarnRepeated()
	for _, f := range kinds.Fields {
		if f.Value == nil {
			continue
		}
		before := len(*l.faults)
		if f.Name == "" || len(f.Name) > 64 || f.Name == "." || f.Name == ".." {
			kinds.Report(mistake.ThumbnailKind, kinds.At(f.Name), engine.Quote(f.Name), "a name for thumbnails, such as \"small\"")
			continue
		}
		kind, ok := thumbnailKind(kinds, f.Name)
		if !mistake.ThumbnailKind.Apply((*l.faults)[before:]) && ok {
			l.addThumbnail(kind)
		}
	}
}

// addThumbnail adds a kind of thumbnail. It replaces an existing kind with that name.
func (l *loader) addThumbnail(kind engine.ThumbnailKind) {
	all := &l.config.Images.Thumbnails
	i := slices.IndexFunc(*all, func(k engine.ThumbnailKind) bool { return k.Name == kind.Name })
	if i < 0 {
		*all = append(*all, kind)
		return
	}
	(*all)[i] = kind
}

func thumbnailKind(kinds jsonfile.Object, name string) (k engine.ThumbnailKind, ok bool) {
	o, ok := kinds.Child(name)
	if !ok {
		return k, false
	}
	o.WarnRepeated()
	o.WarnUnknown([]string{"width", "height", "format"})
	k.Name = name
	side := func(name string) int {
		n, _ := o.Whole(name, 1, maxSide)
		return int(n)
	}
	k.Width, k.Height = side("width"), side("height")
	if o.Value("width") == nil && o.Value("height") == nil {
		o.Fault(o.Path, "neither width nor height", "how many pixels a thumbnail may have, such as {\"width\": 100, \"height\": 100}")
		return k, false
	}
	switch format := o.Text("format"); format {
	case "", "png", "jpeg":
		k.Format = format
	case "jpg":
		k.Format = "jpeg"
	default:
		o.Warn(o.At("format"), engine.Quote(format), `"jpeg" or "png": what suits the picture is taken`)
	}
	return k, true
}
