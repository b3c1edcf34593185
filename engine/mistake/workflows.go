package mistake

import "restsrv/engine"

// Workflows.
var (
	WorkflowName        = addRule(Workflows, "workflow-name", "A workflow without a name", "it has the name of its file")
	WorkflowClass       = addLeveled(engine.Warning, Workflows, "workflow-class-missing", "A workflow of a class that does not exist", "the workflow is left out")
	WorkflowList        = addRule(Workflows, "workflow-list-missing", "A workflow without states or transitions, or a transition without assignments", "there are none")
	StateEntry          = addRule(Workflows, "state-unnamed", "A state that is not an object or has no name", "it is left out")
	StateMissing        = addLeveled(engine.Warning, Workflows, "state-missing", "A workflow that should start in a state that does not exist, or a transition from or to such a state", "no object begins in it, and no account can make the transition")
	StateCondition      = addLeveled(engine.Warning, Workflows, "state-condition", "A condition of a state that cannot be evaluated", "it never holds when the state would permit something, and always holds when the state would deny something")
	ConditionAccount    = addLeveled(engine.Warning, Workflows, "condition-account", "A condition that compares with `$name`, if that is neither an attribute nor a property that customProfile gives accounts", "for accounts without such a property, the comparison never holds when the workflow would permit something, and always holds when it would deny something")
	StateAttribute      = addLeveled(engine.Warning, Workflows, "state-attribute-missing", "propertyPermissions or selectionProviders of a state that use an attribute that does not exist", "the entry has no effect")
	PropertyPermissions = addRule(Workflows, "property-permissions", "propertyPermissions of a state that cannot be understood", "the state keeps all attributes: no account may change them if only the state or a role of roleMap permits it")
	PermissionRole      = addLeveled(engine.Warning, Workflows, "permission-role", "A permission of a state without a role", "no account has it")
	TransitionEntry     = addRule(Workflows, "transition-unnamed", "A transition that is not an object or has no name", "it is left out: no account can make it")
	TransitionCondition = addLeveled(engine.Warning, Workflows, "transition-condition", "A condition of a transition that cannot be evaluated", "it never holds: no account can make the transition")
	TransitionRoles     = addLeveled(engine.Warning, Workflows, "transition-roles", "Roles of a transition that are not an array of names", "no account can make the transition")
	AssignmentTarget    = addLeveled(engine.Warning, Workflows, "assignment-attribute", "An assignment of a transition to an attribute that does not exist or is calculated", "the assignment is left out, and the transition does the rest")
	AssignmentValue     = addLeveled(engine.Warning, Workflows, "assignment-value", "An assignment of a value that the attribute cannot have", "no account can make the transition")
)

// ACLEntry is a mistake in a file of access rights.
var ACLEntry = addRule(Workflows, "acl-entry", "A file of the folder acl that cannot be read, or a role, an account or a resource in it that cannot be understood", "it is not taken")

// Navigation, views, masks and validators.
var (
	PresentationFile = addRule(Workflows, "presentation-file", "A file of the navigation, a view, an input mask or a validator that cannot be read, is not an object or has no name", "the file is left out")
	ViewPart         = addRule(Workflows, "view-part", "A part of a view that is not an object", "the part is left out")
)
