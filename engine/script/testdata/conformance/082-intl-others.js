// feature: Intl: PluralRules, ListFormat, RelativeTimeFormat, Collator
// group: platform
const { probe } = require('./check.js');

module.exports = probe(({ is }) => {
  const ru = new Intl.PluralRules('ru');
  is([1, 2, 5, 11, 21, 22].map((n) => ru.select(n)), ['one', 'few', 'many', 'many', 'one', 'few']);
  is([1, 2].map((n) => new Intl.PluralRules('en', { type: 'ordinal' }).select(n)), ['one', 'two']);
  is([new Intl.ListFormat('en').format(['a', 'b', 'c']), new Intl.ListFormat('ru').format(['а', 'б'])], ['a, b, and c', 'а и б']);
  is([new Intl.RelativeTimeFormat('en').format(-2, 'day'), new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(1, 'day')], ['2 days ago', 'tomorrow']);
  is(['ё', 'е', 'ж'].sort(new Intl.Collator('ru').compare), ['е', 'ё', 'ж']);
  is(Intl.getCanonicalLocales('EN-us'), ['en-US']);
});
