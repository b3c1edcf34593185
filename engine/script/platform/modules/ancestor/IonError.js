// core/IonError: an Error with a code, the parameters of its message and a
// cause. The message is the text that the code has in the list "errors", with
// the parameters filled in; a code without a text is the message itself, so
// that a numeric code, which is an HTTP status, has the phrase of that status
// as its answer. Text in the place of the parameters is the message.
'use strict';

const strings = require('core/strings');
require('#errors'); // the texts

const hidden = (value) => ({ value, writable: true, configurable: true, enumerable: false });

function messageOf(code, params, cause, lang) {
  return strings.s('errors', code, params, lang) || (cause && cause.message) || 'Unknown error';
}

function IonError(code, params, cause) {
  const error = Reflect.construct(Error, [], new.target || IonError);
  const text = typeof params === 'string' ? params : undefined;
  error.code = code;
  error.cause = cause;
  error.params = text === undefined ? params || {} : {};
  Object.defineProperty(error, 'message', hidden(text === undefined ? messageOf(code, params, cause) : text));
  if (text !== undefined) {
    Object.defineProperty(error, 'getMessage', hidden(() => text));
  }
  return error;
}

IonError.prototype = Object.create(Error.prototype, {
  constructor: hidden(IonError),
  name: hidden('IonError'),
  getMessage: hidden(function getMessage(lang) {
    return messageOf(this.code, this.params, this.cause, lang);
  }),
});

IonError.registerMessages = (texts, lang) => {
  if (texts) {
    strings.registerBase('errors', texts, lang);
  }
};

module.exports = IonError;
