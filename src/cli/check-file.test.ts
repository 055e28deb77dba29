import { AppError } from '@picket/lib/errors.ts';
import { describe, expect, it } from 'vitest';
import { parseCheck } from './check-file.ts';

function problemsOf(content: string): string {
  try {
    parseCheck('check.yaml', content);
  } catch (error) {
    if (error instanceof AppError && error.code === 'CHECK_FILE_INVALID') return error.message;
    throw error;
  }
  throw new Error('the file was accepted');
}

describe('a check file', () => {
  it('may be YAML: defaults are filled in, variables collected, the name taken from the file', () => {
    const check = parseCheck(
      'checks/home.yaml',
      `checkType: URL
request:
  url: "https://{{HOST}}/"
environmentVariables:
  - { key: HOST, value: example.com }
  - { key: TOKEN, value: hush, secret: true }
`,
    );
    expect(check).toMatchObject({
      name: 'home.yaml',
      variables: { HOST: 'example.com', TOKEN: 'hush' },
      secretNames: ['TOKEN'],
      spec: {
        request: { url: 'https://{{HOST}}/', method: 'GET', followRedirects: true },
        maxResponseTime: 5000,
      },
    });
    expect(check.type.name).toBe('URL');
  });

  it('reports which JSON path or regular expression is invalid', () => {
    const problems = problemsOf(`checkType: API
request:
  url: https://example.com/
  assertions:
    - { source: JSON_BODY, property: '$.[', comparison: NOT_NULL }
    - { source: TEXT_BODY, property: '(', comparison: NOT_NULL }
`);
    expect(problems).toContain('request.assertions.0.property: cannot be used: $.[');
    expect(problems).toContain('request.assertions.1.property: cannot be used: Invalid regular expression');
  });

  it('may be JSON', () => {
    const check = parseCheck(
      'x.json',
      '{"checkType": "API", "name": "n", "request": {"url": "http://h/", "method": "POST"}}',
    );
    expect(check).toMatchObject({ name: 'n', spec: { request: { method: 'POST' } } });
  });

  it('is refused with every wrong field named', () => {
    const problems = problemsOf(`checkType: URL
frequency: 7
request:
  url: ""
  ipFamily: IPv5
`);
    expect(problems).toContain('check.yaml:');
    expect(problems).toMatch(/- frequency: /);
    expect(problems).toMatch(/- request\.url: /);
    expect(problems).toMatch(/- request\.ipFamily: /);
  });

  it('is refused when a key is misspelled, at any depth', () => {
    const problems = problemsOf(`checkType: URL
shouldFial: true
request:
  url: https://example.com/
  assertions:
    - { source: STATUS_CODE, comparison: EQUALS, target: "200", compare: x }
`);
    expect(problems).toContain('- shouldFial: unknown field; did you mean "shouldFail"?');
    expect(problems).toContain('- request.assertions.0.compare: unknown field');
  });

  it.each([
    ['no checkType', 'name: x', 'checkType: is required; one of [API, URL'],
    ['a list of numbers', '- 1', 'a check must be a mapping of fields'],
    ['nothing', '', 'a check must be a mapping of fields'],
    ['broken YAML', 'a: [1', 'check.yaml:'],
    [
      'an alias bomb',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefgh'
        .split('')
        .map((k, i) => `${k}: &${k} [${Array(10).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
        .join('\n')}`,
      'alias',
    ],
  ])('is refused when it contains %s', (_what, content, message) => {
    expect(problemsOf(content)).toContain(message);
  });
});

it('accepts scripts around a request from the file, but no snippets', () => {
  const file = (fields: object) =>
    JSON.stringify({ checkType: 'API', request: { url: 'http://a.test/' }, ...fields });
  const { lifecycle, runtimeId } = parseCheck(
    'check.json',
    file({ localSetupScript: 'x();', localTearDownScript: ' ', runtimeId: '2025.04' }),
  );
  expect(lifecycle).toEqual({ setup: [{ name: 'script of the check', script: 'x();' }], teardown: [] });
  expect(runtimeId).toBe('2025.04');
  expect(() => parseCheck('check.json', file({ setupSnippetId: 3 }))).toThrow(
    /setupSnippetId: only the service/,
  );
});
