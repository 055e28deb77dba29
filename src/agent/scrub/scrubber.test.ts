import { mask } from '@picket/checks/judging/credential-headers.ts';
import { isMaskable, isWord } from '@picket/lib/bounds/maskable.ts';
import { ExactNumber } from '@picket/lib/json/exact-number.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeReport, withoutDetail } from './report-texts.ts';
import { Scrubber } from './scrubber.ts';

const secret = 'p@ss/w"örd+& 1';

describe('Scrubber', () => {
  it.each([
    ['as it is', secret],
    ['in the middle of a text', `before${secret}after`],
    ['escaped for JSON', JSON.stringify({ secret })],
    ['escaped for JSON twice', JSON.stringify(JSON.stringify({ secret }))],
    ['escaped for JSON in ASCII', '"p@ss/w\\"\\u00f6rd+& 1"'],
    ['escaped for JSON with slashes', '"p@ss\\/w\\"\\u00F6rd+& 1"'],
    ['encoded for a URL', `https://example.com/?a=${encodeURIComponent(secret)}`],
    [
      'encoded for a URL in lower case',
      encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
    ],
    ['encoded as a form', new URLSearchParams({ secret }).toString()],
    ['in Base64', Buffer.from(secret).toString('base64')],
    ['in Base64 after one byte', Buffer.from(`x${secret}`).toString('base64')],
    ['in Base64 after two bytes', Buffer.from(`xy${secret}yx`).toString('base64')],
    ['in Base64 for URLs', Buffer.from(`user:${secret}`).toString('base64url')],
    ['as a Basic credential', `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`],
  ])('masks a secret %s', (_form, text) => {
    const json = new Scrubber([secret]).json({ body: text, list: [text] });
    const parsed = JSON.parse(json) as { body: string; list: string[] };
    for (const seen of [parsed.body, ...parsed.list]) {
      expect(seen).toContain(mask);
      expect(seen).not.toBe(text);
      const pieces = [secret, 'w"ö', Buffer.from(secret).toString('base64').slice(4, 12), 'w%22', 'w%22%C3'];
      for (const piece of pieces) expect(seen).not.toContain(piece);
    }
  });

  it('never breaks the JSON, whatever the secret and the value', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6 }).filter((secret) => isMaskable(secret) && !isWord(secret)),
        fc.jsonValue(),
        fc.string(),
        (any, value, around) => {
          const scrubber = new Scrubber([any]);
          const json = scrubber.json({ value, text: around + any + around });
          const parsed = JSON.parse(json) as { text: string };
          expect(parsed.text).not.toContain(any);
          return true;
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['backticks', 'run it with `tok_9f8e7d6c5b4a` once'],
    ['carets', 'the key ^tok_9f8e7d6c5b4a^ is'],
    ['escaped backticks', String.raw`with \`tok_9f8e7d6c5b4a\` and`],
  ])('leaves %s around a secret unchanged', (_form, text) => {
    expect(new Scrubber(['tok_9f8e7d6c5b4a']).text(text)).toBe(text.replace('tok_9f8e7d6c5b4a', mask));
  });

  it('leaves structure, numbers and its own keys unchanged', () => {
    const scrubber = new Scrubber(['status', '123456', 'null,"', 'true}']);
    const value = { status: 1_234_567, other: [null, 'x', true], deep: { status: true } };
    expect(JSON.parse(scrubber.json(value))).toEqual(value);
  });

  it('masks secrets in keys of foreign maps', () => {
    const value = { headers: { 'x-hunter22': 'a' }, assertions: [{ actual: { hunter22: { hunter22: 1 } } }] };
    expect(JSON.parse(new Scrubber(['hunter22']).json(value))).toEqual({
      headers: { [`x-${mask}`]: 'a' },
      assertions: [{ actual: { [mask]: { [mask]: 1 } } }],
    });
  });

  it('masks credential headers in any spelling, in request and response', () => {
    const headers = {
      Authorization: 'Bearer a',
      COOKIE: 'b',
      'Set-Cookie': 'c=d',
      'X-Api-Key': 'e',
      'proxy-authorization': 'f',
      accept: 'text/html',
    };
    const json = new Scrubber([]).json({
      request: { headers },
      response: { headers, body: '{"cookie":"a","cake":"kept"}' },
    });
    const expected = {
      ...Object.fromEntries(Object.keys(headers).map((name) => [name, mask])),
      accept: 'text/html',
    };
    expect(JSON.parse(json)).toEqual({
      request: { headers: expected },
      response: { headers: expected, body: `{"cookie":"${mask}","cake":"kept"}` },
    });
  });

  it('masks credential headers in messages, logs and lists of entries', () => {
    const scrubber = new Scrubber([]);
    const message = 'Call log:\n  - → GET http://a/\n    - Authorization: Bearer a.b\n    - accept: */*';
    expect(scrubber.text(message)).toBe(message.replace('Bearer a.b', mask));
    expect(
      JSON.parse(scrubber.json({ headers: [{ name: 'Cookie', value: 'a=b' }], 'x-api-key': ['c'] })),
    ).toEqual({
      headers: [{ name: 'Cookie', value: mask }],
      'x-api-key': [mask],
    });
    const entries = [{ time: 1, level: 'INFO', msg: "{ Authorization: 'Bearer a.b' }" }] as const;
    expect(scrubber.log(entries)).toEqual([{ ...entries[0], msg: `{ Authorization: '${mask}' }` }]);
  });

  it('masks a secret that is a word where it stands alone, but not inside other words', () => {
    const scrubber = new Scrubber(['locked', 'Summer2026']);
    const ordinary = 'The door was blocked; it unlocked 2 lockeds.';
    expect(scrubber.text(ordinary)).toBe(ordinary);
    for (const text of ['is locked.', 'pw=locked&a', '"a\\nlocked"', 'locked', 'XLocked'.replace('L', 'l')]) {
      expect(scrubber.text(text)).toBe(text.replace('locked', mask));
    }
    expect(scrubber.text(`aSummer2026b ${Buffer.from('locked').toString('base64')}`)).toBe(
      `a${mask}b ${mask}`,
    );
  });

  it('masks a secret with colour codes inside', () => {
    const secret = 'tok_9f8e7d6c5b4a39';
    const scrubber = new Scrubber([secret]);
    const coloured = 'got "tok_9f8e\u001b[7m7d6c5b\u001b[27m4a39" \u001b[2mend\u001b[22m';
    const clean = `got "${mask}" \u001b[2mend\u001b[22m`;
    expect(scrubber.text(coloured)).toBe(clean);
    expect(JSON.parse(scrubber.json({ message: coloured }))).toEqual({ message: clean });
    expect(scrubber.text('tok_9f8e<span class="hit">7d6c5b</span>4a39 <b>')).toBe(`${mask} <b>`);
    expect(scrubber.text(String.raw`'tok_9f8e\x1B[7m7d6c5b\x1B[27m4a39'`)).toBe(`'${mask}'`);
    expect(scrubber.text(JSON.stringify(JSON.stringify(coloured)))).not.toContain('tok_');
  });

  it('masks user info in URLs', () => {
    expect(new Scrubber([]).text('redis://u:p@ss@host:1')).toBe(`redis://${mask}@host:1`);
    const value = { href: 'https://user:pass@example.com/a@b', text: 'see ftp://me@host and mail me@host' };
    expect(JSON.parse(new Scrubber([]).json(value))).toEqual({
      href: `https://${mask}@example.com/a@b`,
      text: `see ftp://${mask}@host and mail me@host`,
    });
  });

  it('does not mask what is short or everywhere', () => {
    const text = 'https://example.com/artifact/ 12345';
    expect(new Scrubber(['12345', 'https://', '/artifact/', '']).text(text)).toBe(text);
  });

  it('masks the longer of two secrets completely', () => {
    expect(new Scrubber(['secret', 'secret-and-more']).text('secret-and-more secret')).toBe(
      `${mask} ${mask}`,
    );
  });

  it('masks a secret whose end was cut off', () => {
    const long = 'eyJhbGciOiJIUzI1NiJ9.'.repeat(30);
    const scrubber = new Scrubber([long]);
    for (const kept of [6, 7, 100, long.length - 1]) {
      const cut = long.slice(0, kept);
      const filled = `${'body '.repeat(15_000)}${cut}`;
      expect(scrubber.text(filled)).toBe(`${'body '.repeat(15_000)}${mask}`);
      expect(JSON.parse(scrubber.json({ body: filled }))).toEqual({
        body: `${'body '.repeat(15_000)}${mask}`,
      });
      expect(scrubber.text(`expected nope, received ${cut}… and more`)).toBe(
        `expected nope, received ${mask}… and more`,
      );
      expect(JSON.parse(scrubber.json({ body: `x${cut}…` }))).toEqual({ body: `x${mask}…` });
    }
    expect(scrubber.text('eyJ…')).toBe('eyJ…');
    expect(scrubber.text('eyJhbGciX')).toBe('eyJhbGciX');
  });

  it('leaves an uncut text unchanged that ends like the beginning of a secret', () => {
    const scrubber = new Scrubber(['correct-horse-battery', 'https://hooks.example.com/services/T0/B1/xYz9']);
    const texts = [
      'this is correct',
      'correct-horse',
      'Loading correct...',
      'https://hooks.example.com',
      'https://hooks.example.com/',
      'GET https://hooks.example.com/… failed',
      'connect to https://hooks.example.com/other',
      'getaddrinfo ENOTFOUND hooks.example.com',
    ];
    for (const text of texts) expect(scrubber.text(text)).toBe(text);
    expect(scrubber.text('POST https://hooks.example.com/serv…')).toBe(`POST ${mask}…`);
  });

  it('masks numbers that assertions compare, and no others', () => {
    const scrubber = new Scrubber(['847291553064', '007654321', '12345678901234567890']);
    const assertion = { actual: 847_291_553_064, target: 847_291_553_064 };
    const value = {
      assertions: [assertion, { actual: [1, 7_654_321, { pin: 8_472_915_530_641 }], target: '1' }],
      // biome-ignore lint/correctness/noPrecisionLoss: what JSON.parse makes of it
      long: { actual: 12345678901234567890 },
      startedAt: 847_291_553_064,
    };
    expect(JSON.parse(scrubber.json(value))).toEqual({
      assertions: [
        { actual: mask, target: mask },
        { actual: [1, mask, { pin: mask }], target: '1' },
      ],
      long: { actual: mask },
      startedAt: 847_291_553_064,
    });
  });

  it('keeps every digit of the numbers that it does not mask', () => {
    const scrubber = new Scrubber(['hunter22', '98765432109876543210']);
    const detail = {
      body: 'hunter22',
      assertions: [
        { actual: new ExactNumber('9007199254740993'), target: '1' },
        { actual: new ExactNumber('98765432109876543210.5'), target: '1' },
      ],
    };
    expect(scrubber.json(detail)).toBe(
      `{"body":"${mask}","assertions":[{"actual":9007199254740993,"target":"1"},{"actual":"${mask}","target":"1"}]}`,
    );
  });

  it('masks hosts, headers and mail domains in the case that a protocol uses', () => {
    const scrubber = new Scrubber([
      'Api-Secret7.Example.COM',
      'Tok_9fQ2x7LmZpR4',
      'Ops7@Intern.Example.COM',
      'https://Deploy.Example.COM:8443/Path/Token?a=B',
      'Geheim7-Müller.example',
    ]);
    for (const text of [
      'getaddrinfo ENOTFOUND api-secret7.example.com',
      'https://api-secret7.example.com/a',
      'x-tok_9fq2x7lmzpr4: 1',
      'X-Tok_9fq2x7lmzpr4: 1',
      'mail to Ops7@intern.example.com',
      'mail to ops7@intern.example.com',
      'GET https://deploy.example.com:8443/Path/Token?a=B',
      'deploy https://deploy.example.com:8443/path/token?a=b',
      `ENOTFOUND ${new URL('http://Geheim7-Müller.example').host}`,
    ]) {
      expect(scrubber.text(text), text).toContain(mask);
    }
    expect(scrubber.text('https://deploy.example.com:8443/other')).not.toContain(mask);
  });

  it('masks the lines of a multi-line secret, including short ones that do not look like words', () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0B'}\nwIDAQAB\n-----END PRIVATE KEY-----\n`;
    const scrubber = new Scrubber([key, 'host=db7\nPASSWORD=hunter22-x\nservices:\nversion']);
    expect(scrubber.text('a wIDAQAB b')).toBe(`a ${mask} b`);
    expect(scrubber.text('a PASSWORD=hunter22-x b')).toBe(`a ${mask} b`);
    for (const text of ['services: version', '-----BEGIN PRIVATE KEY-----']) {
      expect(scrubber.text(text)).toBe(text);
    }
  });

  it('masks the part of a secret on either side of a cut', () => {
    const scrubber = new Scrubber(['correct-horse-battery']);
    expect(scrubber.text('it wrote: corr…')).toBe(`it wrote: ${mask}…`);
    expect(scrubber.text('…tery and more')).toBe(`…${mask} and more`);
    expect(JSON.parse(scrubber.json({ text: 'a corr…' }))).toEqual({ text: `a ${mask}…` });
    expect(scrubber.text('cor…ery, … or corr')).toBe('cor…ery, … or corr');
  });

  it('masks a multi-line secret in the log of a run, whatever is written between its lines', () => {
    const scrubber = new Scrubber(['first line\nand second\nand third']);
    const entry = (msg: string, level: 'INFO' | 'ERROR' = 'INFO') => ({ time: 1, msg, level });
    const entries = [
      entry('a first line of mine'),
      entry('oops', 'ERROR'),
      entry('and second'),
      entry(''),
      entry('and third'),
      entry('first line'),
      entry('and second'),
      entry('and third it is'),
    ];
    const expected = [
      'a first line of mine',
      'oops',
      'and second',
      '',
      'and third',
      mask,
      mask,
      `${mask} it is`,
    ];
    expect(scrubber.log(entries).map(({ msg }) => msg)).toEqual(expected);
    expect(JSON.parse(scrubber.json({ jobLog: entries })).jobLog[7]).toEqual(entry(`${mask} it is`));
    const stages = JSON.parse(
      scrubber.json({ jobLog: { setup: entries, request: [], teardown: [] } }),
    ).jobLog;
    expect(stages.setup.map(({ msg }: { msg: string }) => msg)).toEqual(expected);
    expect(JSON.parse(scrubber.json({ jobLog: null }))).toEqual({ jobLog: null });
  });

  it('recognizes the rest of a secret in a file name', () => {
    const scrubber = new Scrubber([secret, '#!a b']);
    expect(scrubber.text('traces/p-ss-w-rd-1.zip')).toBe(`traces/${mask}.zip`);
    expect(scrubber.text('p-ss-w-örd-1-chromium/trace.zip')).toBe(`${mask}-chromium/trace.zip`);
    expect(scrubber.text('a -a-b')).toBe('a -a-b');
  });

  it('masks a secret that lost its white space', () => {
    const scrubber = new Scrubber(['super-secret\n', ' line\r\nbreak ']);
    expect(scrubber.text('a super-secret b')).toBe(`a ${mask} b`);
    expect(scrubber.text('q=linebreak')).toContain(mask);
  });

  it('keeps a key called __proto__', () => {
    const value: unknown = JSON.parse('{"actual":{"__proto__":{"a":"hunter22"}}}');
    expect(new Scrubber(['hunter22']).json(value)).toBe(`{"actual":{"__proto__":{"a":"${mask}"}}}`);
  });

  const envelope = {
    resultId: 'aaaaaaaa-0000-4000-8000-00000target',
    runId: 'b',
    leaseNumber: 1,
    startedAt: 1,
    stoppedAt: 2,
    responseTimeMs: 1,
    startDelayMs: 0,
    agentLagMs: 0,
    hostStartedAt: null,
    agentOverheadMs: 0,
    isTimingDoubtful: false,
    certificateExpiresAt: null,
    isDegraded: null,
    overMaxResponseTime: null,
    failure: {
      ...{ owner: 'target' as const, code: 'CONNECTION_REFUSED' as const, message: 'no hunter22' },
      details: { host: 'hunter22.test', port: 443, loop: ['hunter22', 'a'] },
    },
    errorMessages: ['no hunter22', 'no'],
  };

  it('masks the messages of an envelope and nothing else in it', () => {
    const scrubber = new Scrubber(['hunter22', 'target', 'CONNECTION_REFUSED']);
    expect(JSON.parse(scrubber.envelope(envelope))).toEqual({
      ...envelope,
      failure: {
        ...envelope.failure,
        message: `no ${mask}`,
        details: { host: `${mask}.test`, port: 443, loop: [mask, 'a'] },
      },
      errorMessages: [`no ${mask}`, 'no'],
    });
  });

  it('marks each failure as having facts, even without any: services recognize older agents by that', () => {
    const { details: _details, ...failure } = envelope.failure;
    const bare = JSON.parse(new Scrubber([]).envelope({ ...envelope, failure }));
    expect(bare.failure).toEqual({ ...failure, details: {} });
  });

  it('keeps a failure message within the limit of the service, although masks are longer than secrets', () => {
    const long = { ...envelope, failure: { ...envelope.failure, message: 'abcdef'.repeat(682) } };
    const { failure } = JSON.parse(new Scrubber(['abcdef']).envelope(long)) as typeof envelope;
    expect(failure.message.length).toBeLessThanOrEqual(4096);
  });

  it('builds a report from its two texts, with or without the detail', () => {
    const scrubber = new Scrubber([]);
    const texts = { envelopeJson: scrubber.envelope(envelope), detailJson: scrubber.json({ a: 1 }) };
    expect(JSON.parse(wholeReport(texts))).toEqual({ ...envelope, detail: { a: 1 } });
    expect(JSON.parse(wholeReport(withoutDetail(texts)))).toEqual({
      ...envelope,
      errorMessages: [...envelope.errorMessages, expect.stringContaining('rejected the detail')],
      detail: null,
    });
  });
});
