import { expect, it } from 'vitest';
import { withSnippets } from './snippets.ts';

const snippets = new Map([['login', 'logIn();']]);
const read = (fields: object) => withSnippets('checks/a.yaml', { ...fields }, snippets);

it('puts the scripts of snippets in the place of their names', () => {
  expect(read({ name: 'a' })).toEqual({ name: 'a' });
  expect(read({ setupSnippet: 'login', tearDownSnippet: null })).toMatchObject({
    localSetupScript: 'logIn();',
  });
  expect(read({ tearDownSnippet: 'login', localSetupScript: 'x();' })).toMatchObject({
    ...{ localSetupScript: 'x();', localTearDownScript: 'logIn();' },
  });
});

it('refuses what it cannot run as a deployed check would', () => {
  expect(() => read({ setupSnippet: 'logout' })).toThrow(/checks\/a\.yaml: setupSnippet: only a folder/);
  expect(() => read({ setupSnippet: 'login', localSetupScript: 'x();' })).toThrow(
    /together with localSetupScript/,
  );
});
