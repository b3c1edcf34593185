// The methods that depend on a locale. The engine's own methods ignore it.
define(Number.prototype, { toLocaleString(locales, options) { return native.numberText(Number.prototype.valueOf.call(this), locales, options); } });
define(BigInt.prototype, { toLocaleString(locales, options) { return native.numberText(BigInt.prototype.valueOf.call(this), locales, options); } });
define(Date.prototype, {
  toLocaleString(locales, options) { return native.dateText(this, 'any', 'all', locales, options); },
  toLocaleDateString(locales, options) { return native.dateText(this, 'date', 'date', locales, options); },
  toLocaleTimeString(locales, options) { return native.dateText(this, 'time', 'time', locales, options); },
});
define(String.prototype, {
  localeCompare(other, locales, options) {
    if (this === null || this === undefined) throw new TypeError('String.prototype.localeCompare called on null or undefined');
    return native.compareText(String(this), String(other), locales, options);
  },
});
