import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import LongestFirst from './test/helpers/longest-first.ts';

export default defineConfig({
  test: {
    projects: [
      // These keep nothing for each other: one process can run many of their files.
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], isolate: false } },
      // Needs no root, no browser, no PostgreSQL and no installed runtime.
      { extends: true, test: { name: 'integration', include: ['test/integration/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          globalSetup: ['test/helpers/compiled-program.ts', 'test/helpers/service/shared-postgres.ts'],
        },
      },
    ],
    exclude: ['**/node_modules/**', 'test/bench/**'],
    globalSetup: 'test/helpers/compiled-program.ts',
    // Node runs these files as it runs the program: nothing here needs what vitest could transform.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Real processes, sockets and databases: forks keep a crash in one file from taking others along.
    pool: 'forks',
    // V8's book of JIT pages, kept for protection keys, loses some when threads with WebAssembly come and go (nodejs/node#64500).
    execArgv: ['--no-memory-protection-keys'],
    sequence: { sequencer: LongestFirst },
    // Most tests wait for processes and sockets rather than for a core: more files at once than cores keep them busy.
    maxWorkers: availableParallelism() + 3,
    testTimeout: 60_000,
    hookTimeout: 90_000,
    // A condition is waited for until it holds; how soon it does is nothing a test says.
    expect: { poll: { timeout: 30_000 } },
    restoreMocks: true,
    // test/nightly.config.ts says otherwise.
    provide: { isNight: false },
  },
});
