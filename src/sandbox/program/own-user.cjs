'use strict';
/**
 * Programs query their user: `os.userInfo()` throws for a user id without a name. In sandboxes with their own mounts
 * the id has a name (supervisor/user-entry.ts); in others, at least Node behaves as if it had one.
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
