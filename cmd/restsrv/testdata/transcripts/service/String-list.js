// Lists strings by the attributes of the body, each of which must be equal. The
// filter is in the style of MongoDB, the values are read property by property.
const Service = require('modules/rest/lib/interfaces/Service');

function StringList(options) {
  this._route = function (router) {
    this.addHandler(router, '/', 'POST', (req) => {
      const equal = Object.keys(req.body).map((name) => ({ [name]: { $eq: req.body[name] } }));
      const asked = equal.length > 1 ? { filter: { $and: equal } } : { filter: equal[0] };
      return options.dataRepo.getList(options.stringClassName, asked).then((items) => ({ data: items.map(values) }));
    });
  };
}

function values(item) {
  const all = {};
  const properties = item.getProperties();
  for (const name of Object.keys(properties)) {
    all[properties[name].getName()] = properties[name].getValue();
  }
  return all;
}

StringList.prototype = new Service();
module.exports = StringList;
