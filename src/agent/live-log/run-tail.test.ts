import { createRunLog } from '@picket/checks/contract/run-log.ts';
import { describe, expect, it } from 'vitest';
import { Scrubber } from '../scrub/scrubber.ts';
import { RunTail } from './run-tail.ts';

const key = '-----BEGIN TEST KEY-----\nmY.fIrSt.pArT\nAnd.tHe.sEcOnD\n-----END TEST KEY-----';
const known = ['correct horse battery staple', key];

/** A tail of a run with these secrets, and its log. */
function open(assigned: () => readonly string[] | undefined = () => []) {
  const log = createRunLog(() => 1000);
  const tail = new RunTail(log, (found) => new Scrubber([...known, ...found]));
  tail.allow(async () => assigned());
  let sentCount = 0;
  const next = async () => {
    const lines = (await tail.next(sentCount))?.lines.map(({ msg }) => msg) ?? [];
    sentCount += lines.length;
    return lines;
  };
  const print = (...lines: string[]) => {
    for (const line of lines) log.write('INFO', line);
  };
  return { log, tail, next, print };
}

describe('the lines of a run that goes on', () => {
  it('leave in order, from any line on', async () => {
    const { tail, print } = open();
    expect(await tail.next(0)).toBeUndefined();
    print('one', 'two');
    const both = { lines: [{ msg: 'one' }, { msg: 'two' }], isFull: false };
    expect(await tail.next(0)).toMatchObject(both);
    // After a failed call they are read again.
    expect(await tail.next(0)).toMatchObject(both);
    expect(await tail.next(2)).toBeUndefined();
    print('three');
    expect(await tail.next(2)).toMatchObject({ lines: [{ msg: 'three', level: 'INFO' }] });
  });

  it('do not leave before the runner permits it', async () => {
    const log = createRunLog();
    const tail = new RunTail(log, (found) => new Scrubber(found));
    log.write('INFO', 'line');
    expect(await tail.next(0)).toBeUndefined();
  });

  it('lose secrets of the check, and those that the script has assigned by then', async () => {
    const assigned: string[] = [];
    const { print, next } = open(() => assigned);
    print('with correct horse battery staple', 'plain');
    expect(await next()).toEqual(['with *********', 'plain']);
    assigned.push('swordfish-of-today');
    print('got swordfish-of-today');
    expect(await next()).toEqual(['got *********']);
  });

  it('wait while secrets of the script are unknown', async () => {
    let assigned: string[] | undefined;
    const { print, next } = open(() => assigned);
    print('a line');
    expect(await next()).toEqual([]);
    assigned = ['line'];
    expect(await next()).toEqual(['a line']);
  });

  it('wait if they may be the beginning of a secret of several lines', async () => {
    const { print, next } = open();
    const lines = key.split('\n');
    const seen: string[] = [];
    print('before');
    for (const line of lines) {
      print(line);
      seen.push(...(await next()));
    }
    print('after');
    seen.push(...(await next()));
    expect(seen[0]).toBe('before');
    expect(seen.at(-1)).toBe('after');
    expect(seen.join('\n')).not.toMatch(/fIrSt|sEcOnD/);
    // A beginning that nothing completes leaves with the next line; that of a secret of one line need not wait.
    print('-----BEGIN TEST KEY-----', 'mY.fIrSt.pArT');
    await next();
    print('correct horse');
    expect((await next()).at(-1)).toBe('correct horse');
  });

  it('wait if they may be the beginning of a secret in Base64 that is wrapped', async () => {
    const { print, next } = open();
    const [first = '', second = ''] =
      Buffer.from(`as ${known[0]} is`)
        .toString('base64')
        .match(/.{1,24}/g) ?? [];
    print('wrapped:', first);
    expect(await next()).toEqual(['wrapped:']);
    print(second);
    expect((await next()).join('')).toMatch(/^\S*\*+\S*$/);
  });

  it('mask a credential whose header is on a line that has left', async () => {
    const { print, next } = open();
    print("  'set-cookie': [");
    expect(await next()).toHaveLength(1);
    print("    'session=abcdefghijk'", '  ]');
    expect((await next()).join('\n')).not.toContain('abcdefghijk');
  });

  it('mask what looks like a token, but no dates and ordinary addresses', async () => {
    const { print, next } = open();
    print(
      'login gave eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2ln',
      'id=0f4c2b6a-8e0d-4b2f-9f5f-1d2c3b4a5968 at=2026-11-28T10:11:12.123Z',
      'GET http://shop-eu1.example.test:8080/orders/17?page=2 answered 200 in 12.5 ms',
      'GET http://shop.test/reset/9f86d081884c7d659a2f?token=abcdef0123456789',
      'wrote /tmp/run-1/report.json, tests/checkout.spec.ts passed',
    );
    expect(await next()).toEqual([
      'login gave *********',
      '********* at=2026-11-28T10:11:12.123Z',
      'GET http://shop-eu1.example.test:8080/orders/17?page=2 answered 200 in 12.5 ms',
      'GET http://shop.test/reset/*********?token=*********',
      'wrote /tmp/run-1/report.json, tests/checkout.spec.ts passed',
    ]);
  });

  it('are bounded in number and size, for each request and in all', async () => {
    const { log, tail, next } = open();
    for (let line = 0; line < 499; line += 1) log.write('INFO', `line ${line}`);
    const portions = [await next(), await next(), await next(), await next()];
    expect(portions.map(({ length }) => length)).toEqual([200, 200, 99, 0]);
    expect(await tail.next(499)).toBeUndefined();
    // The last line of a full log counts the dropped ones, and changes.
    log.write('INFO', 'one too many');
    expect(await tail.next(499)).toEqual({ lines: [], isFull: true });
    expect(await tail.next(400)).toMatchObject({ isFull: true });
    const long = open();
    for (let line = 0; line < 100; line += 1) long.print('ü'.repeat(4096));
    const lengths = [await long.next(), await long.next(), await long.next(), await long.next()];
    expect(lengths.map(({ length }) => length)).toEqual([16, 16, 16, 16]);
    expect(await long.tail.next(64)).toEqual({ lines: [], isFull: true });
  });

  it('end when the log is withdrawn', async () => {
    const { log, print, next } = open();
    print('one', 'two');
    expect(await next()).toHaveLength(2);
    log.withdraw();
    print('three');
    expect(await next()).toEqual([]);
  });
});
