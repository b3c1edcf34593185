package image

import (
	"bufio"
	"encoding/binary"
	"image/color"
	"io"
)

// jpegHead contains data from the segments that precede the pixels in a JPEG file.
type jpegHead struct {
	orientation int     // from EXIF, 1 to 8; 0 if unknown
	samples     float64 // number of samples per pixel
	progressive bool    // the decoder must keep all coefficients in memory until the end
}

// jpegCost returns the memory for decoding a JPEG, in bytes per pixel. It counts one byte for each sample and four
// bytes for each coefficient of a progressive image. If the color model is not YCbCr or gray, it counts a second
// picture.
func jpegCost(p *picture) float64 {
	cost, progressive := p.jpeg.samples, p.jpeg.progressive
	if cost == 0 {
		cost, progressive = 4, true // unknown: assume the maximum
	}
	if progressive {
		cost += 4 * cost
	}
	if p.model != color.YCbCrModel && p.model != color.GrayModel {
		cost += 4
	}
	return cost
}

// Markers of JPEG (ITU-T T.81, B.1).
const (
	markSOF0  = 0xc0 // baseline; other frames have numbers up to 0xcf, except for the three below
	markSOF2  = 0xc2 // progressive
	markDHT   = 0xc4
	markJPG   = 0xc8
	markDAC   = 0xcc
	markSOF15 = 0xcf
	markRST0  = 0xd0
	markRST7  = 0xd7
	markSOS   = 0xda
	markAPP1  = 0xe1
)

// readJPEGHead reads the segments until it finds the size of the picture. It stops at malformed
// data, for which the decoder will return an error later.
func readJPEGHead(r *bufio.Reader) (h jpegHead) {
	if _, err := r.Discard(2); err != nil {
		return h
	}
	for {
		mark, err := nextMark(r)
		if err != nil || mark == markSOS {
			return h
		}
		if mark == 0 || mark >= markRST0 && mark <= markRST7 {
			continue // has no length; the decoder skips it as well
		}
		var length [2]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return h
		}
		n := int(binary.BigEndian.Uint16(length[:])) - 2
		frame := mark >= markSOF0 && mark <= markSOF15 && mark != markDHT && mark != markJPG && mark != markDAC
		switch {
		case n < 0:
			return h
		case frame, mark == markAPP1 && h.orientation == 0:
			segment := make([]byte, n)
			if _, err := io.ReadFull(r, segment); err != nil {
				return h
			}
			if frame {
				h.progressive, h.samples = mark == markSOF2, samplesOf(segment)
				continue // EXIF may follow
			}
			h.orientation = orientationOf(segment)
		default:
			if _, err := r.Discard(n); err != nil {
				return h
			}
		}
	}
}

// nextMark returns the next marker. A marker is a byte that follows one or more bytes 0xff.
func nextMark(r *bufio.Reader) (byte, error) {
	b, err := r.ReadByte()
	for err == nil && b != 0xff {
		b, err = r.ReadByte()
	}
	for err == nil && b == 0xff {
		b, err = r.ReadByte()
	}
	return b, err
}

// samplesOf returns the number of samples per pixel from a frame segment: three if colors have full resolution, 1.5
// for the images of most cameras.
func samplesOf(frame []byte) float64 {
	const first, each = 6, 3 // bytes before the components, and bytes of a component
	var widest, highest, all float64
	for at := first; at+each <= len(frame) && at < first+4*each; at += each {
		w, h := float64(frame[at+1]>>4), float64(frame[at+1]&15)
		widest, highest, all = max(widest, w), max(highest, h), all+w*h
	}
	if len(frame) == first+each || widest*highest == 0 {
		return 1
	}
	return all / (widest * highest)
}

// orientationOf returns the orientation from an EXIF segment, or 0 if the segment does not contain one.
func orientationOf(segment []byte) int {
	const (
		head        = "Exif\x00\x00"
		orientation = 0x0112
		short       = 3
		entry       = 12 // bytes
	)
	if len(segment) < len(head)+8 || string(segment[:len(head)]) != head {
		return 0
	}
	tiff := segment[len(head):]
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entry {
			return 0
		}
		if order.Uint16(entries) == orientation && order.Uint16(entries[2:]) == short {
			if v := int(order.Uint16(entries[8:])); v >= 1 && v <= 8 {
				return v
			}
			return 0
		}
		entries = entries[entry:]
	}
	return 0
}
