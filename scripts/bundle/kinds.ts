import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Packages that an agent or a service loads at start: bundles contain them. */
const loadedAtStart = [
  '@zip.js/zip.js',
  'commander',
  'dns-packet',
  'entities',
  'fastify',
  'handlebars',
  'hono',
  'ipaddr.js',
  'json-p3',
  'kysely',
  'mqtt-packet',
  'nodemailer',
  'openid-client',
  'p-queue',
  'pg',
  'pino',
  'prom-client',
  'semver',
  'temporal-polyfill',
  'undici',
  'ws',
  'yaml',
  'zod',
];

/** Packages with compiled code, or found by name at run time. */
export const native = ['koffi', 'net-ping', 'raw-socket'];

/** Packages that the full bundle loads from `node_modules`. */
export function besideFullBundle(): readonly string[] {
  const manifests = ['package.json', ...globSync('src/{*,extras/*}/package.json', { cwd: root })];
  const names = manifests.flatMap((file) => {
    const manifest: { dependencies?: object } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    return Object.keys(manifest.dependencies ?? {});
  });
  return [...new Set(names)].filter((name) => !name.startsWith('@picket/') && !loadedAtStart.includes(name));
}
