import { expect, it } from 'vitest';
import { SubscriberNotifier } from '../../../src/service/mail/subscriber-notifier.ts';
import { openHarness, quietLogger, type ServiceHarness } from '../../helpers/service/service.ts';

/** Fairness between accounts when one account sends many requests, for both engines. */
export function fairnessSuite(open: () => Promise<Parameters<typeof openHarness>[0]>): void {
  const onService = (work: (harness: ServiceHarness) => Promise<void>) => async () => {
    const harness = await openHarness(await open());
    try {
      await work(harness);
    } finally {
      await harness.close();
    }
  };

  it(
    "looks up the key of an account between those of another one's rush",
    onService(async (harness) => {
      const other = await harness.addAccount();
      const reader = await harness.addKey('READ_ONLY');
      const ended: string[] = [];
      // A request that the role forbids is refused right after the key look-up.
      const refused = async () => {
        const { status } = await harness.call(
          'POST',
          '/v1/variables',
          { key: 'A', value: 'b' },
          { key: reader },
        );
        ended.push(`rush ${status}`);
      };
      const list = async () => {
        const { status } = await harness.call('GET', '/v1/checks', undefined, { key: other.key });
        ended.push(`other ${status}`);
      };
      await Promise.all([refused(), list()]);
      ended.length = 0;
      await Promise.all([...Array.from({ length: 400 }, refused), list()]);
      expect(new Set(ended)).toEqual(new Set(['rush 403', 'other 200']));
      // In order of arrival it would be the last.
      expect(ended.indexOf('other 200')).toBeLessThan(300);
    }),
  );

  it(
    'gives unknown keys no separate turns',
    onService(async (harness) => {
      const [known, unknown] = [await harness.addAccount(), await harness.addAccount()];
      const list = (key: string) => harness.call('GET', '/v1/checks', undefined, { key });
      await list(known.key);
      const ended: string[] = [];
      const note = async (what: string, answer: Promise<{ status: number }>) =>
        void ended.push(`${what} ${(await answer).status}`);
      const guesses = Array.from({ length: 400 }, (_, number) => note('guess', list(`guess-${number}`)));
      await Promise.all([...guesses, note('unknown', list(unknown.key)), note('known', list(known.key))]);
      expect(ended.indexOf('known 200')).toBeLessThan(200);
      expect(ended.indexOf('unknown 200')).toBeGreaterThan(390);
    }),
  );

  it(
    'queries the database a few times for a public dashboard, however many checks it shows',
    onService(async (harness) => {
      for (let number = 0; number < 40; number += 1) {
        const body = { name: `c ${number}`, tags: ['shown'], request: { url: 'http://x.test' } };
        expect((await harness.call('POST', '/v1/checks/url', body)).status).toBe(201);
      }
      const board = { header: 'Board', tags: ['shown'], customUrl: 'turns-board', paginate: false };
      await harness.call('POST', '/v1/dashboards', board);
      const begun = () => harness.store.turns?.figures().begun ?? Number.NaN;
      const before = begun();
      const page = await harness.call('GET', '/v1/public/dashboards/turns-board', undefined, { key: null });
      // Each step may wait for one turn of every other account.
      expect([page.body.checks.length, begun() - before < 15]).toEqual([40, true]);
    }),
  );

  it(
    'mails the subscribers of an account between the thousands of another one',
    onService(async ({ store, clock }) => {
      const now = clock.wallMs();
      const mails = (accountId: string, count: number, created: number) =>
        Array.from({ length: count }, (_, number) => ({
          account_id: accountId,
          address: `${number}@${accountId}.test`,
          subject: 's',
          text: 't',
          unsubscribe_url: 'http://x.test/v1/public/subscriptions/a/unsubscribe',
          tries: 0,
          next_at: created,
          created,
        }));
      await store.subscriberMails.insert(mails('many', 300, now - 60_000));
      await store.subscriberMails.insert(mails('few', 3, now));
      // More accounts than mails in one turn.
      for (let number = 0; number < 12; number += 1) {
        await store.subscriberMails.insert(mails(`one-${number}`, 1, now));
      }
      const sent: string[] = [];
      const mail = {
        async send({ address }: { readonly address: string }) {
          sent.push(address);
          return { isDelivered: true, result: 'sent' } as const;
        },
      };
      const notifier = new SubscriberNotifier({ store, clock, logger: quietLogger, mail });
      while ((await notifier.turn()) !== null);
      expect(sent).toHaveLength(315);
      const lastOf = (part: string) => sent.findLastIndex((address) => address.includes(part));
      expect(lastOf('@few')).toBeLessThan(40);
      expect(lastOf('@one')).toBeLessThan(40);
      expect(lastOf('@many')).toBe(314);
    }),
  );
}
