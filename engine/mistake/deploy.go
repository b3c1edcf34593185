package mistake

// Services.
var (
	ServiceModule     = rule(Deploy, "service-module", "A service whose module is no text, is an unknown builtin or is outside of the application directory", "the service answers 503")
	ServiceComponent  = rule(Deploy, "service-component", "A service whose options name a component that does not exist, or one that a plug-in or another entry of di would make", "the service answers 503")
	ServiceRepository = rule(Deploy, "service-repository", "A service acceptor without the options dataRepo and metaRepo", "the service answers 503")
	ServiceOptions    = rule(Deploy, "service-options", "A builtin service with options that it cannot work with", "the service answers 503")
	ServiceName       = rule(Deploy, "service-name", "A service whose name cannot stand in a URL", "there is no route to the service")
	ServiceAuthMode   = rule(Deploy, "service-auth-mode", "An authMode that is no text", "the service answers 401 to everyone")
)

// The plug-ins aclMetaMap, securedDataRepo and customProfile.
var (
	MetaMapClass     = rule(Deploy, "meta-map-class", "A class of aclMetaMap that does not exist", "the entry is left out")
	MetaMapSid       = rule(Deploy, "meta-map-sid", "An entry of aclMetaMap whose sidAttribute is missing or does not exist, or whose isEntry is no flag", "its objects match no account, and jumps from them stay")
	MetaMapJump      = rule(Deploy, "meta-map-jump", "A jump of aclMetaMap that is no reference or collection, or has a condition that cannot be evaluated", "the jump is left out")
	RoleMapClass     = rule(Deploy, "role-map-class", "A class of roleMap that does not exist", "its roles are left out")
	RoleMapSid       = rule(Deploy, "role-map-sid", "Something in roleMap that names no account or role", "it means no account: any of several goes by the others, and all of several means no account either")
	RoleMapRole      = rule(Deploy, "role-map-role", "A role of roleMap whose condition cannot be evaluated, or whose resource cannot be understood", "the role is given to no account")
	ProfileClass     = rule(Deploy, "profile-class", "A class of customProfile that does not exist", "the entry is left out")
	ProfileFilter    = rule(Deploy, "profile-filter", "An entry of customProfile whose filter names no account", "the entry is left out")
	ProfileProperty  = rule(Deploy, "profile-property", "A property of customProfile whose path leads nowhere", "accounts do not get the property")
	ProfileRecursion = rule(Deploy, "profile-recursion", "A recursion of customProfile whose attribute or path does not exist", "the recursion is left out")
	ProfileOAuth     = rule(Deploy, "profile-oauth", "The property oauth in customProfile, which would make accounts clients of OAuth2", "accounts do not get the property")
)

// Other parts of deploy.json.
var (
	OAuthClient   = rule(Deploy, "oauth-client", "Anything wrong in a client of OAuth2", "the client is left out")
	Gateway       = rule(Deploy, "gateway", "A gateway whose options are wrong", "the gateway is left out")
	GatewayPath   = rule(Deploy, "gateway-path", "A path in the definition of a gateway that is no path", "the path is left out")
	ThumbnailKind = rule(Deploy, "thumbnail-kind", "A kind of thumbnails without a name or a size", "the kind is left out")
)
