import { posix } from 'node:path';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { codeBundleKey } from '../contract/code-bundle.ts';
import { browserNames } from '../tables/browsers.ts';

export const defaultTestCommand = 'npx playwright test';

function folderProblem(path: string): string | undefined {
  if (/[\0\\]/.test(path)) return 'must not contain backslashes or null characters';
  const normal = posix.normalize(path);
  const isInside = !posix.isAbsolute(path) && normal !== '..' && !normal.startsWith('../');
  return isInside ? undefined : 'must be relative and stay within the bundle';
}

const command = z
  .string()
  .max(4096)
  .regex(/^[^\0]*$/, 'must not contain a null character');

/** Fields of Playwright suites (check model 1.9). */
export const PlaywrightSpec = lazySchema(() =>
  z.object({
    codeBundlePath: z
      .string()
      .regex(codeBundleKey, 'must be the key of a code bundle, as returned by POST /v1/code-bundles')
      .describe('Key of an uploaded archive: a tar.gz of the project with its lockfile'),
    cacheHash: z
      .string()
      .max(256)
      .nullable()
      .default(null)
      .describe('Part of the cache key of installed dependencies, in addition to lockfile and manifests'),
    playwrightVersion: z
      .string()
      .max(50)
      .nullable()
      .default(null)
      .describe('For display only; the lockfile sets the version'),
    browsers: z
      .array(z.enum(browserNames))
      .max(browserNames.length)
      .default(['chromium'])
      .describe(
        'Browsers of the suite, without Playwright channels for Chromium itself; only agents that have the others run it',
      ),
    testCommand: command
      .min(1)
      .default(defaultTestCommand)
      .describe('Shell command, with options such as --config, --project and --grep'),
    installCommand: command
      .default('')
      .describe('Empty: the install command of the package manager of the lockfile'),
    workingDir: z
      .string()
      .max(1000)
      .superRefine((path, context) => {
        const problem = folderProblem(path);
        if (problem) context.addIssue({ code: 'custom', message: problem });
      })
      .nullable()
      .default(null)
      .describe('Working folder of the commands, within the bundle'),
    engine: z.enum(['node', 'bun']).nullable().default(null).describe('null is node'),
    engineVersion: z
      .string()
      .max(20)
      .nullable()
      .default(null)
      .describe(
        'Version or range of Node, such as 22; otherwise engines.node of package.json decides among those of the agent',
      ),
    // Playwright itself retries.
    retryStrategy: z
      .null()
      .default(null)
      .describe('The Playwright configuration sets the retries of a suite'),
    doubleCheck: z
      .literal(false)
      .default(false)
      .describe('The Playwright configuration sets the retries of a suite'),
  }),
);
export type PlaywrightSpec = z.output<typeof PlaywrightSpec.schema>;
