import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { keepAnswer, pausedUntil, pauseServer } from '../../../src/checks/domain/earlier-answers.ts';

const program = new URL('../../helpers/domain/domain-thread-main.ts', import.meta.url);
const registration = { domain: 'a.test', expiresAt: null, registeredAt: null, changedAt: null, statuses: [] };

it('what one thread of an agent learned about a registry, the others know: those that run, and later ones', async () => {
  const [early, late] = ['https://early.test/domain/a.test', 'https://late.test/domain/a.test'].map(
    (href) => new URL(href),
  ) as [URL, URL];
  const answer = { registration, source: 'registry', answeredMs: Date.now() } as unknown as Parameters<
    typeof keepAnswer
  >[1];
  pauseServer(early, 60_000);
  keepAnswer(early, answer);
  const thread = new Worker(program);
  const asked = async (url: URL) => {
    thread.postMessage(url.href);
    return (await once(thread, 'message'))[0] as unknown;
  };
  try {
    await vi.waitFor(async () => expect(await asked(early)).toEqual({ untilMs: pausedUntil(early), answer }));
    expect(await asked(late)).toEqual({ untilMs: undefined, answer: undefined });
    pauseServer(late, undefined);
    await vi.waitFor(async () => expect(await asked(late)).toMatchObject({ untilMs: pausedUntil(late) }));
  } finally {
    await thread.terminate();
  }
});
