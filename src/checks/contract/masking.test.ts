import { describe, expect, it } from 'vitest';
import { checkTypes } from '../index.ts';
import { keepMasked, type MaskedValue, maskDefinition, maskedTexts } from './masking.ts';

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

  const masked: readonly MaskedValue[] = [
    { path: ['auth', 'password'] },
    { path: ['headers'], flags: ['locked'] },
    { path: ['literal'], isLiteral: true },
  ];
  const definition = (password: string) => ({
    auth: { user: 'ada', password },
    headers: [{ key: 'x', value: '{{TOKEN}}', locked: true }],
    literal: '{{TOKEN}}',
  });

  it('are shown where they only name a variable, unless an author locked them or nothing is filled in', () => {
    for (const name of ['{{TOKEN}}', '{{ TOKEN }}']) {
      expect(maskDefinition(masked, definition(name))).toEqual({
        ...definition(name),
        headers: [{ key: 'x', value: '', locked: true }],
        literal: '',
      });
    }
    for (const secret of [
      'pass-word',
      'Bearer {{TOKEN}}',
      '{{TOKEN}}{{TOKEN}}',
      '{{#if A}}b{{/if}}',
      '{{}}',
    ]) {
      expect(maskDefinition(masked, definition(secret))).toMatchObject({ auth: { password: '' } });
    }
  });

  it('stay when an answer is written back, and go when what was shown is made empty', () => {
    for (const password of ['pass-word', '{{TOKEN}}']) {
      const stored = definition(password);
      expect(keepMasked(masked, maskDefinition(masked, stored), stored)).toEqual(stored);
    }
    const empty = { ...definition('{{TOKEN}}'), auth: { user: 'ada', password: '' } };
    expect(keepMasked(masked, empty, definition('{{TOKEN}}'))).toEqual(empty);
  });
});
