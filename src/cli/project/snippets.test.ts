import { expect, it } from 'vitest';
import { withSnippets } from './snippets.ts';

const snippets = new Map([['login', 'logIn();']]);
const read = (fields: object) => withSnippets('checks/a.yaml', { ...fields }, snippets);

it('replaces names of snippets by their scripts', () => {
  expect(read({ name: 'a' })).toEqual({ name: 'a' });
  expect(read({ setupSnippet: 'login', tearDownSnippet: null })).toMatchObject({
    localSetupScript: 'logIn();',
  });
  expect(read({ tearDownSnippet: 'login', localSetupScript: 'x();' })).toMatchObject({
    ...{ localSetupScript: 'x();', localTearDownScript: 'logIn();' },
  });
});

it('refuses checks that it cannot run like a deployed one', () => {
  expect(() => read({ setupSnippet: 'logout' })).toThrow(/checks\/a\.yaml: setupSnippet: only a folder/);
  expect(() => read({ setupSnippet: 'login', localSetupScript: 'x();' })).toThrow(
    /together with localSetupScript/,
  );
});
