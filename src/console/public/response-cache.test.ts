import { expect, it } from 'vitest';
import { ResponseCache } from './response-cache.ts';

function stage() {
  const time = { nowMs: 0, isPatient: true };
  const answers = new ResponseCache<string>({
    clock: {
      monotonicMs: () => time.nowMs,
      sleep: () => (time.isPatient ? Promise.withResolvers<void>().promise : Promise.resolve()),
    },
    isBetterOld: (thrown) => String(thrown).includes('away'),
    bytesOf: (value) => value.length,
  });
  return { time, answers };
}
const failing = (message: string) => () => Promise.reject(new Error(message));

it('builds a response once for all concurrent requests and for ten seconds', async () => {
  const { time, answers } = stage();
  let made = 0;
  const get = () => answers.get('page', async () => `made ${++made}`);
  const first = await Promise.all([get(), get(), get()]);
  expect(first).toEqual(Array(3).fill({ value: 'made 1', isStale: false }));
  time.nowMs = 9_999;
  expect(await get()).toEqual({ value: 'made 1', isStale: false });
  time.nowMs = 10_000;
  expect(await get()).toEqual({ value: 'made 2', isStale: false });
});

it('returns the old response while a new one cannot be built, and retries after a pause', async () => {
  const { time, answers } = stage();
  await expect(answers.get('page', failing('away'))).rejects.toThrow('away');
  await answers.get('page', async () => 'old');
  time.nowMs = 1_000_000;
  expect(await answers.get('page', failing('away'))).toEqual({ value: 'old', isStale: true });
  time.nowMs += 4_999;
  expect(await answers.get('page', async () => 'new')).toEqual({ value: 'old', isStale: true });
  time.nowMs += 1;
  expect(await answers.get('page', async () => 'new')).toEqual({ value: 'new', isStale: false });
});

it('does not wait long if there is an old response; a late one is used next', async () => {
  const { time, answers } = stage();
  await answers.get('page', async () => 'old');
  time.nowMs = 10_000;
  time.isPatient = false;
  const late = Promise.withResolvers<string>();
  expect(await answers.get('page', () => late.promise)).toEqual({ value: 'old', isStale: true });
  late.resolve('late');
  await late.promise;
  await new Promise(setImmediate);
  expect(await answers.get('page', failing('not asked'))).toEqual({ value: 'late', isStale: false });
});

it('removes responses that no longer exist', async () => {
  const { time, answers } = stage();
  await answers.get('page', async () => 'old');
  time.nowMs = 10_000;
  await expect(answers.get('page', failing('deleted'))).rejects.toThrow('deleted');
  await expect(answers.get('page', failing('away'))).rejects.toThrow('away');
});

it('returns no old response that this reader may no longer see', async () => {
  const { time, answers } = stage();
  await answers.get('page', async () => 'public');
  time.nowMs = 10_000;
  const refusing = failing('private now');
  await expect(answers.get('page', failing('away'), refusing)).rejects.toThrow('private now');
  await expect(answers.get('page', failing('away'), refusing)).rejects.toThrow('private now');
});
