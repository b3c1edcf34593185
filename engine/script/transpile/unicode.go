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

// propertySet returns the characters with a Unicode property. name is the text between the braces of \p{..}. It
// returns an error if the property does not exist or is not supported.
func propertySet(name string) (runeSet, error) {
	key, value, ok := strings.Cut(name, "=")
	switch {
	case !ok:
		if s := categorySet(name); s != nil {
			return s, nil
		}
		if make := binary[name]; make != nil {
			return make(), nil
		}
	case key == "General_Category" || key == "gc":
		if s := categorySet(value); s != nil {
			return s, nil
		}
	case key == "Script" || key == "sc":
		if long, ok := scriptCodes[value]; ok {
			value = long
		}
		if t := unicode.Scripts[value]; t != nil {
			return unionOf(t), nil
		}
	case key == "Script_Extensions" || key == "scx":
		return nil, errors.New(`\p{` + name + `}: Script_Extensions is not supported; Script=` + value + ` is, for characters of one script`)
	}
	return nil, errors.New(`\p{` + name + `}: there is no such property, or it is not supported`)
}

// categorySet returns the characters of a general category such as Lu or Uppercase_Letter, or nil if there is no such
// category.
func categorySet(name string) runeSet {
	if long, ok := unicode.CategoryAliases[name]; ok {
		name = long
	}
	if t := unicode.Categories[name]; t != nil {
		return unionOf(t)
	}
	return nil
}

func allRunes() runeSet { return runeSet{{0, unicode.MaxRune}} }

// tableSet returns a function that returns the characters of all tables in list.
func tableSet(list ...*unicode.RangeTable) func() runeSet {
	return func() runeSet { return unionOf(list...) }
}

// rangeSet returns a function that returns the characters in the given ranges. pairs contains the first and the last
// character of each range.
func rangeSet(pairs ...rune) func() runeSet {
	return func() runeSet {
		var s runeSet
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, runeRange{pairs[i], pairs[i+1]})
		}
		return s
	}
}

// binary contains the properties that are true or false for a character, by the names that ECMAScript defines.
var binary = withShortNames(map[string]func() runeSet{
	"Any":                     allRunes,
	"ASCII":                   rangeSet(0, 0x7F),
	"Assigned":                func() runeSet { return categorySet("Cn").inverted() },
	"Alphabetic":              tableSet(unicode.L, unicode.Nl, unicode.Other_Alphabetic),
	"Lowercase":               tableSet(unicode.Ll, unicode.Other_Lowercase),
	"Uppercase":               tableSet(unicode.Lu, unicode.Other_Uppercase),
	"Cased":                   tableSet(unicode.Ll, unicode.Lu, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase),
	"White_Space":             tableSet(unicode.White_Space),
	"Math":                    tableSet(unicode.Sm, unicode.Other_Math),
	"ASCII_Hex_Digit":         tableSet(unicode.ASCII_Hex_Digit),
	"Hex_Digit":               tableSet(unicode.Hex_Digit),
	"Dash":                    tableSet(unicode.Dash),
	"Deprecated":              tableSet(unicode.Deprecated),
	"Diacritic":               tableSet(unicode.Diacritic),
	"Extender":                tableSet(unicode.Extender),
	"Ideographic":             tableSet(unicode.Ideographic),
	"Unified_Ideograph":       tableSet(unicode.Unified_Ideograph),
	"Radical":                 tableSet(unicode.Radical),
	"Join_Control":            tableSet(unicode.Join_Control),
	"Logical_Order_Exception": tableSet(unicode.Logical_Order_Exception),
	"Noncharacter_Code_Point": tableSet(unicode.Noncharacter_Code_Point),
	"Pattern_Syntax":          tableSet(unicode.Pattern_Syntax),
	"Pattern_White_Space":     tableSet(unicode.Pattern_White_Space),
	"Quotation_Mark":          tableSet(unicode.Quotation_Mark),
	"Regional_Indicator":      tableSet(unicode.Regional_Indicator),
	"Sentence_Terminal":       tableSet(unicode.STerm),
	"Soft_Dotted":             tableSet(unicode.Soft_Dotted),
	"Terminal_Punctuation":    tableSet(unicode.Terminal_Punctuation),
	"Variation_Selector":      tableSet(unicode.Variation_Selector),
	"Grapheme_Extend":         tableSet(unicode.Me, unicode.Mn, unicode.Other_Grapheme_Extend),
	"ID_Start":                idStart,
	"ID_Continue": func() runeSet {
		return append(idStart(), unionOf(unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue).
			without(unionOf(unicode.Pattern_Syntax, unicode.Pattern_White_Space))...).sorted()
	},
	"Emoji":                 rangeSet(emoji...),
	"Emoji_Presentation":    rangeSet(emojiPresentation...),
	"Emoji_Modifier":        rangeSet(0x1F3FB, 0x1F3FF),
	"Emoji_Modifier_Base":   rangeSet(emojiModifierBase...),
	"Emoji_Component":       rangeSet('#', '#', '*', '*', '0', '9', 0x200D, 0x200D, 0x20E3, 0x20E3, 0xFE0F, 0xFE0F, 0x1F1E6, 0x1F1FF, 0x1F3FB, 0x1F3FF, 0x1F9B0, 0x1F9B3, 0xE0020, 0xE007F),
	"Extended_Pictographic": rangeSet(extendedPictographic...),
}, map[string]string{
	"Alpha": "Alphabetic", "Lower": "Lowercase", "Upper": "Uppercase", "space": "White_Space", "AHex": "ASCII_Hex_Digit", "Hex": "Hex_Digit",
	"Dep": "Deprecated", "Dia": "Diacritic", "Ext": "Extender", "Ideo": "Ideographic", "UIdeo": "Unified_Ideograph", "Join_C": "Join_Control",
	"LOE": "Logical_Order_Exception", "NChar": "Noncharacter_Code_Point", "Pat_Syn": "Pattern_Syntax", "Pat_WS": "Pattern_White_Space",
	"QMark": "Quotation_Mark", "RI": "Regional_Indicator", "STerm": "Sentence_Terminal", "SD": "Soft_Dotted", "Term": "Terminal_Punctuation",
	"VS": "Variation_Selector", "Gr_Ext": "Grapheme_Extend", "IDS": "ID_Start", "IDC": "ID_Continue",
	"EPres": "Emoji_Presentation", "EMod": "Emoji_Modifier", "EBase": "Emoji_Modifier_Base", "EComp": "Emoji_Component", "ExtPict": "Extended_Pictographic",
})

func idStart() runeSet {
	return unionOf(unicode.L, unicode.Nl, unicode.Other_ID_Start).without(unionOf(unicode.Pattern_Syntax, unicode.Pattern_White_Space))
}

func withShortNames(all map[string]func() runeSet, short map[string]string) map[string]func() runeSet {
	for s, long := range short {
		all[s] = all[long]
	}
	return all
}

// scriptCodes maps the short names of common scripts (writing systems) to their long names. Other scripts are known
// by their long names only.
var scriptCodes = map[string]string{
	"Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Bopo": "Bopomofo", "Brai": "Braille", "Cher": "Cherokee", "Copt": "Coptic",
	"Cyrl": "Cyrillic", "Deva": "Devanagari", "Ethi": "Ethiopic", "Geor": "Georgian", "Glag": "Glagolitic", "Goth": "Gothic", "Grek": "Greek",
	"Gujr": "Gujarati", "Guru": "Gurmukhi", "Hang": "Hangul", "Hani": "Han", "Hebr": "Hebrew", "Hira": "Hiragana", "Kana": "Katakana",
	"Khmr": "Khmer", "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin", "Mlym": "Malayalam", "Mong": "Mongolian", "Mymr": "Myanmar",
	"Orya": "Oriya", "Runr": "Runic", "Sinh": "Sinhala", "Syrc": "Syriac", "Taml": "Tamil", "Telu": "Telugu", "Thaa": "Thaana", "Thai": "Thai",
	"Tibt": "Tibetan", "Yiii": "Yi", "Zinh": "Inherited", "Zyyy": "Common",
}
