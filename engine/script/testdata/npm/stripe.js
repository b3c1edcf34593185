const Stripe = require('stripe');
exports.run = async () => {
  const stripe = new Stripe('sk_test_1'), payload = JSON.stringify({ id: 'evt_1', object: 'event' }), secret = 'whsec_test', timestamp = Math.floor(Date.now() / 1000);
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
  const event = stripe.webhooks.constructEvent(payload, header, secret), later = await stripe.webhooks.constructEventAsync(Buffer.from(payload), header, secret);
  const bad = [];
  for (const [p, h, s] of [[payload + ' ', header, secret], [payload, header, 'other'], [payload, 't=1,v1=00', secret], [payload, header.replace(timestamp, timestamp - 1000), secret]]) {
    try { stripe.webhooks.constructEvent(p, h, s); } catch (e) { bad.push(e.type); }
  }
  return [event.id, later.id, bad];
};
