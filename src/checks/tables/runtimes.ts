import { runtimePackages } from './runtime-packages.ts';

/** Every runtime a check can name, newest first. */
export const runtimeIds = [
  '2026.04',
  '2025.04',
  '2024.09',
  '2024.02',
  '2023.09',
  '2023.02',
  '2022.10',
] as const;

export const runtimeStages = ['ALPHA', 'BETA', 'CURRENT', 'DEPRECATED', 'REMOVED', 'STABLE'] as const;

/** A runtime: the Node.js version and the packages that scripts of a check run with (check model 6). */
export interface Runtime {
  readonly name: (typeof runtimeIds)[number];
  readonly stage: (typeof runtimeStages)[number];
  readonly nodeJsVersion: string;
  /** Whether multi-step checks can use it. */
  readonly multiStepSupport: boolean;
  readonly description: string;
  /** Versions by package name. */
  readonly dependencies: Readonly<Record<string, string>>;
}

const facts: Readonly<Record<Runtime['name'], readonly [Runtime['stage'], string, boolean]>> = {
  '2026.04': ['CURRENT', 'v24.13.1', true],
  '2025.04': ['STABLE', 'v22.11.0', true],
  '2024.09': ['STABLE', 'v18.20.3', true],
  '2024.02': ['STABLE', 'v18.20.3', true],
  '2023.09': ['STABLE', 'v18.20.3', true],
  '2023.02': ['STABLE', 'v16.20.2', false],
  '2022.10': ['STABLE', 'v16.20.2', false],
};

/** The helpers of scripts (runtimes/playwright-helpers); migrated projects use the other name. */
const helpers: Runtime['dependencies'] = {
  '@checkly/playwright-helpers': '1.0.4',
  '@service/playwright-helpers': '1.0.4',
};

/** Known properties of each runtime. */
export const runtimes: readonly Runtime[] = runtimeIds.map((name) => {
  const [stage, nodeJsVersion, multiStepSupport] = facts[name];
  const packages: Runtime['dependencies'] = runtimePackages[name] ?? {};
  const dependencies: Runtime['dependencies'] = multiStepSupport ? { ...packages, ...helpers } : packages;
  return {
    name,
    stage,
    nodeJsVersion,
    multiStepSupport,
    description: `Node.js ${nodeJsVersion}, Playwright ${dependencies.playwright}`,
    dependencies,
  };
});

/** The runtime of checks if neither they nor their group name one. */
export const defaultRuntimeId: Runtime['name'] = '2026.04';
