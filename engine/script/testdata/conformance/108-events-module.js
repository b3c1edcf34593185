// feature: events: EventEmitter
// group: module
const { probe } = require('./check.js');

const EventEmitter = require('events');

module.exports = probe(async ({ is, throws }) => {
  class Mine extends EventEmitter {}
  const e = new Mine(), seen = [];
  e.on('x', (a) => seen.push('on' + a)).once('x', () => seen.push('once')).prependListener('x', () => seen.push('first'));
  is([e.emit('x', 1), e.emit('x', 2), e.emit('none')], [true, true, false]);
  is(seen, ['first', 'on1', 'once', 'first', 'on2']);
  is([e.listenerCount('x'), e.eventNames()], [2, ['x']]);
  e.removeAllListeners();
  is(e.emit('x'), false);
  throws(() => e.emit('error', new RangeError('r')), 'RangeError');
  setTimeout(() => e.emit('ready', 5), 1);
  is(await EventEmitter.once(e, 'ready'), [5]);
  is([EventEmitter.EventEmitter === EventEmitter, EventEmitter.defaultMaxListeners], [true, 10]);
  function Old() { EventEmitter.call(this); }
  require('util').inherits(Old, EventEmitter);
  let got;
  const old = new Old(); old.on('y', function (v) { got = [this === old, v]; }); old.emit('y', 3);
  is(got, [true, 3]);
});
