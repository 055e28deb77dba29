import { expect, it } from 'vitest';
import { createRunLog } from './run-log.ts';

it('keeps entries with their time', () => {
  const log = createRunLog(() => 1234);
  log.write('WARN', 'careful');
  expect(log.entries).toEqual([{ time: 1234, msg: 'careful', level: 'WARN' }]);
});

it('is bounded and says what is missing', () => {
  const log = createRunLog();
  for (let index = 0; index < 2000; index += 1) log.write('INFO', 'x'.repeat(100_000));
  expect(log.entries.length).toBe(500);
  expect(log.entries[0]?.msg.length).toBe(4096);
  expect(log.entries.at(-1)?.msg).toBe('1501 more entries were dropped');
});
