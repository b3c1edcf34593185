// constants: those of os and fs in one object.
'use strict';

const { errno, signals, priority, dlopen, files } = require('#errno');

Object.assign(exports, dlopen, errno, priority, signals, files, require('crypto').constants);
