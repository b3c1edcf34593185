package transpile

import (
	"errors"
	"slices"
	"strings"
	"unicode"
)

// sorted sorts s in place and merges ranges that overlap or touch.
func (s runeSet) sorted() runeSet {
	slices.SortFunc(s, func(a, b runeRange) int { return int(a.lo - b.lo) })
	out := s[:0]
	for _, r := range s {
		if last := len(out) - 1; last >= 0 && r.lo <= out[last].hi+1 {
			out[last].hi = max(out[last].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// property returns the characters with a property. The name is the text between the braces. It returns an error if the
// property does not exist or is not supported.
func property(name string) (runeSet, error) {
	key, value, ok := strings.Cut(name, "=")
	switch {
	case !ok:
		if s := category(name); s != nil {
			return s, nil
		}
		if make := binary[name]; make != nil {
			return make(), nil
		}
	case key == "General_Category" || key == "gc":
		if s := category(value); s != nil {
			return s, nil
		}
	case key == "Script" || key == "sc":
		if long, ok := scriptCodes[value]; ok {
			value = long
		}
		if t := unicode.Scripts[value]; t != nil {
			return union(t), nil
		}
	case key == "Script_Extensions" || key == "scx":
		return nil, errors.New(`\p{` + name + `}: Script_Extensions is not supported; Script=` + value + ` is, for characters of one script`)
	}
	return nil, errors.New(`\p{` + name + `}: there is no such property, or it is not supported`)
}

// category returns the characters of a general category, given by its short or long name, or nil if it does not
// exist.
func category(name string) runeSet {
	if long, ok := unicode.CategoryAliases[name]; ok {
		name = long
	}
	if t := unicode.Categories[name]; t != nil {
		return union(t)
	}
	return nil
}

func all() runeSet { return runeSet{{0, unicode.MaxRune}} }

// tables returns a function that makes the union of the tables.
func tables(list ...*unicode.RangeTable) func() runeSet {
	return func() runeSet { return union(list...) }
}

// ranges returns a function that makes the set of the ranges in pairs.
func ranges(pairs ...rune) func() runeSet {
	return func() runeSet {
		var s runeSet
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, runeRange{pairs[i], pairs[i+1]})
		}
		return s
	}
}

// binary lists the boolean properties by the names that ECMAScript gives them.
var binary = withShortNames(map[string]func() runeSet{
	"Any":                     all,
	"ASCII":                   ranges(0, 0x7F),
	"Assigned":                func() runeSet { return category("Cn").inverted() },
	"Alphabetic":              tables(unicode.L, unicode.Nl, unicode.Other_Alphabetic),
	"Lowercase":               tables(unicode.Ll, unicode.Other_Lowercase),
	"Uppercase":               tables(unicode.Lu, unicode.Other_Uppercase),
	"Cased":                   tables(unicode.Ll, unicode.Lu, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase),
	"White_Space":             tables(unicode.White_Space),
	"Math":                    tables(unicode.Sm, unicode.Other_Math),
	"ASCII_Hex_Digit":         tables(unicode.ASCII_Hex_Digit),
	"Hex_Digit":               tables(unicode.Hex_Digit),
	"Dash":                    tables(unicode.Dash),
	"Deprecated":              tables(unicode.Deprecated),
	"Diacritic":               tables(unicode.Diacritic),
	"Extender":                tables(unicode.Extender),
	"Ideographic":             tables(unicode.Ideographic),
	"Unified_Ideograph":       tables(unicode.Unified_Ideograph),
	"Radical":                 tables(unicode.Radical),
	"Join_Control":            tables(unicode.Join_Control),
	"Logical_Order_Exception": tables(unicode.Logical_Order_Exception),
	"Noncharacter_Code_Point": tables(unicode.Noncharacter_Code_Point),
	"Pattern_Syntax":          tables(unicode.Pattern_Syntax),
	"Pattern_White_Space":     tables(unicode.Pattern_White_Space),
	"Quotation_Mark":          tables(unicode.Quotation_Mark),
	"Regional_Indicator":      tables(unicode.Regional_Indicator),
	"Sentence_Terminal":       tables(unicode.STerm),
	"Soft_Dotted":             tables(unicode.Soft_Dotted),
	"Terminal_Punctuation":    tables(unicode.Terminal_Punctuation),
	"Variation_Selector":      tables(unicode.Variation_Selector),
	"Grapheme_Extend":         tables(unicode.Me, unicode.Mn, unicode.Other_Grapheme_Extend),
	"ID_Start":                idStart,
	"ID_Continue": func() runeSet {
		return append(idStart(), union(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue).
			without(union(unicode.Pattern_Syntax, unicode.Pattern_White_Space))...).sorted()
	},
	"Emoji":                 ranges(emoji...),
	"Emoji_Presentation":    ranges(emojiPresentation...),
	"Emoji_Modifier":        ranges(0x1F3FB, 0x1F3FF),
	"Emoji_Modifier_Base":   ranges(emojiModifierBase...),
	"Emoji_Component":       ranges('#', '#', '*', '*', '0', '9', 0x200D, 0x200D, 0x20E3, 0x20E3, 0xFE0F, 0xFE0F, 0x1F1E6, 0x1F1FF, 0x1F3FB, 0x1F3FF, 0x1F9B0, 0x1F9B3, 0xE0020, 0xE007F),
	"Extended_Pictographic": ranges(extendedPictographic...),
}, map[string]string{
	"Alpha": "Alphabetic", "Lower": "Lowercase", "Upper": "Uppercase", "space": "White_Space", "AHex": "ASCII_Hex_Digit", "Hex": "Hex_Digit",
	"Dep": "Deprecated", "Dia": "Diacritic", "Ext": "Extender", "Ideo": "Ideographic", "UIdeo": "Unified_Ideograph", "Join_C": "Join_Control",
	"LOE": "Logical_Order_Exception", "NChar": "Noncharacter_Code_Point", "Pat_Syn": "Pattern_Syntax", "Pat_WS": "Pattern_White_Space",
	"QMark": "Quotation_Mark", "RI": "Regional_Indicator", "STerm": "Sentence_Terminal", "SD": "Soft_Dotted", "Term": "Terminal_Punctuation",
	"VS": "Variation_Selector", "Gr_Ext": "Grapheme_Extend", "IDS": "ID_Start", "IDC": "ID_Continue",
	"EPres": "Emoji_Presentation", "EMod": "Emoji_Modifier", "EBase": "Emoji_Modifier_Base", "EComp": "Emoji_Component", "ExtPict": "Extended_Pictographic",
})

func idStart() runeSet {
	return union(unicode.L, unicode.Nl, unicode.Other_ID_Start).without(union(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
}

func withShortNames(all map[string]func() runeSet, short map[string]string) map[string]func() runeSet {
	for s, long := range short {
		all[s] = all[long]
	}
	return all
}

// scriptCodes maps the short names of common scripts to their long names. Other scripts have long names only.
var scriptCodes = map[string]string{
	"Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Bopo": "Bopomofo", "Brai": "Braille", "Cher": "Cherokee", "Copt": "Coptic",
	"Cyrl": "Cyrillic", "Deva": "Devanagari", "Ethi": "Ethiopic", "Geor": "Georgian", "Glag": "Glagolitic", "Goth": "Gothic", "Grek": "Greek",
	"Gujr": "Gujarati", "Guru": "Gurmukhi", "Hang": "Hangul", "Hani": "Han", "Hebr": "Hebrew", "Hira": "Hiragana", "Kana": "Katakana",
	"Khmr": "Khmer", "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin", "Mlym": "Malayalam", "Mong": "Mongolian", "Mymr": "Myanmar",
	"Orya": "Oriya", "Runr": "Runic", "Sinh": "Sinhala", "Syrc": "Syriac", "Taml": "Tamil", "Telu": "Telugu", "Thaa": "Thaana", "Thai": "Thai",
	"Tibt": "Tibetan", "Yiii": "Yi", "Zinh": "Inherited", "Zyyy": "Common",
}
