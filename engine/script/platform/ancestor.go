package platform

// ancestorModules returns the modules of IONDV that services require, by name. For framework 4, the name is the path
// of a file. For framework 5, it is the name of the package with the same contents.
func ancestorModules() map[string]module {
	all := map[string]module{
		"core/IonError":                           {file: "ancestor/IonError"},
		"core/strings":                            {file: "ancestor/strings"},
		"core/i18n":                               {file: "ancestor/i18n"},
		"core/util/normalize":                     {file: "ancestor/normalize"},
		"core/interfaces/DataRepository":          {file: "ancestor/data"},
		"core/interfaces/DataRepository/lib/util": {file: "ancestor/filters"},
		"core/interfaces/DataRepository/lib/Item": memberModule("core/interfaces/DataRepository", "Item"),
		"core/User":                               memberModule("core/interfaces/DataRepository", "User"),
		"core/impl/meta/keyProvider":              {file: "ancestor/keys"},
		"#errors":                                 {file: "ancestor/errors"},
		"#codes":                                  {file: "ancestor/codes"},
		"#packages":                               {file: "ancestor/packages"},
		"#request":                                {file: "ancestor/request"},
		"#stream":                                 {file: "ancestor/stream"},
		"modules/rest/errors/backend-errors":      memberModule("#errors", "rest.backend"),
		"modules/rest/lib/interfaces/Service":     {own: "Service"},
		"modules/rest/backend/multipart":          {file: "ancestor/multipart"},
		"modules/rest/backend/util":               {file: "ancestor/updates"},
	}
	for _, name := range []string{"FunctionCodes", "PropertyTypes", "Permissions", "UserTypes", "SortingModes", "DateTypes", "DateSizes"} {
		all["core/"+name] = memberModule("#codes", name)
	}
	for _, name := range errorBases {
		all["core/errors/"+name] = memberModule("#errors", name)
	}
	for _, name := range []string{"core", "i18n", "meta-model", "meta-model-contracts", "acl-contracts", "auth-contracts"} {
		all["@iondv/"+name] = memberModule("#packages", name)
	}
	return all
}

// errorBases are the names of the modules below core/errors.
var errorBases = []string{
	"auth", "conditions", "data-repo", "data-source", "file-storage", "front-end", "meta-repo", "validation", "workflow",
}

// memberModule returns a module whose exports are one member of the exports of another module. of is the name of the
// other module, and name is the name of the member.
func memberModule(of, name string) module { return module{of: of, member: name} }

// moduleSpellings maps names of modules in framework 5 to their names in framework 4. It does not list modules for
// which the new name is @iondv/ and the old name. It also contains the name with which the locales of moment require
// moment.
func moduleSpellings() map[string]string {
	all := map[string]string{
		"moment/moment":                                       "moment",
		"@iondv/core/classes/IonError":                        "core/IonError",
		"@iondv/core/utils/strings":                           "core/strings",
		"@iondv/meta-model/lib/datarepository/lib/util":       "core/interfaces/DataRepository/lib/util",
		"@iondv/meta-model/lib/datarepository/lib/Item":       "core/interfaces/DataRepository/lib/Item",
		"@iondv/meta-model/lib/meta/keyProvider":              "core/impl/meta/keyProvider",
		"@iondv/meta-model-contracts/lib/util/normalize":      "core/util/normalize",
		"@iondv/meta-model-contracts/lib/data/DataRepository": "core/interfaces/DataRepository",
		"@iondv/meta-model-contracts/lib/data/Item":           "core/interfaces/DataRepository/lib/Item",
		"@iondv/web/lib/errors/front-end":                     "core/errors/front-end",
		"@iondv/commons/lib/errors/file-storage":              "core/errors/file-storage",
	}
	for _, name := range []string{"FunctionCodes", "PropertyTypes", "SortingModes", "DateTypes", "DateSizes"} {
		all["@iondv/meta-model-contracts/lib/"+name] = "core/" + name
	}
	for _, name := range errorBases {
		all["@iondv/meta-model/lib/errors/"+name] = "core/errors/" + name
	}
	return all
}

var spellingTable = moduleSpellings()
