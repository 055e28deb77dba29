import { describe, expect, it } from 'vitest';
import { checkTypes } from '../index.ts';
import { keepMasked, type MaskedValue, maskDefinition, maskedTexts } from './masking.ts';

describe('masked values of a check', () => {
  it('are removed from its results: locked values and passwords, but not values that consist of variables', () => {
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

  it('are shown if they only refer to a variable, unless an author locked them or they have no replacement', () => {
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

  it('are kept when a response is written back, and removed when the shown value is emptied', () => {
    for (const password of ['pass-word', '{{TOKEN}}']) {
      const stored = definition(password);
      expect(keepMasked(masked, maskDefinition(masked, stored), stored)).toEqual(stored);
    }
    const empty = { ...definition('{{TOKEN}}'), auth: { user: 'ada', password: '' } };
    expect(keepMasked(masked, empty, definition('{{TOKEN}}'))).toEqual(empty);
  });
});

describe('a masked value', () => {
  const sentTo = [['request', 'url']] as const;
  const masked: readonly MaskedValue[] = [
    { path: ['request', 'headers'], flags: ['locked'], sentTo },
    { path: ['request', 'password'], sentTo },
  ];
  const stored = {
    request: {
      url: 'https://api.test/a?b=c',
      headers: [{ key: 'x', value: 'secret-one', locked: true }],
      password: 'secret-two',
    },
  };
  const change = (request: object) =>
    keepMasked(masked, { request }, stored, {
      merge: ({ request: patch }) => ({ request: { ...stored.request, ...(patch as object) } }),
    });
  const headers = [{ key: 'x', value: '', locked: true }];
  const both = ['request.headers.0.value', 'request.password'];

  it.each([
    ['https://evil.test/'],
    ['http://api.test/a'],
    ['https://api.test:8443/a'],
    ['https://api.test@evil.test/a'],
    ['https://api.test.evil.test'],
    ['https:\\\\evil.test\\a'],
    ['https:evil.test'],
    ['https://{{HOST}}/a'],
    ['{{BASE}}/a'],
    [''],
  ])('is not sent to %s, if sent as "" or left out', (url) => {
    for (const written of [{ url, headers, password: '' }, { url }]) {
      expect(() => change(written)).toThrow(
        expect.objectContaining({ validation: expect.objectContaining({ source: 'payload', keys: both }) }),
      );
    }
    const entered = [{ key: 'x', value: 'another', locked: true }];
    expect(() => change({ url, headers: entered, password: 'p' })).not.toThrow();
    expect(() => change({ url, headers: [], password: 'p' })).not.toThrow();
  });

  it.each([['https://API.test:443/other'], ['https://api.test/{{ID}}'], ['https://api.test']])(
    'stays with %s',
    (url) => {
      expect(change({ url, headers, password: '' })).toMatchObject({ request: { password: 'secret-two' } });
    },
  );

  it('of every check type has a destination, except for variables, which scripts send anywhere', () => {
    const silent = checkTypes
      .flatMap(({ masked: own, groupDefaults }) => [...(own ?? []), ...(groupDefaults?.masked ?? [])])
      .filter(({ sentTo: addresses = [] }) => addresses.length === 0);
    expect(silent).toEqual([]);
  });
});
