import { expect, it } from 'vitest';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { cutForms, otherForms, rareForms } from '../../helpers/agent/rare-forms.ts';
import { type WrittenSecret, writtenForms } from '../../helpers/agent/scrub-forms.ts';
import { sampleOf } from '../../helpers/night.ts';
import { createLocation, startServiceProcess, until } from '../../helpers/picket-process.ts';
import { startHttpReceiver, startMailReceiver } from '../../helpers/service/alert-receivers.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';

const token = 'Tok-9fQ2x7LmZpR4sVb8';
const password = `p@ss'w"örd+& 100%`;
const pin = '847291553064';
const metricsToken = 'metrics-token-of-the-test';
const isText = ({ form, leak }: WrittenSecret) =>
  leak.length >= 8 && !/^UTF-(?:16|32)/.test(form) && form !== 'Latin-1';
const forms = [
  ...[token, password].flatMap((secret) => [
    ...writtenForms(secret),
    ...rareForms(secret),
    ...cutForms(secret),
  ]),
  ...[token, password].flatMap(otherForms),
];
/** Texts that must not appear anywhere: each form as a target writes it, and names that contain the token. */
const leaks = [
  ...forms.filter(isText).map(({ form, leak }) => ({ form, leak: leak.toString() })),
  { form: 'lower case', leak: token.toLowerCase() },
  { form: 'number', leak: pin },
];

it('reveals no form of a secret in results, alerts, mails, pages, metrics and logs', {
  timeout: 120_000,
}, async () => {
  // Messages quote the beginning of a body: each check has another form there.
  const texts = sampleOf(forms.filter(isText), 240).map(({ bytes }) => bytes.toString());
  const bodies = texts.flatMap((_, index) =>
    index % 12 === 0 ? [texts.slice(index, index + 12).join(' ')] : [],
  );
  const target = await startHttpTarget({
    routes: {
      text: (request, reply) => {
        reply.writeHead(200, {
          'content-type': 'text/plain',
          [`x-${token}`]: 'a',
          'x-echo': encodeURIComponent(password),
        });
        reply.end(bodies[Number(request.query.get('part'))]);
      },
      json: (_request, reply) => {
        reply.writeHead(200, { 'content-type': 'application/json' });
        reply.end(`{"pin":${pin},"list":[1,${pin}]}`);
      },
      broken: (_request, reply) => {
        reply.writeHead(200, { 'content-type': 'application/json' });
        reply.end(`{"token": ${token}, "more": "${'x'.repeat(60)}"}`);
      },
    },
  });
  const spool = temporaryFolder();
  await using hook = await startHttpReceiver();
  await using mails = await startMailReceiver();
  await using service = await startServiceProcess({
    LOG_LEVEL: 'debug',
    SMTP_URL: mails.url,
    MAIL_FROM: 'picket@example.com',
    METRICS_TOKEN: metricsToken,
    ALERTS_PER_MINUTE: '0',
    EGRESS_ALLOW: '127.0.0.1',
  });
  const location = await createLocation(service, 'sinks');
  const agent = new AgentProcess({ SERVICE_URL: service.url, API_KEY: location.key, SPOOL_DIR: spool.path });
  try {
    for (const [key, value] of Object.entries({ TOKEN: token, PASSWORD: password, PIN: pin })) {
      await service.api('POST', '/v1/variables', { key, value, secret: true });
    }
    const template = '{{ALERT_TITLE}} {{ALERT_TYPE}} {{CHECK_ERROR_MESSAGE}} {{CHECK_NAME}}';
    const channels = [
      { type: 'WEBHOOK', config: { name: 'hook', url: hook.url, template }, groupByCause: false },
      { type: 'WEBHOOK', config: { name: 'of causes', url: hook.url } },
      { type: 'EMAIL', config: { address: 'ops@example.com' }, groupByCause: false },
    ];
    const alertChannelSubscriptions: { alertChannelId: number; activated: boolean }[] = [];
    for (const channel of channels) {
      const { id } = await service.api<{ id: number }>('POST', '/v1/alert-channels', channel);
      alertChannelSubscriptions.push({ alertChannelId: id, activated: true });
    }
    const { dashboardId, customUrl } = await service.api<{ dashboardId: string; customUrl: string | null }>(
      'POST',
      '/v1/dashboards',
      { header: 'Ours' },
    );
    const textCheck = (part: number) => ({
      url: `${target.url}/text?part=${part}&token={{TOKEN}}`,
      assertions: [{ source: 'TEXT_BODY', comparison: 'EQUALS', target: 'nothing {{PASSWORD}}' }],
    });
    const requests = [
      ...bodies.map((_, part) => textCheck(part)),
      {
        url: `${target.url}/json`,
        assertions: [
          { source: 'JSON_BODY', property: '$.pin', comparison: 'NOT_EQUALS', target: '{{PIN}}' },
          { source: 'JSON_BODY', property: '$.list', comparison: 'CONTAINS', target: '{{PIN}}0' },
        ],
      },
      {
        url: `${target.url}/broken`,
        assertions: [{ source: 'JSON_BODY', property: '$.a', comparison: 'EQUALS', target: '1' }],
      },
      { url: 'http://{{TOKEN}}.invalid/' },
    ];
    const ids: string[] = [];
    for (const [index, request] of requests.entries()) {
      const check = await service.api<{ id: string }>('POST', '/v1/checks/api', {
        name: `check ${index}`,
        frequency: 0,
        frequencyOffset: 10,
        doubleCheck: false,
        privateLocations: [location.slugName],
        alertChannelSubscriptions,
        request: {
          method: 'GET',
          headers: [{ key: 'X-Secret', value: '{{PASSWORD}} {{TOKEN}}' }],
          ...request,
        },
      });
      ids.push(check.id);
    }
    await until(
      'every check is told of',
      () => hook.received.length >= ids.length && mails.received.length >= ids.length,
      {
        timeoutMs: 90_000,
        process: service.process,
      },
    );
    const get = async (path: string, bearer?: string) => {
      const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
      return await (await fetch(new URL(path, service.url), { headers })).text();
    };
    const results = await Promise.all(
      ids.map((id) =>
        service.api<object[]>('GET', `/v1/check-results/${id}`).then((list) => JSON.stringify(list)),
      ),
    );
    const sinks: Readonly<Record<string, readonly string[]>> = {
      results,
      webhooks: hook.received.map(({ body, path, headers }) => `${path} ${JSON.stringify(headers)} ${body}`),
      mails: mails.received.flatMap(({ source }) => [source, decodedMail(source)]),
      'public page': [await get(`/v1/public/dashboards/${customUrl ?? dashboardId}`)],
      badges: await Promise.all(ids.map((id) => get(`/v1/badges/checks/${id}`))),
      'metrics of the service': [await get('/metrics', metricsToken)],
      'metrics of the agent': [(await agent.get('/metrics')).body],
      'log of the service': [service.process.output()],
      'log of the agent': [agent.stdout, agent.stderr],
    };
    const found: string[] = [];
    for (const [sink, contents] of Object.entries(sinks)) {
      for (const content of contents) {
        for (const text of [content, unescaped(content)]) {
          found.push(
            ...leaks
              .filter(({ leak }) => text.includes(leak))
              .map(({ form, leak }) => `${sink}: ${form}: ${leak}`),
          );
        }
      }
    }
    expect([...new Set(found)]).toEqual([]);
    expect(sinks.results?.join('')).toContain('*********');
    expect(sinks.webhooks?.join('')).toContain('*********');
    expect(sinks.mails?.join('')).toContain('*********');
  } finally {
    await agent.kill();
    await target.close();
    spool.remove();
  }
});

/** The texts of a JSON document: escapes must not hide a secret. */
function unescaped(text: string): string {
  const texts: string[] = [];
  try {
    JSON.parse(text, (key, value: unknown) => {
      texts.push(key, String(value));
      return value;
    });
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
  }
  return texts.join('\n');
}

/** Decodes the transfer encodings of a mail. */
function decodedMail(source: string): string {
  const lines = source.replaceAll(/=\r?\n/g, '');
  const bytes = lines.replaceAll(/=([0-9A-F]{2})/g, (_, pair: string) =>
    String.fromCharCode(Number.parseInt(pair, 16)),
  );
  const parts = source.match(/(?:^[A-Za-z0-9+/]{40,76}\r?\n)+[A-Za-z0-9+/=]*/gm) ?? [];
  return [
    Buffer.from(bytes, 'latin1').toString(),
    ...parts.map((part) => Buffer.from(part, 'base64').toString()),
  ].join('\n');
}
