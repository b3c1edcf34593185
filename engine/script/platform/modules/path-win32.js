// path/win32: the constants.
'use strict';

Object.assign(exports, { sep: '\\', delimiter: ';', posix: require('path'), win32: exports });
