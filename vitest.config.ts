import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/helpers/longest-first.ts';
import { ownProcess } from './test/helpers/own-process.ts';

// V8's book of JIT pages, kept for protection keys, loses some when threads with WebAssembly come and go (nodejs/node#64500).
const execArgv = [
  '--no-memory-protection-keys',
  '--import',
  join(import.meta.dirname, 'test/helpers/unreported-imports.mjs'),
];

/** One process for many files. Most of what tests make is garbage at once: the more room it has, the less often it is looked through. */
const shared = { isolate: false, execArgv: [...execArgv, '--max-semi-space-size=64'] };

/** All tests at night; by day those whose name does not end in `.night.test.ts`, and the others in their short form (test/helpers/night.ts). */
export const configOf = ({ isNight }: { readonly isNight: boolean }) =>
  defineConfig({
    test: {
      projects: [
        { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], ...shared } },
        // Needs no root, no browser, no PostgreSQL and no installed runtime.
        {
          extends: true,
          test: {
            name: 'integration',
            include: ['test/integration/**/*.test.ts'],
            exclude: [ownProcess.integration],
            ...shared,
          },
        },
        { extends: true, test: { name: 'integration apart', include: [ownProcess.integration] } },
        {
          extends: true,
          test: {
            name: 'system',
            include: ['test/system/**/*.test.ts'],
            exclude: [ownProcess.system],
            ...shared,
            globalSetup: ['test/helpers/compiled-program.ts', 'test/helpers/service/shared-postgres.ts'],
          },
        },
        { extends: true, test: { name: 'system apart', include: [ownProcess.system] } },
      ],
      exclude: ['**/node_modules/**', 'test/bench/**', ...(isNight ? [] : ['**/*.night.test.ts'])],
      globalSetup: 'test/helpers/compiled-program.ts',
      // Node runs these files as it runs the program: nothing here needs what vitest could transform.
      experimental: { viteModuleRunner: false, nodeLoader: false },
      // Real processes, sockets and databases: forks keep a crash in one file from taking others along.
      pool: 'forks',
      execArgv,
      sequence: { sequencer: LongestFirst },
      // Most tests wait for processes and sockets rather than for a core: more files at once than cores keep them busy.
      maxWorkers: availableParallelism() + 3,
      testTimeout: 180_000,
      hookTimeout: 180_000,
      // A condition is waited for until it holds; how soon it does is nothing a test says, and on a busy machine it may take long.
      expect: { poll: { timeout: 90_000 } },
      restoreMocks: true,
      provide: { isNight },
    },
  });

export default configOf({ isNight: false });
