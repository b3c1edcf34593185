const { Service } = require('restsrv');

module.exports = class extends Service {
  constructor(options) {
    super();
    this.options = options;
  }

  async _route(router) {
    await this.addHandler(router, '/', 'POST', async (req) => {
      const filter = { and: Object.entries(req.body).map(([name, value]) => ({ eq: ['$' + name, value] })) };
      const { dataRepo, className } = this.options;
      return (await dataRepo.getList(className, filter.and.length ? { filter } : {})).map((one) => one.getItemId());
    });
  }
};
