#!/usr/bin/env restsrv
// feature: hashbang line
// group: language
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  is(typeof probe, 'function');
});
