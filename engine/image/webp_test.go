package image

import "encoding/binary"

// webpPicture is a lossless WebP of one color, half transparent red. Each code has only one
// symbol, so the pixels take no bits in the file.
var webpPicture = func() []byte {
	var data []byte
	var n int
	write := func(value uint32, bits int) {
		for i := range bits {
			if n%8 == 0 {
				data = append(data, 0)
			}
			data[n/8] |= byte(value>>i&1) << (n % 8)
			n++
		}
	}
	write(0x2f, 8)                                    // signature
	write(64-1, 14)                                   // width
	write(64-1, 14)                                   // height
	write(1, 1)                                       // with alpha
	write(0, 3)                                       // version
	write(0, 3)                                       // no transform, no color cache, no meta codes
	for _, symbol := range []uint32{0, 255, 0, 128} { // green, red, blue, alpha
		write(1, 1) // a simple code
		write(0, 1) // with one symbol
		write(1, 1) // of eight bits
		write(symbol, 8)
	}
	write(1, 1) // the code of distances: 0
	write(0, 3)
	if len(data)%2 != 0 {
		data = append(data, 0)
	}
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(12+len(data)))...)
	b = append(b, "WEBPVP8L"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
}()
