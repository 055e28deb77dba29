'use strict';
/** Values that a script itself gives to `SERVICE_SECRET_*` variables are secrets too: the agent has to hear of them. */
const { note } = require('./events.cjs');

const prefix = 'SERVICE_SECRET_';
const reported = new Set();

function report(key, value) {
  if (typeof key !== 'string' || !key.startsWith(prefix) || value === undefined || value === null) return;
  const secret = String(value);
  if (secret === '' || reported.has(`${key}=${secret}`)) return;
  reported.add(`${key}=${secret}`);
  note({ event: 'secret', name: key.slice(0, 200), value: secret });
}

/** Puts a proxy in front of `process.env` that hears of every assignment. */
function watchSecrets() {
  process.env = new Proxy(process.env, {
    set(env, key, value) {
      report(key, value);
      env[key] = value;
      return true;
    },
    defineProperty(env, key, descriptor) {
      report(key, descriptor.value);
      return Reflect.defineProperty(env, key, descriptor);
    },
  });
}

module.exports = { watchSecrets };
