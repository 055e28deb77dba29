import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';
import { Dependencies, maxScriptLength, ScriptPath, Snapshots } from '../contract/lifecycle.ts';
import { runtimeIds } from '../tables/runtimes.ts';
import { BrowsersField } from './browsers/check-browsers.ts';
import { PlaywrightConfig } from './playwright-config.ts';
import { ThrottlingField } from './throttling.ts';

/** Scripts have no default time limits other than that of their run. */
const scriptThresholdMs = z.number().min(0).max(240_000).nullable().default(null);

/** Fields of checks that run a script (check model 1.8). */
export const ScriptSpec = lazySchema(() =>
  z.object({
    script: z
      .string()
      .min(1)
      .max(maxScriptLength)
      .describe('JavaScript or TypeScript: tests for Playwright Test, or a plain script'),
    scriptPath: ScriptPath.describe('Path of the script among its dependencies; null: script.ts'),
    dependencies: Dependencies,
    runtimeId: z
      .enum(runtimeIds)
      .nullable()
      .default(null)
      .describe('null is the newest runtime of the agent'),
    playwrightConfig: PlaywrightConfig.schema,
    degradedResponseTime: scriptThresholdMs.describe('Degraded when its tests take longer, in milliseconds'),
    maxResponseTime: scriptThresholdMs.describe('Failed when its tests take longer, in milliseconds'),
  }),
);
export type ScriptSpec = z.output<typeof ScriptSpec.schema>;

/** The fields of browser checks. */
export const BrowserSpec = lazySchema(() =>
  ScriptSpec.schema.extend({
    browsers: BrowsersField,
    snapshots: Snapshots.describe(
      'Reference images of toHaveScreenshot, in folders such as shop.spec.ts-snapshots',
    ),
    throttling: ThrottlingField.schema,
  }),
);
export type BrowserSpec = z.output<typeof BrowserSpec.schema>;
