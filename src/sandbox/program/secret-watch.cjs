'use strict';
/**
 * Reports values that a script assigns to `SERVICE_SECRET_*` variables, and those that it gives to a helper of the
 * package @service/playwright-helpers as a secret: they are secrets, too.
 */
const { note } = require('./events.cjs');

const prefix = 'SERVICE_SECRET_';
const reported = new Set();

function report(emit, key, value) {
  if (value === undefined || value === null) return;
  const secret = String(value);
  if (secret === '' || reported.has(`${key}=${secret}`)) return;
  reported.add(`${key}=${secret}`);
  emit({ event: 'secret', name: key.slice(0, 200), value: secret });
}

/**
 * Replaces `process.env` by a proxy that reports every assignment to a secret variable, and lets helpers report.
 *
 * @param names other variables whose values are secret.
 */
function watchSecrets(emit = note, names = []) {
  const isSecret = (key) => typeof key === 'string' && (key.startsWith(prefix) || names.includes(key));
  const keepSecret = (name, value) => report(emit, String(name), value);
  Object.defineProperty(globalThis, Symbol.for('service.run-secrets'), { value: keepSecret });
  process.env = new Proxy(process.env, {
    set(env, key, value) {
      if (isSecret(key)) report(emit, key, value);
      env[key] = value;
      return true;
    },
    defineProperty(env, key, descriptor) {
      if (isSecret(key)) report(emit, key, descriptor.value);
      return Reflect.defineProperty(env, key, descriptor);
    },
  });
}

module.exports = { watchSecrets };
