// core/IonError: an Error that has a code, parameters of its message and a cause. The message is the text for the
// code in the list "errors", in which the parameters are inserted. If the list has no such text, the code is the message. If
// the parameters are a text, that text is the message. A numeric code is an HTTP status, so that the response
// contains the phrase of the status.
'use strict';

const strings = require('core/strings');
require('#errors'); // defines the texts

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
