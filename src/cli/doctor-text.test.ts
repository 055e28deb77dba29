import { PassThrough } from 'node:stream';
import type { Finding } from '@picket/agent/doctor/examination.ts';
import { describe, expect, it } from 'vitest';
import { findingText, hasProblems, summaryText } from './doctor-text.ts';

const stream = (isTTY: boolean) =>
  Object.assign(new PassThrough(), { isTTY, hasColors: () => isTTY }) as unknown as NodeJS.WriteStream;
const file = stream(false);
const fine: Finding = { examination: 'tcp', status: 'ok', detail: 'connected' };
const bad: Finding = {
  examination: 'disk',
  about: 'SPOOL_DIR',
  status: 'problem',
  detail: 'it is\nfull',
  fix: 'Free it.',
};
const odd: Finding = { examination: 'capture', status: 'warning', detail: 'no right', fix: 'Give it.' };

describe('a finding as text', () => {
  it('is one line, plus one with the remedy below the detail', () => {
    const [first = '', second = ''] = findingText(bad, file).split('\n');
    expect(first).toBe('✗ problem  disk           SPOOL_DIR: it is full');
    expect(second).toMatch(/^ +→ Free it\.$/);
    expect(second.indexOf('→')).toBe(first.indexOf('SPOOL_DIR'));
    expect(findingText(fine, file).indexOf('connected')).toBe(first.indexOf('SPOOL_DIR'));
  });

  it('has colours only on a terminal', () => {
    const { NO_COLOR } = process.env;
    delete process.env.NO_COLOR;
    try {
      expect(findingText(bad, stream(true))).toContain('\u001b[31m');
      expect(findingText(bad, file)).not.toContain('\u001b');
      expect(summaryText([bad], file)).not.toContain('\u001b');
    } finally {
      if (NO_COLOR !== undefined) process.env.NO_COLOR = NO_COLOR;
    }
  });

  it('is summed up', () => {
    expect(summaryText([fine], file)).toBe('No problems were found.');
    expect(summaryText([fine, bad, odd], file)).toBe('1 problem, 1 warning.');
    expect(summaryText([odd, odd], file)).toBe('no problems, 2 warnings.');
    expect(hasProblems([fine, odd])).toBe(false);
    expect(hasProblems([fine, bad])).toBe(true);
  });
});
