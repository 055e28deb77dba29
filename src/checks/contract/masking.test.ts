import { describe, expect, it } from 'vitest';
import { checkTypes } from '../index.ts';
import { maskedTexts } from './masking.ts';

describe('masked values of a check', () => {
  it('are removed from its results: locked values and passwords, but not what consists of variables', () => {
    const spec = {
      request: {
        headers: [
          { key: 'x', value: 'locked-value', locked: true },
          { key: 'y', value: 'open-value', locked: false },
          { key: 'z', value: 'Bearer {{TOKEN}}', locked: true },
        ],
        basicAuth: { username: 'ada', password: 'pass-word' },
      },
    };
    const found = checkTypes.map(({ masked }) => maskedTexts(masked ?? [], spec).sort());
    expect(found).toContainEqual(['locked-value', 'pass-word']);
    expect(found.flat()).not.toContain('open-value');
  });
});
