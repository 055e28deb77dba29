import { afterEach, beforeEach, expect, it } from 'vitest';
import { type MailReceiver, startMailReceiver } from '../../../helpers/service/alert-receivers.ts';
import { mailParts } from '../../../helpers/service/mail-parts.ts';
import type { AlertStage } from './alert-stage.ts';

/** Mails of alerts at a real mail server. */
export function mailSuite(stage: AlertStage): void {
  let mail: MailReceiver;
  beforeEach(async () => {
    mail = await startMailReceiver();
    stage.alerting = {
      SMTP_URL: mail.url,
      MAIL_FROM: 'Picket <alerts@picket.test>',
      PUBLIC_URL: 'https://picket.test/base/',
    };
    await stage.start();
  });
  afterEach(() => mail[Symbol.asyncDispose]());

  it('mails state, cause, since when, where, and two buttons, as text and as HTML of one content', async () => {
    await stage.channel('EMAIL', { address: 'ops@example.com' });
    const reminders = { amount: 1, interval: 5 };
    const id = await stage.check({ name: '<img src=x>\u202e Shop', alertSettings: { reminders } });
    await stage.runs(id, 'failed');
    const [failure] = await stage.delivered();
    await stage.runs(id, 'passed');
    await stage.delivered();
    const [failed, recovered] = mail.received.map(mailParts);
    if (!failed || !recovered) throw new Error(`${mail.received.length} mails`);
    expect(failed.contentType).toMatch(/^multipart\/alternative/);
    expect(failed.headers.get('auto-submitted')).toBe('auto-generated');
    expect(Date.parse(failed.headers.get('date') ?? '')).toBeGreaterThan(Date.UTC(2026, 0));
    expect([failed, recovered].map(({ headers }) => headers.get('subject'))).toEqual([
      'Failing: <img src=x> Shop · lab',
      'Recovered: <img src=x> Shop · lab',
    ]);
    // One conversation for the episode.
    const thread = failed.headers.get('references');
    expect(thread).toMatch(/^<picket-check-[\w-]+@picket\.test>$/);
    expect([failed.headers.get('in-reply-to'), recovered.headers.get('references')]).toEqual([
      thread,
      thread,
    ]);
    const run = `https://picket.test/base/checks/${id}/runs/${failure.checkResultId}`;
    for (const { text, html } of [failed, recovered]) {
      const links = [...text.matchAll(/^([A-Z][a-z ]+): (https:\S+)$/gm)].map(([, label, url]) => [
        label,
        url,
      ]);
      const anchors = [...html.matchAll(/<a class="(?:main|other)" href="([^"]+)"[^>]*>([^<]+)</g)].map(
        ([, url, label]) => [label, url?.replaceAll('&amp;', '&')],
      );
      expect(anchors).toEqual(links);
      expect(html).not.toMatch(/<img|<script|<[^>]* src=|url\(|@import|<link/);
      expect(html).toContain('max-width:600px');
      expect(html).toContain('prefers-color-scheme:dark');
      for (const [, label, value = ''] of text.matchAll(/^(Since|Where|Failed part): (.+)$/gm)) {
        expect(html).toMatch(new RegExp(`>${label}</th><td[^>]*>${value.replaceAll(/[()]/g, '.')}</td>`));
      }
    }
    expect(failed.text).toContain(`Open the run: ${run}\nAcknowledge: https://picket.test/base/v1/`);
    expect(recovered.text).toMatch(/Open the run: \S+\nOpen the check: https:\S+\n/);
    expect(failed.text).toMatch(/\n\nThe target refused the connection: connect ECONNREFUSED/);
    expect(failed.text).toMatch(/^Since: 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m);
    expect(failed.text).toMatch(/^Where: lab$/m);
    expect(failed.html).toContain('>Failing</p>');
    expect(recovered.html).toContain('>Recovered</p>');
  });

  it('mails the target, the duration, and a link that opens without a key', async () => {
    await stage.channel('EMAIL', { address: 'ops@example.com' });
    const url = 'http://user:password@target.test/shop?token=hush#top';
    const check = await stage.check({ name: '<Shop>', request: { url } });
    await stage.runs(check, 'failed', 'passed');
    await stage.delivered();
    const [failed, recovered] = mail.received.map((one) => mailParts(one).text);
    expect(failed).toContain('Target: http://target.test/shop\n');
    expect(failed).toContain('Duration: 5 ms\n');
    expect(recovered).toContain('Lasted: 1 min\n');
    expect(mail.received.map(({ source }) => source).join('')).not.toMatch(/hush|password/);
    const link = new URL(
      /https:\/\/picket\.test\/base(\/v1\/alert-notifications\/\S+\/page)/.exec(failed ?? '')?.[0] ?? '',
    );
    const page = await stage.harness.app.inject({ url: link.pathname.slice('/base'.length) });
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('&lt;Shop&gt; has failed');
    expect(page.body).toContain('The check is passing.');
    expect(page.body).not.toMatch(/hush|password|<Shop>/);
    const unknown = await stage.harness.call('GET', `/v1/alert-notifications/${check}/page`, undefined, {
      key: null,
    });
    expect(unknown.status).toBe(404);
  });
}
