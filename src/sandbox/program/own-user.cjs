'use strict';
/**
 * Programs ask who they run as: `os.userInfo()` throws for a user id without a name. Where the sandbox has mounts of its own the id
 * has one (supervisor/user-entry.ts); elsewhere Node at least answers as if it had.
 */
const os = require('node:os');
const { syncBuiltinESMExports } = require('node:module');

const { userInfo } = os;

os.userInfo = (options) => {
  try {
    return userInfo(options);
  } catch (error) {
    if (error.code !== 'ERR_SYSTEM_ERROR' || error.info?.code !== 'ENOENT') throw error;
    const text = (value) => (options?.encoding === 'buffer' ? Buffer.from(value) : value);
    return {
      uid: process.getuid(),
      gid: process.getgid(),
      username: text('picket-script'),
      homedir: text(os.homedir()),
      shell: text('/bin/sh'),
    };
  }
};
syncBuiltinESMExports();
