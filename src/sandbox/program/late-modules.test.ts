import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';

const internals = Module as unknown as { _load: unknown };
const { _load: load } = internals;
const folder = mkdtempSync(join(tmpdir(), 'picket-late-modules-'));
afterEach(() => {
  internals._load = load;
  rmSync(folder, { recursive: true });
});

it('loads a module with the first look at its exports, and others at once', () => {
  writeFileSync(
    join(folder, 'largeBundle.cjs'),
    'globalThis.isLargeLoaded = true; exports.one = 1; exports.two = () => 2;',
  );
  writeFileSync(
    join(folder, 'user.cjs'),
    "const large = require('./largeBundle.cjs'); exports.use = () => large.two();",
  );
  const own = createRequire(import.meta.url);
  own('./run/late-modules.cjs').loadLate(/(^|[\\/])largeBundle\.cjs$/);
  const state = globalThis as { isLargeLoaded?: boolean };
  const { use } = own(join(folder, 'user.cjs'));
  expect(state.isLargeLoaded).toBeUndefined();
  expect(use()).toBe(2);
  expect(state.isLargeLoaded).toBe(true);
  const again = own(join(folder, 'largeBundle.cjs'));
  expect({ ...again }).toMatchObject({ one: 1 });
  expect('two' in again).toBe(true);
});
