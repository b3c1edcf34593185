package mistake

// Services in deploy.json.
var (
	ServiceModule     = addRule(Deploy, "service-module", "A service with a module that is not text, is an unknown builtin or is outside of the application directory", "the service answers 503")
	ServiceComponent  = addRule(Deploy, "service-component", "A service that should use a component that does not exist, or one that a plug-in or another entry of di would create", "the service answers 503")
	ServiceRepository = addRule(Deploy, "service-repository", "A service acceptor without the options dataRepo and metaRepo", "the service answers 503")
	ServiceOptions    = addRule(Deploy, "service-options", "A builtin service with options that it cannot use", "the service answers 503")
	ServiceName       = addRule(Deploy, "service-name", "A service with a name that cannot be used in a URL", "there is no route to the service")
	ServiceAuthMode   = addRule(Deploy, "service-auth-mode", "An authMode that is not text", "the service answers 401 to everyone")
)

// Options of the plug-ins aclMetaMap, securedDataRepo and customProfile.
var (
	MetaMapClass     = addRule(Deploy, "meta-map-class", "A class of aclMetaMap that does not exist", "the entry is left out")
	MetaMapSid       = addRule(Deploy, "meta-map-sid", "An entry of aclMetaMap without a sidAttribute, with one that does not exist, or with an isEntry that is not a flag", "its objects match no account, and jumps from them stay")
	MetaMapJump      = addRule(Deploy, "meta-map-jump", "A jump of aclMetaMap that is not a reference or collection, or that has a condition that cannot be evaluated", "the jump is left out")
	RoleMapClass     = addRule(Deploy, "role-map-class", "A class of roleMap that does not exist", "its roles are left out")
	RoleMapSid       = addRule(Deploy, "role-map-sid", "A value in roleMap that does not name an account or role", "it stands for no account: a list of alternatives uses its other entries, and a list of requirements matches no account")
	RoleMapRole      = addRule(Deploy, "role-map-role", "A role of roleMap with a condition that cannot be evaluated, or with a resource that cannot be understood", "the role is given to no account")
	ProfileClass     = addRule(Deploy, "profile-class", "A class of customProfile that does not exist", "the entry is left out")
	ProfileFilter    = addRule(Deploy, "profile-filter", "An entry of customProfile with a filter that is not an attribute which names accounts", "the entry is left out")
	ProfileProperty  = addRule(Deploy, "profile-property", "A property of customProfile that uses a path that cannot be followed", "accounts do not get the property")
	ProfileRecursion = addRule(Deploy, "profile-recursion", "A recursion of customProfile that uses an attribute or path that does not exist", "the recursion is left out")
	ProfileOAuth     = addRule(Deploy, "profile-oauth", "The property oauth in customProfile, which would make accounts clients of OAuth2", "accounts do not get the property")
)

// Other parts of deploy.json.
var (
	OAuthClient   = addRule(Deploy, "oauth-client", "Any mistake in the definition of a client of OAuth2", "the client is left out")
	Gateway       = addRule(Deploy, "gateway", "A gateway with wrong options", "the gateway is left out")
	GatewayPath   = addRule(Deploy, "gateway-path", "An entry in the paths of a gateway definition that cannot be used as a path", "the path is left out")
	ThumbnailKind = addRule(Deploy, "thumbnail-kind", "A kind of thumbnails without a name or a size", "the kind is left out")
)
