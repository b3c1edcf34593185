// Lists objects of one class. The objects must have the attribute values in the body; without
// attributes, all objects are listed. The options in deploy.json name the class (className) and
// the repository (dataRepo).
const { Service } = require('restsrv');

class StringList extends Service {
  constructor(options) {
    super();
    this.options = options;
  }

  async _route(router) {
    await this.addHandler(router, '/', 'POST', (req) => this.list(req.body));
  }

  async list(attributes) {
    const { dataRepo, className } = this.options;
    const conditions = Object.entries(attributes).map(([name, value]) => ({ eq: ['$' + name, value] }));
    const filter = conditions.length ? { and: conditions } : undefined;
    const items = await dataRepo.getList(className, { filter });
    return items.map(plain);
  }
}

// plain returns an object that maps attribute names to values. It includes __class and
// __classTitle.
function plain(item) {
  const result = {};
  for (const property of Object.values(item.getProperties())) {
    result[property.getName()] = property.getValue();
  }
  result.id = item.getItemId();
  return result;
}

module.exports = StringList;
