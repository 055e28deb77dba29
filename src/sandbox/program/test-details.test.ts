import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Validators {
  validateTestDetails(details: unknown, location: object): unknown;
  validateTestAnnotation(annotation: unknown): unknown;
}

const own = createRequire(import.meta.url);
const { validatorsWhenNeeded } = own('./observers/test-details.cjs') as {
  validatorsWhenNeeded(load: () => Validators): Validators;
};
const real = join(
  import.meta.dirname,
  '../../../runtimes/2026.04/node_modules/playwright/lib/common/validators.js',
);
const location = { file: 'check.spec.ts', line: 1, column: 1 };

it.skipIf(!existsSync(real))(
  'knows the details of tests without tags and annotations as Playwright does',
  () => {
    let loadCount = 0;
    const load = () => {
      loadCount += 1;
      return own(real) as Validators;
    };
    const validators = validatorsWhenNeeded(load);
    for (const details of [{}, { tag: undefined, annotation: undefined }, { other: 1 }])
      expect(validators.validateTestDetails(details, location)).toEqual(
        (own(real) as Validators).validateTestDetails(details, location),
      );
    expect(loadCount).toBe(0);
    const tagged = { tag: '@fast', annotation: { type: 'issue' } };
    expect(validators.validateTestDetails(tagged, location)).toEqual({
      annotations: [{ type: 'issue', location }],
      tags: ['@fast'],
      location,
    });
    expect(loadCount).toBe(1);
    expect(() => validators.validateTestDetails({ tag: 'fast' }, location)).toThrow(
      "Tag must start with '@'",
    );
    expect(() => validators.validateTestDetails(null, location)).toThrow();
  },
);
