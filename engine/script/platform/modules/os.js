// os: what does not tell about the machine.
module.exports = { EOL: '\n' };
