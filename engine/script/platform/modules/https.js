// https: the client of http for URLs that begin with https:.
'use strict';

const http = require('http');

function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  http.Agent.call(this, options);
  this.defaultPort = 443;
  this.protocol = 'https:';
  this.maxCachedSessions = this.options.maxCachedSessions === undefined ? 100 : this.options.maxCachedSessions;
}
Object.setPrototypeOf(Agent.prototype, http.Agent.prototype);
Object.setPrototypeOf(Agent, http.Agent);

module.exports = { Agent, ...http._makeClient('https:'), globalAgent: new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 }) };
