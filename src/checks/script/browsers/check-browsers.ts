import { z } from 'zod';
import type { DefinitionProblem } from '../../contract/group-defaults.ts';
import { type BrowserName, browserNames, type OtherBrowserName } from '../../tables/browsers.ts';
import type { PlaywrightConfig } from '../playwright-config.ts';
import { browsersInCode } from './browsers-in-code.ts';

export const BrowsersField = z
  .array(z.enum(browserNames))
  .max(browserNames.length)
  .default([])
  .describe(
    'Browsers that the script opens, first the one for tests that choose none; empty: Chromium, and the others that its code names. Only agents that have all of them run it',
  );

/** Fields of a check that decide which browsers it opens. */
interface Opening {
  readonly browsers: readonly BrowserName[];
  readonly script: string;
  readonly dependencies: readonly { readonly content: string }[] | null;
  readonly playwrightConfig: PlaywrightConfig;
}

/** Browsers that a run of a script opens; the first is for tests that choose none. */
export function browsersOf({
  browsers,
  script,
  dependencies,
  playwrightConfig,
}: Opening): readonly BrowserName[] {
  if (browsers.length > 0) return [...new Set(browsers)];
  const inCode = [script, ...(dependencies ?? []).map(({ content }) => content)].flatMap(browsersInCode);
  return [...new Set<BrowserName>(['chromium', ...configuredBrowsers(playwrightConfig), ...inCode])];
}

export function otherBrowsersOf(spec: Opening): readonly OtherBrowserName[] {
  return browsersOf(spec).filter((name) => name !== 'chromium');
}

/** Settings of a check that contradict its browsers. */
export function browserProblems(
  spec: Opening & { readonly throttling: object | null },
): readonly DefinitionProblem[] {
  const opened = browsersOf(spec);
  const unnamed = configuredBrowsers(spec.playwrightConfig).filter((name) => !opened.includes(name));
  const unslowed = opened.filter((name) => name === 'firefox' || name === 'webkit');
  return [
    ...unnamed.map((name) => ({
      path: ['browsers'],
      message: `must name ${name}, which playwrightConfig chooses`,
    })),
    ...(spec.throttling !== null && unslowed.length > 0
      ? [
          {
            path: ['throttling'],
            message: `is for Chromium alone, and the check opens ${unslowed.join(' and ')}: "browsers" decides which it opens`,
          },
        ]
      : []),
  ];
}

/** Browsers that settings of Playwright Test choose. */
function configuredBrowsers(config: PlaywrightConfig): BrowserName[] {
  const uses = [config?.use, ...(config?.projects ?? []).map(({ use }) => ({ ...config?.use, ...use }))];
  return uses.flatMap((use) => {
    if (use?.browserName !== undefined && use.browserName !== 'chromium') return [use.browserName];
    return use?.channel ?? use?.browserName ?? [];
  });
}
