// os. The values describe the environment of scripts, and reveal no data about the machine.
'use strict';

const { errno, signals, priority, dlopen } = require('#errno');
const memory = 1024 * 1024 * 1024;

module.exports = {
  EOL: '\n', devNull: '/dev/null',
  constants: Object.assign(Object.create(null), { UV_UDP_REUSEADDR: 4, dlopen, errno, signals, priority }),
  arch: () => process.arch, platform: () => process.platform, type: () => ({ darwin: 'Darwin', win32: 'Windows_NT' })[process.platform] || 'Linux',
  machine: () => ({ x64: 'x86_64', arm64: 'aarch64' })[process.arch] || process.arch,
  endianness: () => 'LE', release: () => '', version: () => '', hostname: () => 'localhost', homedir: () => '/', tmpdir: () => '/tmp',
  uptime: () => process.uptime(), loadavg: () => [0, 0, 0], freemem: () => memory, totalmem: () => memory, availableParallelism: () => 1,
  cpus: () => [{ model: '', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  networkInterfaces: () => ({}), getPriority: () => 0,
  userInfo: () => ({ uid: -1, gid: -1, username: 'restsrv', homedir: '/', shell: null }),
};
