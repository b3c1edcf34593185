package postgres

import (
	"fmt"
	"strconv"
)

// formatArray formats values as the text of a one-dimensional array. Each value must be nil, a string, an int64, a
// float64 or a bool.
func formatArray(list []any) string {
	size := 2
	for _, v := range list {
		if s, ok := v.(string); ok {
			size += len(s) + 3
			continue
		}
		size += 8
	}
	b := append(make([]byte, 0, size), '{')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendElement(b, v)
	}
	return string(append(b, '}'))
}

func appendElement(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "NULL"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		b = append(b, '"')
		from := 0
		for i := 0; i < len(v); i++ {
			if v[i] == '"' || v[i] == '\\' {
				b = append(append(b, v[from:i]...), '\\')
				from = i
			}
		}
		return append(append(b, v[from:]...), '"')
	}
	panic(fmt.Sprintf("no column holds a %T", v))
}
