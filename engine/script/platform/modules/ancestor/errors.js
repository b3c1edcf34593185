// The codes of errors, core/errors/*, and their texts. A code is the name of its list and a suffix: ITEM_NOT_FOUND
// of data-repo is data-repo.inf.
'use strict';

const { registerBase } = require('core/strings');

const lists = {
  'auth': {
    NO_DS: ['nods', 'There is no data source for accounts.'],
    FORBID: ['forbid', 'The account may not sign in.'],
    TMP_BLOCK: ['tmpb', 'The account is blocked until %d.'],
    FAIL: ['fail', 'The sign-in failed.'],
    LACK_PWD: ['lackpwd', 'The account has no password.'],
    UNAVAILABLE: ['unavail', 'Nobody can sign in at the moment.'],
    NO_PWD: ['nopwd', 'There is no password.'],
    INTERNAL_ERR: ['500', 'Internal server error'],
    BAD_PWD_REPEAT: ['bpwdr', 'The passwords differ.'],
    MIN_PWD_LENGTH: ['mpwdl', 'A password has at least %p characters.'],
    PRIOR_PWD: ['priorpwd', 'The password was one of the last %p.'],
    WEAK_PWD: ['weakpwd', 'The password is too simple. It must have '],
    UPPER_LOWER: ['uplower', 'upper and lower case letters'],
    NUMBERS: ['numbers', 'digits'],
    SPECIAL: ['special', 'special characters such as @, $ and &'],
    AND: ['and', 'and'],
    REG_BAN: ['regban', 'Nobody can register.'],
    REG_FAIL: ['regfail', 'The account could not be registered.'],
    EDIT_USER_FAIL: ['euf', 'The account could not be changed.'],
    PWD_BAN_NOT_FINISHED: ['pbnf', 'The password may not be changed yet.'],
    NOT_AUTHENTICATED: ['notauthent', 'Nobody is signed in.'],
    USER_BAN: ['usrban', 'The account is disabled.'],
    BAD_USER_ID: ['badid', 'The account has no usable name.'],
    EXT_AUTH_FAIL: ['extauthfail', 'The account of the other system could not be registered.'],
    NO_STRATEGY: ['nostrategy', 'There is no way to sign in by %nm.'],
  },
  'conditions': {
    NON_APPLICABLE: ['non_applicable', 'The condition does not apply.'],
    ATTR_NOT_FOUND: ['attr_not_found', 'The condition names an attribute that does not exist.'],
    INVALID_AGGREG: ['invalid_aggreg', 'The aggregation is malformed.'],
    INVALID_CONDITION: ['invalid_cond', 'The condition is malformed.'],
    INVALID_OPERATION: ['invalid_oper', 'The condition names an operation that does not exist.'],
    NO_ARGS: ['no_args', 'The condition lacks arguments.'],
  },
  'data-repo': {
    ITEM_EXISTS: ['exists', "%class with this '%attr' exists already."],
    ITEM_EXISTS_MULTI: ['iem', "%class with these '%attr' exists already."],
    ITEM_NOT_FOUND: ['inf', "Object '%info' was not found."],
    EXISTS_IN_COL: ['eic', "Object '%info' is in the collection '%col' already."],
    BAD_PARAMS: ['bp', "The arguments of '%method' are wrong."],
    FILE_ATTR_SAVE: ['fas', "File attribute '%attr' of object '%info' could not be saved."],
    FILE_ATTR_LOAD: ['fal', "File attribute '%attr' could not be loaded."],
    NO_COLLECTION: ['nocol', "Object %info has no collection '%attr'."],
    INVALID_META: ['im', "The class of object '%info' is wrong."],
    COMPOSITE_KEY: ['ck', "'%oper' does not work with keys of several attributes."],
    CONTAINER_NOT_FOUND: ['cnf', 'The container was not found.'],
    FAIL: ['fail', "'%operation' of object '%info' failed."],
    MISSING_REQUIRED: ['mr', 'Required attributes are missing: %info.'],
    NO_KEY_SPEC: ['nkv', 'A key attribute is missing: %info.'],
    NO_BACK_REF: ['nbr', 'Back reference %backRef has no attribute %backAttr.'],
    UNEXPECTED_ASYNC: ['ueasync', 'A value is not known at once.'],
    PERMISSION_LACK: ['noperm', 'Access denied'],
  },
  'data-source': {
    UNIQUENESS_VIOLATION: ['uv', 'A value that must be unique exists already.'],
    BAD_QUERY: ['bq', 'The query is malformed.'],
    OPER_FAILED: ['of', 'The operation of the database failed.'],
  },
  'file-storage': {
    BAD_DATA: ['bd', 'The content of the file is no content.'],
    NO_DIR: ['nd', 'The folder was not found.'],
    NO_FILE: ['nf', 'The file was not found.'],
  },
  'front-end': {
    ACCESS_DENIED: ['403', 'Access denied'],
  },
  'meta-repo': {
    NO_CLASS: ['nc', "Class '%class' was not found."],
    NO_ATTR: ['na', "Attribute '%attr' was not found."],
    NO_VIEW: ['nv', "View '%view' was not found."],
    NO_WORKFLOW: ['nw', "Workflow '%workflow' was not found."],
  },
  'workflow': {
    WORKFLOW_NOT_FOUND: ['wnf', "Workflow '%workflow' was not found."],
    TRANS_ERROR: ['te', "Transition '%trans' failed."],
    STATE_NOT_FOUND: ['snf', "Workflow '%workflow' has no state '%state'."],
    CONDITION_VIOLATION: ['cv', "Object '%info' does not meet the conditions of state '%state' of workflow '%workflow'."],
    NOT_IN_WORKFLOW: ['nw', "Object '%info' is not in workflow '%workflow'."],
    TRANS_IMPOSSIBLE: ['ti', "Transition '%trans' of workflow '%workflow' is not possible."],
    TRANS_NOT_FOUND: ['tnf', "Workflow '%workflow' has no transition '%trans'."],
    IN_WORKFLOW: ['iw', "The object is in workflow '%workflow' already."],
    ACCESS_DENIED: ['iw'],
  },
  'rest.backend': {
    NOT_FOUND_CONV: ['notfoundconv', 'There is no such converter.'],
    WRONG_OPTIONS: ['wrongoptions', 'The options are wrong.'],
    HTTP_401: ['401', 'Unauthorized'],
    HTTP_403: ['403', 'Access denied'],
    HTTP_404: ['404', 'Object not found!'],
    HTTP_500: ['500', 'Internal server error'],
  },
};

for (const list of Object.keys(lists)) {
  exports[list] = {};
  const texts = {};
  for (const name of Object.keys(lists[list])) {
    const [suffix, text] = lists[list][name];
    exports[list][name] = list + '.' + suffix;
    if (text) {
      texts[list + '.' + suffix] = text;
    }
  }
  registerBase('errors', texts);
}

const wrong = (kind) => 'validation.iv.' + kind;
exports.validation = {
  INCORRECT_VALUE: {
    INT: wrong('int'), REAL: wrong('rl'), DECIMAL: wrong('dcml'), DATETIME: wrong('dt'), PERIOD: wrong('prd'), DEFAULT: wrong('def'),
  },
};
