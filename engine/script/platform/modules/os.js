// os: only the parts that reveal no data about the machine.
module.exports = { EOL: '\n' };
