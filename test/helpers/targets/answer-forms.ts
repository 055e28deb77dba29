import type { Socket } from 'node:net';

/** Raw responses of HTTP/1 servers, and curl 7.88's results for them. */
export interface AnswerForm {
  readonly name: string;
  /** The response; the connection closes after it, unless `thenReset` is set. */
  readonly raw: string;
  /** Exit code of curl. */
  readonly curlExit: number;
  /** The body that curl prints. */
  readonly body?: string;
  /** The status that curl and Picket report, if it is not 200. */
  readonly status?: number;
  /** Set if Picket differs from curl on purpose: the kind of failure it reports, or null if it accepts the response. */
  readonly ours?: 'response-malformed' | 'connection-reset' | null;
  readonly thenReset?: boolean;
}

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const five = `${ok}Content-Length: 5\r\n\r\nhello`;

export const answerForms: readonly AnswerForm[] = [
  { name: 'an ordinary one', raw: five, curlExit: 0, body: 'hello' },
  { name: '100 Continue before', raw: `HTTP/1.1 100 Continue\r\n\r\n${five}`, curlExit: 0, body: 'hello' },
  {
    name: '103 Early Hints twice before',
    raw: `${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(2)}${five}`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: '102 with a Content-Length before',
    raw: `HTTP/1.1 102 Processing\r\nContent-Length: 9\r\n\r\n${five}`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'an unasked 101',
    raw: 'HTTP/1.1 101 X\r\n\r\n',
    curlExit: 52,
    ours: 'response-malformed',
  },
  {
    name: 'an unasked 101 with an Upgrade',
    raw: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    curlExit: 52,
    ours: 'response-malformed',
  },
  {
    name: 'blanks behind a length',
    raw: `${ok}Content-Length: 5  \r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a tab behind a length',
    raw: `${ok}Content-Length:\t5\t\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'the same length twice',
    raw: `${ok}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'the same length twice in a line',
    raw: `${ok}Content-Length: 5, 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a folded header',
    raw: `${ok}X-A: a\r\n b\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  { name: 'bare line feeds', raw: 'HTTP/1.1 200 OK\nContent-Length: 5\n\nhello', curlExit: 0, body: 'hello' },
  { name: 'bare line feeds in chunks', raw: `${chunked}5\nhello\n0\n\n`, curlExit: 0, body: 'hello' },
  {
    name: 'chunks and a length',
    raw: `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a blank behind a chunk size',
    raw: `${chunked}5 \r\nhello\r\n0 \r\n\r\n`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'chunk extensions and trailers',
    raw: `${chunked}5;a=b;c="d"\r\nhello\r\n0;x\r\nX-T: 1\r\n\r\n`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a chunk size of sixteen digits',
    raw: `${chunked}0000000000000005\r\nhello\r\n00\r\n\r\n`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a transfer coding that says nothing',
    raw: `${ok}Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'chunks that are spelt otherwise',
    raw: `${ok}Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    curlExit: 0,
    body: 'hello',
  },
  { name: 'no reason', raw: 'HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello', curlExit: 0, body: 'hello' },
  {
    name: 'two blanks before the status',
    raw: 'HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello',
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'HTTP/2 where HTTP/1 is spoken',
    raw: 'HTTP/2 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'HTTP/2.0 where HTTP/1 is spoken',
    raw: 'HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    curlExit: 0,
    body: 'hello',
  },
  { name: 'a body until the end', raw: `${ok}\r\nhello`, curlExit: 0, body: 'hello' },
  { name: 'HTTP/1.0', raw: 'HTTP/1.0 200 OK\r\n\r\nhello', curlExit: 0, body: 'hello' },
  {
    name: 'a 204 with a length',
    raw: 'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n',
    curlExit: 0,
    body: '',
    status: 204,
  },
  {
    name: 'a blank before a colon',
    raw: `${ok}X-A : b\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'letters beyond ASCII',
    raw: `${ok}X-\xe4: \xfc\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: '100 kB of headers',
    raw: `${ok}${headers(100, 1000)}Content-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'one header of 90 kB',
    raw: `${ok}X-A: ${'a'.repeat(90_000)}\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a second answer behind',
    raw: `${five}${ok}Content-Length: 5\r\n\r\nother`,
    curlExit: 0,
    body: 'hello',
  },
  {
    name: 'a body that is too short',
    raw: `${ok}Content-Length: 9\r\n\r\nhello`,
    curlExit: 18,
    ours: 'connection-reset',
  },
  { name: 'chunks without an end', raw: `${chunked}5\r\nhello\r\n`, curlExit: 18, ours: 'connection-reset' },
  {
    name: 'chunks without the last line',
    raw: `${chunked}5\r\nhello\r\n0\r\n`,
    curlExit: 18,
    ours: 'connection-reset',
  },
  { name: 'no answer', raw: '', curlExit: 52, ours: 'connection-reset' },
  { name: 'half a head', raw: 'HTTP/1.1 200 OK\r\nContent-', curlExit: 0, ours: 'connection-reset' },
  {
    name: 'a body until a reset',
    raw: `${ok}\r\nhello`,
    thenReset: true,
    curlExit: 56,
    ours: 'connection-reset',
  },
  {
    name: 'chunks until a reset',
    raw: `${chunked}5\r\nhel`,
    thenReset: true,
    curlExit: 56,
    ours: 'connection-reset',
  },
  { name: 'a whole answer, then a reset', raw: five, thenReset: true, curlExit: 0, body: 'hello' },
  {
    name: 'whole chunks, then a reset',
    raw: `${chunked}5\r\nhello\r\n0\r\n\r\n`,
    thenReset: true,
    curlExit: 0,
    body: 'hello',
  },
  { name: 'no HTTP', raw: 'SSH-2.0-OpenSSH_9.2\r\n', curlExit: 1, ours: 'response-malformed' },
  {
    name: 'HTTP/3 in the wrong place',
    raw: 'HTTP/3 200 OK\r\n\r\n',
    curlExit: 1,
    ours: 'response-malformed',
  },
  {
    name: 'a chunk size that is none',
    raw: `${chunked}zz\r\nhello\r\n`,
    curlExit: 56,
    ours: 'response-malformed',
  },
  {
    name: 'a NUL in a header',
    raw: `${ok}X-A: a\0b\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 8,
    ours: 'response-malformed',
  },
  {
    name: 'a length that is none',
    raw: `${ok}Content-Length: x\r\n\r\nhello`,
    curlExit: 8,
    ours: 'response-malformed',
  },
  {
    name: 'a length below zero',
    raw: `${ok}Content-Length: -5\r\n\r\nhello`,
    curlExit: 8,
    ours: 'response-malformed',
  },
  {
    name: 'different lengths',
    raw: `${ok}Content-Length: 2\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 0,
    ours: 'response-malformed',
  },
  {
    name: 'a header without a colon',
    raw: `${ok}X-A\r\nContent-Length: 5\r\n\r\nhello`,
    curlExit: 8,
    ours: 'response-malformed',
  },
];

/** `count` headers of `sizeBytes` bytes each. */
function headers(count: number, sizeBytes: number): string {
  return Array.from({ length: count }, (_, index) => `X-${index}: `.padEnd(sizeBytes, 'v'))
    .join('\r\n')
    .concat('\r\n');
}

/** Sends the response of a form. */
export function answerWith(socket: Socket, { raw, thenReset }: AnswerForm): void {
  const bytes = Buffer.from(raw, 'latin1');
  if (thenReset) socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 20));
  else socket.end(bytes);
}
