// cluster: this is the only process.
'use strict';

const EventEmitter = require('events');

module.exports = Object.assign(new EventEmitter(), {
  isWorker: false, isMaster: true, isPrimary: true, workers: {}, settings: {}, SCHED_NONE: 1, SCHED_RR: 2, schedulingPolicy: 2,
});
