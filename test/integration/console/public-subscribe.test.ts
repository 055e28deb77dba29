import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { openHarness, type ServiceHarness, until } from '../../helpers/service/service.ts';
import { Visitor } from '../../helpers/service/visitor.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 22, 12));
let harness: ServiceHarness;
let pageId: string;
let serviceId: string;
beforeAll(async () => {
  harness = await openHarness({ clock, hasMailer: true, publicUrl: 'https://picket.example.com' });
  serviceId = (await harness.call('POST', '/v1/status-pages/services', { name: 'Shop' })).body.id;
  const cards = [{ name: 'Core', services: [{ id: serviceId }] }];
  pageId = (await harness.call('POST', '/v1/status-pages', { name: 'Acme', url: 'acme', cards })).body.id;
});
afterAll(() => harness.close());

let visitors = 0;
/** A visitor with a separate address: requests are limited per address. */
function somebody(): Visitor {
  visitors += 1;
  return new Visitor(harness.app, { address: `203.0.113.${visitors}` });
}
const mails = async () =>
  harness.store.subscriberMails.claim(harness.accountId, Number.MAX_SAFE_INTEGER, 1_000, 0);
const mailsTo = async (address: string) => (await mails()).filter((mail) => mail.address === address);
const listed = async () =>
  (await harness.call('GET', `/v1/status-pages/${pageId}/subscriptions`)).body.entries;
const tell = () =>
  harness.call('POST', '/v1/status-pages/incidents', {
    name: 'Orders fail',
    severity: 'MAJOR',
    services: [{ id: serviceId }],
    incidentUpdates: [{ description: 'Looked into.', status: 'INVESTIGATING', notifySubscribers: true }],
  });
/** Requests a subscription. Returns the path of the link in the mail. */
async function ask(address: string): Promise<string> {
  const { status } = await somebody().post('/status/acme/subscribe', { address });
  expect(status).toBe(200);
  const [mail] = await mailsTo(address);
  return /https:\/\/picket\.example\.com(\/subscriptions\/[\w-]+\/confirm)/.exec(mail?.text ?? '')?.[1] ?? '';
}

describe('subscribing by mail', () => {
  it('begins with the button behind the link, and ends with that of any mail', async () => {
    expect((await somebody().get('/status/acme')).body).toContain('action="/status/acme/subscribe"');
    const link = await ask('Ann@Example.com'.toLowerCase());
    expect(await listed()).toMatchObject([{ address: 'ann@example.com', status: 'PENDING' }]);
    // Mail scanners follow links; a GET has no effect.
    expect((await somebody().get(link)).body).toContain('>Subscribe</button>');
    expect((await listed())[0].status).toBe('PENDING');
    await tell();
    expect(await mailsTo('ann@example.com')).toHaveLength(1);
    expect((await somebody().post(link, {})).body).toContain('You are subscribed');
    expect((await somebody().post(link, {})).status).toBe(200);
    await tell();
    const [, told] = await mailsTo('ann@example.com');
    expect(told?.subject).toBe('[Acme] Investigating: Orders fail');
    const end = (told?.unsubscribe_url ?? '').replace('https://picket.example.com/v1/public', '');
    expect((await somebody().get(end)).body).toContain('>Unsubscribe</button>');
    expect(await listed()).toHaveLength(1);
    expect((await somebody().post(end, {})).status).toBe(200);
    expect(await listed()).toEqual([]);
    expect((await somebody().post(end, {})).status).toBe(404);
  });

  it('reveals no subscribers, and floods no address', async () => {
    const first = await somebody().post('/status/acme/subscribe', { address: 'bea@example.com' });
    const again = await somebody().post('/status/acme/subscribe', { address: 'BEA@example.com' });
    expect(again.body).toBe(first.body);
    expect(await mailsTo('bea@example.com')).toHaveLength(1);
    clock.advance(3_600_000);
    await somebody().post('/status/acme/subscribe', { address: 'bea@example.com' });
    expect(await mailsTo('bea@example.com')).toHaveLength(2);
    const [row] = await listed();
    await harness.store.subscriptions.confirm(
      (await harness.store.subscriptions.ofAddress(pageId, row.address))?.token ?? '',
      0,
      clock.wallMs(),
    );
    clock.advance(3_600_000);
    const known = await somebody().post('/status/acme/subscribe', { address: 'bea@example.com' });
    expect(known.body).toBe(first.body);
    expect(await mailsTo('bea@example.com')).toHaveLength(2);
  });

  it('refuses invalid addresses, other sites, and too many at once', async () => {
    const one = somebody();
    const wrong = await one.post('/status/acme/subscribe', { address: '"><script>alert(1)</script>' });
    expect(wrong.status).toBe(422);
    expect(wrong.body).not.toContain('<script>alert');
    expect(wrong.body).toContain('This is not a mail address.');
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await one.post('/status/acme/subscribe', { address: 'c@example.com' }, foreign)).status).toBe(
      403,
    );
    const answers = [];
    for (let index = 0; index < 6; index += 1) {
      answers.push(await one.post('/status/acme/subscribe', { address: `d${index}@example.com` }));
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await one.get('/subscriptions/never-was/confirm')).status).toBe(200);
    expect((await somebody().post('/subscriptions/never-was/confirm', {})).status).toBe(404);
    expect((await somebody().post('/status/no-page/subscribe', { address: 'e@example.com' })).status).toBe(
      404,
    );
  });

  it('lets others in while one visitor floods the page, and mails a stranger only a few times', async () => {
    const pages: string[] = [];
    for (let index = 0; index < 7; index += 1) {
      const { body } = await harness.call('POST', '/v1/status-pages', {
        name: `P${index}`,
        url: `full-${index}`,
        cards: [],
      });
      pages.push(body.id);
      await somebody().post(`/status/full-${index}/subscribe`, { address: 'victim@example.com' });
    }
    expect(await mailsTo('victim@example.com')).toHaveLength(5);
    const now = clock.wallMs();
    await harness.store.subscriptions.insertNew(
      Array.from({ length: 1_000 }, (_, index) => ({
        id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        status_page_id: pages[6] ?? '',
        type: 'EMAIL',
        address: `bot-${index}@example.com`,
        status: 'PENDING',
        token: `bot-${index}`,
        created: now + index,
        updated: null,
      })),
    );
    const full = await somebody().post('/status/full-6/subscribe', { address: 'real@example.com' });
    expect(full.status).toBe(429);
    clock.advance(16 * 60_000);
    const later = await somebody().post('/status/full-6/subscribe', { address: 'real@example.com' });
    expect(later.status).toBe(200);
    expect(await mailsTo('real@example.com')).toHaveLength(1);
    expect((await harness.store.subscriptions.counts(pages[6] ?? '')).PENDING).toBe(1_000);
  });

  it('expires after two days without the button, and is deleted', async () => {
    const link = await ask('late@example.com');
    clock.advance(2 * 86_400_000 + 1_000);
    expect((await somebody().post(link, {})).status).toBe(404);
    harness.startRetention();
    await until('it is forgotten', async () =>
      (await listed()).every(({ address }: { address: string }) => address !== 'late@example.com'),
    );
    expect((await listed()).map(({ address }: { address: string }) => address)).toContain('bea@example.com');
  });

  it('is not offered if mail cannot be sent', async () => {
    const mute = await openHarness({ clock, publicUrl: 'https://picket.example.com' });
    try {
      await mute.call('POST', '/v1/status-pages', { name: 'Acme', url: 'acme', cards: [] });
      const visitor = new Visitor(mute.app);
      expect((await visitor.get('/status/acme')).body).not.toContain('/subscribe');
      expect((await visitor.post('/status/acme/subscribe', { address: 'a@example.com' })).status).toBe(404);
    } finally {
      await mute.close();
    }
  });
});
