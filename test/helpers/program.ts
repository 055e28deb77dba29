import { fileURLToPath } from 'node:url';

/**
 * The program that tests start as a process of its own: compiled, as images have it, where vitest's global setup has compiled
 * it; else the sources.
 */
export const program =
  process.env.PICKET_TEST_PROGRAM ?? fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
