import { expect, it } from 'vitest';
import { allEntries, createRunLog, jobLogOf } from './run-log.ts';

it('keeps entries with their time', () => {
  const log = createRunLog(() => 1234);
  log.write('WARN', 'careful');
  expect(log.entries).toEqual([{ time: 1234, msg: 'careful', level: 'WARN' }]);
});

it('is bounded and mentions what is missing', () => {
  const log = createRunLog();
  for (let index = 0; index < 2000; index += 1) log.write('INFO', 'x'.repeat(100_000));
  expect(log.entries.length).toBe(500);
  expect(log.entries[0]?.msg.length).toBe(4096);
  expect(log.entries.at(-1)?.msg).toBe('1501 more entries were dropped');
});

it('keeps each stage separate, with later entries in time order', () => {
  const log = createRunLog(() => 1000);
  expect(jobLogOf(log)).toBeNull();
  for (let index = 0; index < 600; index += 1) log.part('setup').write('INFO', 'many');
  log.part('teardown').write('WARN', 'late', 250.4);
  log.write('INFO', 'request');
  expect(jobLogOf(log)).toMatchObject({
    request: [{ time: 1000, msg: 'request' }],
    teardown: [{ time: 750, msg: 'late', level: 'WARN' }],
  });
  expect(jobLogOf(log)?.setup.length).toBe(500);
  expect(allEntries(log).at(-2)?.msg).toBe('request');
});

it('is empty until it or one of its parts has an entry', () => {
  const log = createRunLog();
  log.part('setup');
  expect(log.isEmpty).toBe(true);
  log.part('teardown').write('INFO', 'late');
  expect(log.isEmpty).toBe(false);
  log.part('teardown').withdraw();
  expect(log.isEmpty).toBe(true);
  log.write('INFO', 'request');
  expect(log.isEmpty).toBe(false);
});
