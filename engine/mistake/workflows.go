package mistake

import "restsrv/engine"

// Workflows.
var (
	WorkflowName        = rule(Workflows, "workflow-name", "A workflow without a name", "it has the name of its file")
	WorkflowClass       = leveled(engine.Warning, Workflows, "workflow-class-missing", "A workflow of a class that does not exist", "the workflow is left out")
	WorkflowList        = rule(Workflows, "workflow-list-missing", "A workflow without states or transitions, or a transition without assignments", "there are none")
	StateEntry          = rule(Workflows, "state-unnamed", "A state that is no object or has no name", "it is left out")
	StateMissing        = leveled(engine.Warning, Workflows, "state-missing", "A state that does not exist, at the start of a workflow or at an end of a transition", "no object begins in it, and no account can make the transition")
	StateCondition      = leveled(engine.Warning, Workflows, "state-condition", "A condition of a state that cannot be evaluated", "it never holds for what the state permits, and always holds for what the state keeps from accounts")
	ConditionAccount    = leveled(engine.Warning, Workflows, "condition-account", "A condition that compares with `$name`, which is neither an attribute nor a property that customProfile gives accounts", "for accounts without such a property, the comparison never holds for what the workflow permits, and always holds for what it keeps from accounts")
	StateAttribute      = leveled(engine.Warning, Workflows, "state-attribute-missing", "An attribute that does not exist in propertyPermissions or selectionProviders of a state", "the entry has no effect")
	PropertyPermissions = rule(Workflows, "property-permissions", "propertyPermissions of a state that cannot be understood", "the state keeps all attributes: no account may change them by what the state or a role of roleMap permits")
	PermissionRole      = leveled(engine.Warning, Workflows, "permission-role", "A permission of a state without a role", "no account has it")
	TransitionEntry     = rule(Workflows, "transition-unnamed", "A transition that is no object or has no name", "it is left out: no account can make it")
	TransitionCondition = leveled(engine.Warning, Workflows, "transition-condition", "A condition of a transition that cannot be evaluated", "it never holds: no account can make the transition")
	TransitionRoles     = leveled(engine.Warning, Workflows, "transition-roles", "Roles of a transition that are no array of names", "no account can make the transition")
	AssignmentTarget    = leveled(engine.Warning, Workflows, "assignment-attribute", "An assignment of a transition to an attribute that does not exist or is calculated", "the assignment is left out, and the transition does the rest")
	AssignmentValue     = leveled(engine.Warning, Workflows, "assignment-value", "An assignment of a value that the attribute cannot have", "no account can make the transition")
)

// Access rights.
var ACLEntry = rule(Workflows, "acl-entry", "A file of the folder acl that cannot be read, or a role, an account or a resource in it that cannot be understood", "it is not taken")

// Navigation, views, masks and validators.
var (
	PresentationFile = rule(Workflows, "presentation-file", "A file of the navigation, a view, an input mask or a validator that cannot be read, is no object or has no name", "the file is left out")
	ViewPart         = rule(Workflows, "view-part", "A part of a view that is no object", "the part is left out")
)
