'use strict';
/** Values that a script itself gives to `SERVICE_SECRET_*` variables are secrets too: the agent has to hear of them. */
const { note } = require('./events.cjs');

const prefix = 'SERVICE_SECRET_';
const reported = new Set();

function report(tell, key, value) {
  if (value === undefined || value === null) return;
  const secret = String(value);
  if (secret === '' || reported.has(`${key}=${secret}`)) return;
  reported.add(`${key}=${secret}`);
  tell({ event: 'secret', name: key.slice(0, 200), value: secret });
}

/**
 * Puts a proxy in front of `process.env` that hears of every assignment, and tells it.
 *
 * @param names other variables whose values are secret.
 */
function watchSecrets(tell = note, names = []) {
  const isSecret = (key) => typeof key === 'string' && (key.startsWith(prefix) || names.includes(key));
  process.env = new Proxy(process.env, {
    set(env, key, value) {
      if (isSecret(key)) report(tell, key, value);
      env[key] = value;
      return true;
    },
    defineProperty(env, key, descriptor) {
      if (isSecret(key)) report(tell, key, descriptor.value);
      return Reflect.defineProperty(env, key, descriptor);
    },
  });
}

module.exports = { watchSecrets };
