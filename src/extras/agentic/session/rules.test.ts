import { planChanges, stepInWords } from '@picket/checks/agentic/plan/plan.ts';
import { PlanStep } from '@picket/checks/agentic/plan/step.ts';
import { describe, expect, it } from 'vitest';
import { whatIsMissing } from './explore.ts';
import { takesPlaceOf, whyNotResume } from './heal.ts';
import { holds, selected } from './judging.ts';
import { allowedOrigins } from './placeholders.ts';

const click = (name: string): PlanStep => ({ tool: 'click', input: { target: { role: 'button', name } } });
const assertion = (fields: object = {}) =>
  PlanStep.parse({
    tool: 'assert',
    input: {
      ...{
        condition: 'c',
        subject: 'text',
        target: { role: 'heading' },
        comparison: 'EQUALS',
        expected: 'Done',
      },
      ...fields,
    },
  });

describe('allowed origins', () => {
  it('are those of the URLs in the prompt, plus added ones', () => {
    const prompt =
      'Open https://shop.test/a?b, then (http://10.0.0.1:8080/x). Not ftp://x.test or shop.test.';
    expect(allowedOrigins(prompt, ['https://cdn.test'])).toEqual([
      'https://shop.test',
      'http://10.0.0.1:8080',
      'https://cdn.test',
    ]);
    expect(allowedOrigins('Open the page.', [])).toEqual([]);
    // User info must not make another host an allowed one.
    expect(allowedOrigins('https://shop.test@evil.test/', [])).toEqual(['https://evil.test']);
  });
});

describe('judging', () => {
  const judge = (comparison: string, expected: string, actual: string | null) =>
    holds({ condition: 'c', subject: 'title', comparison: comparison as 'EQUALS', expected }, actual);

  it('compares texts regardless of white space, and numbers regardless of their notation', () => {
    expect(judge('EQUALS', 'a b', ' a\n b ')).toBe(true);
    expect(judge('NOT_EQUALS', 'a', 'b')).toBe(true);
    expect(judge('CONTAINS', 'tea', 'green tea')).toBe(true);
    expect(judge('NOT_CONTAINS', 'tea', 'green tea')).toBe(false);
    expect(judge('LESS_THAN', '20', 'Total: € 1,234.50')).toBe(false);
    expect(judge('GREATER_THAN', '1.234,40', '1.234,50 €')).toBe(true);
    expect(judge('GREATER_THAN', '-5', '-3 °C')).toBe(true);
  });

  it('holds for nothing that is missing, and for no value that is not a number', () => {
    for (const comparison of ['EQUALS', 'NOT_EQUALS', 'NOT_CONTAINS'])
      expect(judge(comparison, 'x', null)).toBe(false);
    expect(judge('GREATER_THAN', '5', 'many')).toBe(false);
    expect(judge('LESS_THAN', '5', 'few')).toBe(false);
  });

  it('evaluates a path in JSON', () => {
    expect(selected('{"a":{"b":[1,"x"]}}', '$.a.b[1]')).toBe('x');
    expect(selected('{"a":{"b":[1,"x"]}}', '$.a.b[0]')).toBe('1');
    for (const [body, path] of [
      ['{', '$.a'],
      ['{}', '$.a'],
      ['{}', 'no path'],
    ]) {
      expect(selected(body ?? '', path ?? '')).toBeNull();
    }
  });
});

describe('the required result of a search', () => {
  it('is a verifying step, and everything in quotes', () => {
    expect(whatIsMissing('Open it.', [click('Go')])).toMatch(/nothing was verified/);
    expect(whatIsMissing('See "Done".', [assertion()])).toBeUndefined();
    expect(whatIsMissing('Click "Buy" and see “done”.', [click('Buy'), assertion()])).toBeUndefined();
    expect(whatIsMissing('See "Done" and "Paid".', [assertion()])).toMatch(/"Paid"/);
  });
});

describe('healing', () => {
  const steps = [click('One'), click('Two'), assertion(), click('Three')];

  it('continues no earlier than the step that does not fit, and keeps every verifying step', () => {
    expect(whyNotResume(steps, 1, 2, [click('New')])).toBeUndefined();
    expect(whyNotResume(steps, 1, 1, [click('New')])).toBeUndefined();
    expect(whyNotResume(steps, 1, 1, [])).toMatch(/nothing has changed/);
    expect(whyNotResume(steps, 1, 0, [click('New')])).toMatch(/from 2 to 5/);
    expect(whyNotResume(steps, 1, 5, [click('New')])).toMatch(/from 2 to 5/);
    expect(whyNotResume(steps, 1, 3, [click('New')])).toMatch(/verifies something/);
    expect(whyNotResume(steps, 2, 3, [])).toMatch(/verifies something/);
    expect(whyNotResume(steps, 2, 3, [assertion({ target: { text: 'Done' } })])).toBeUndefined();
  });

  it('may look elsewhere for verified content, and for nothing else', () => {
    const elsewhere = assertion({ target: { text: 'Done' }, condition: 'other words' });
    expect(takesPlaceOf(elsewhere, assertion())).toBe(true);
    for (const fields of [{ expected: 'Do' }, { comparison: 'CONTAINS' }, { subject: 'value' }]) {
      expect(takesPlaceOf(assertion(fields), assertion())).toBe(false);
    }
    expect(takesPlaceOf(click('One'), assertion())).toBe(false);
  });
});

describe('versions', () => {
  it('differ by added and removed steps', () => {
    const before = [click('One'), click('Two'), assertion()];
    const after = [click('One'), click('Zwei'), click('More'), assertion()];
    expect(planChanges(before, after).map(({ kind }) => kind)).toEqual([
      'kept',
      'removed',
      'added',
      'added',
      'kept',
    ]);
    expect(planChanges(before, before).every(({ kind }) => kind === 'kept')).toBe(true);
    expect(stepInWords(click('One'))).toBe('click: role "button" name "One"');
  });
});

describe('steps', () => {
  it('name one element in one way, and expect something', () => {
    for (const target of [{}, { name: 'Go' }, { role: 'button', text: 'Go' }]) {
      expect(PlanStep.safeParse({ tool: 'click', input: { target } }).success).toBe(false);
    }
    expect(() => assertion({ comparison: 'CONTAINS', expected: '' })).toThrow(/expected value/);
    expect(() => assertion({ target: undefined })).toThrow(/target/);
    expect(() => assertion({ subject: 'title' })).toThrow(/target/);
  });
});
