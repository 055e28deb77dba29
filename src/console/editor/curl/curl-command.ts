import { dictionary } from '@picket/lib/names/dictionary.ts';
import { shellWords } from './shell-words.ts';

interface Pair {
  readonly key: string;
  readonly value: string;
  readonly locked: boolean;
}

/** A request parsed from a curl command, as an HTTP check defines it. */
export interface CurlRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly Pair[];
  readonly body: string;
  readonly bodyType: 'NONE' | 'JSON' | 'FORM' | 'RAW';
  readonly followRedirects: boolean;
  readonly skipSSL: boolean;
  readonly ipFamily: 'IPv4' | 'IPv6';
  readonly auth: {
    readonly type: 'BASIC' | 'DIGEST' | 'NTLM' | 'NEGOTIATE';
    readonly username: string;
    readonly password: string;
    readonly domain: string;
  } | null;
}

export type CurlCommand =
  | { readonly request: CurlRequest; readonly notes: readonly string[]; readonly problem?: never }
  | { readonly request?: never; readonly notes?: never; readonly problem: string };

const methods: readonly string[] = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH'];
/** Headers with credentials: their values are stored hidden. */
const credentialHeader = /^(authorization|proxy-authorization|cookie)$|(api-?key|token|secret)/i;

/** Options by their long names; `value`: whether a word follows. */
interface Option {
  readonly short?: string;
  readonly value?: true;
  /** Reason why the option is ignored; `refused` is the sentence that refuses the command. */
  readonly note?: string;
  readonly refused?: string;
}

const files = 'it reads a local file: replace it with the content of the file';
const options = dictionary<Option>({
  request: { short: 'X', value: true },
  header: { short: 'H', value: true },
  data: { short: 'd', value: true },
  'data-ascii': { value: true },
  'data-raw': { value: true },
  'data-binary': { value: true },
  'data-urlencode': { value: true },
  json: { value: true },
  url: { value: true },
  'url-query': { value: true },
  user: { short: 'u', value: true },
  'oauth2-bearer': { value: true },
  cookie: { short: 'b', value: true },
  'user-agent': { short: 'A', value: true },
  referer: { short: 'e', value: true },
  range: { short: 'r', value: true },
  basic: {},
  digest: {},
  ntlm: {},
  negotiate: {},
  get: { short: 'G' },
  head: { short: 'I' },
  insecure: { short: 'k' },
  location: { short: 'L' },
  ipv4: { short: '4' },
  ipv6: { short: '6' },
  form: {
    short: 'F',
    value: true,
    refused: 'multipart forms (-F) are not supported: send the fields with -d',
  },
  'form-string': { value: true, refused: 'multipart forms (-F) are not supported: send the fields with -d' },
  'upload-file': { short: 'T', value: true, refused: files },
  config: { short: 'K', value: true, refused: files },
  resolve: { value: true, note: 'names are resolved where the check runs' },
  'connect-to': { value: true, note: 'a check connects to the host of the URL' },
  proxy: { short: 'x', value: true, note: 'the proxy is that of the location' },
  'max-time': { short: 'm', value: true, note: 'the form has its own timeouts' },
  'connect-timeout': { value: true, note: 'the form has its own timeouts' },
  retry: { value: true, note: 'retries are further below' },
  cert: { short: 'E', value: true, note: 'client certificates are those of the account' },
  key: { value: true, note: 'client certificates are those of the account' },
  cacert: { value: true, note: 'the agent configures custom CA certificates' },
  http2: { note: 'a check cannot set the HTTP version' },
  'http1.1': { note: 'a check cannot set the HTTP version' },
  http3: { note: 'a check cannot set the HTTP version' },
  'http1.0': { short: '0', note: 'a check cannot set the HTTP version' },
  // Options that only affect curl's output.
  compressed: {},
  silent: { short: 's' },
  'show-error': { short: 'S' },
  verbose: { short: 'v' },
  include: { short: 'i' },
  fail: { short: 'f' },
  'fail-with-body': {},
  'no-buffer': { short: 'N' },
  'progress-bar': { short: '#' },
  output: { short: 'o', value: true },
  'remote-name': { short: 'O' },
  'write-out': { short: 'w', value: true },
  'dump-header': { short: 'D', value: true },
  'cookie-jar': { short: 'c', value: true },
  globoff: { short: 'g' },
  'path-as-is': {},
});
const longOfShort = new Map(
  Object.entries(options).flatMap(([long, { short }]) =>
    short === undefined ? [] : [[short, long] as const],
  ),
);

/** Parses a command copied from a terminal, from documentation or from a browser's network panel. */
export function parseCurl(text: string): CurlCommand {
  const { words, problem } = shellWords(text.trim());
  if (words === undefined) return { problem: `This command cannot be read: ${problem}.` };
  const [program, ...rest] = words[0] === '$' ? words.slice(1) : words;
  if (program === undefined) return { problem: 'Paste a curl command first.' };
  if (!/^(.*[/\\])?curl(\.exe)?$/.test(program)) {
    return { problem: `This is not a curl command: it begins with "${program.slice(0, 60)}".` };
  }
  const given = readOptions(rest);
  if ('problem' in given) return { problem: `${given.problem.slice(0, 300)}.` };
  return requestOf(given);
}

interface Given {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Body options in their order. */
  readonly data: readonly (readonly [option: string, value: string])[];
  readonly urls: readonly string[];
}

function readOptions(words: readonly string[]): Given | { readonly problem: string } {
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  const data: [string, string][] = [];
  const urls: string[] = [];
  let areOptionsOver = false;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (areOptionsOver || !word.startsWith('-') || word === '-') {
      urls.push(word);
      continue;
    }
    if (word === '--') {
      areOptionsOver = true;
      continue;
    }
    for (const { name, inline } of namesIn(word)) {
      const option = options[name];
      if (!option)
        return { problem: `The option ${name.length === 1 ? `-${name}` : `--${name}`} is not supported` };
      if (option.refused) return { problem: `--${name}: ${option.refused}` };
      if (!option.value) {
        flags.add(name);
        continue;
      }
      if (inline === undefined) at += 1;
      const value = inline ?? words[at];
      if (value === undefined) return { problem: `The option --${name} needs a value` };
      if (name === 'url') urls.push(value);
      else if (name.startsWith('data') || name === 'json') data.push([name, value]);
      else values.set(name, [...(values.get(name) ?? []), value]);
    }
  }
  return { flags, values, data, urls };
}

/** Returns the options of one word: `--long`, `--no-long`, `-s`, `-sSL` or `-XPOST`. */
function* namesIn(word: string): Generator<{ readonly name: string; readonly inline?: string | undefined }> {
  if (word.startsWith('--')) {
    const name = word.slice(2);
    // A negated option equals its absence.
    const isOff = name.startsWith('no-') && !(name in options) && name.slice(3) in options;
    if (!isOff) yield { name };
    return;
  }
  for (let at = 1; at < word.length; at += 1) {
    const letter = word[at] ?? '';
    const name = longOfShort.get(letter) ?? letter;
    if (!options[name]?.value) {
      yield { name };
      continue;
    }
    const inline = word.slice(at + 1);
    yield { name, inline: inline === '' ? undefined : inline };
    return;
  }
}

function requestOf(given: Given): CurlCommand {
  const { flags, values, urls } = given;
  const last = (name: string) => values.get(name)?.at(-1);
  const [written, ...others] = urls;
  if (written === undefined) return { problem: 'The command has no URL.' };
  if (others.length > 0) {
    return {
      problem: `The command has several URLs, but a check has one. The second is "${others[0]?.slice(0, 100)}".`,
    };
  }
  const body = bodyOf(given.data);
  if ('problem' in body) return body;
  const isQuery = flags.has('get');
  const method = (last('request') ?? defaultMethod(flags, body.text !== undefined && !isQuery)).toUpperCase();
  if (!methods.includes(method)) {
    return {
      problem: `The method ${method.slice(0, 40)} is not supported. Supported methods: ${methods.join(', ')}.`,
    };
  }
  const headers = headersOf(given, body.isJson && !isQuery);
  if ('problem' in headers) return headers;
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(written) || written.startsWith('{{') ? '' : 'http://';
  const queries = [...(isQuery && body.text ? [body.text] : []), ...(values.get('url-query') ?? [])];
  const sent = isQuery ? undefined : body.text;
  return {
    request: {
      method,
      url: withQuery(`${scheme}${written}`, queries),
      headers: headers.pairs,
      body: sent ?? '',
      bodyType: sent === undefined ? 'NONE' : bodyTypeOf(headers.pairs, body.isJson),
      followRedirects: flags.has('location'),
      skipSSL: flags.has('insecure'),
      ipFamily: flags.has('ipv6') ? 'IPv6' : 'IPv4',
      auth: loginOf(flags, last('user')),
    },
    notes: notesOf(given),
  };
}

function defaultMethod(flags: ReadonlySet<string>, hasBody: boolean): string {
  if (flags.has('head')) return 'HEAD';
  return hasBody ? 'POST' : 'GET';
}

function bodyOf(
  data: Given['data'],
): { readonly text?: string; readonly isJson: boolean } | { problem: string } {
  const parts: string[] = [];
  for (const [option, value] of data) {
    const readsFile = option === 'data-urlencode' ? /^[^=]*@/.test(value) : value.startsWith('@');
    if (readsFile && option !== 'data-raw') return { problem: `--${option}: ${files}.` };
    parts.push(option === 'data-urlencode' ? encoded(value) : value);
  }
  const isJson = data.some(([option]) => option === 'json');
  if (parts.length === 0) return { isJson };
  return { text: parts.join(isJson ? '' : '&'), isJson };
}

/** Encodes the content of `name=content`; `=content` and `content` alone are all content. */
function encoded(value: string): string {
  const at = value.indexOf('=');
  const content = encodeURIComponent(value.slice(at + 1).toWellFormed()).replaceAll('%20', '+');
  return at > 0 ? `${value.slice(0, at)}=${content}` : content;
}

function headersOf(
  { values }: Given,
  isJson: boolean,
): { readonly pairs: readonly Pair[] } | { readonly problem: string } {
  const pairs: Pair[] = [];
  const add = (key: string, value: string) =>
    pairs.push({ key, value, locked: credentialHeader.test(key) && !value.includes('{{') });
  for (const header of values.get('header') ?? []) {
    if (header.startsWith('@')) return { problem: `--header: ${files}.` };
    // In curl, `Name:` removes a header that it adds itself, and `Name;` sends one without a value.
    const [, key = '', mark, value = ''] = /^([^:;]+)([:;])([\s\S]*)$/.exec(header) ?? [];
    if (key.trim() === '' || (mark === ':' && value.trim() === '')) continue;
    add(key.trim(), value.trim());
  }
  const has = (name: string) => pairs.some(({ key }) => key.toLowerCase() === name);
  for (const cookie of values.get('cookie') ?? []) {
    if (!cookie.includes('=')) return { problem: `--cookie: ${files}.` };
    add('Cookie', cookie);
  }
  const agent = values.get('user-agent')?.at(-1);
  const referer = values
    .get('referer')
    ?.at(-1)
    ?.replace(/;auto$/, '');
  const range = values.get('range')?.at(-1);
  const bearer = values.get('oauth2-bearer')?.at(-1);
  if (agent) add('User-Agent', agent);
  if (referer) add('Referer', referer);
  if (range) add('Range', `bytes=${range}`);
  if (bearer) add('Authorization', `Bearer ${bearer}`);
  if (isJson && !has('content-type')) add('Content-Type', 'application/json');
  if (isJson && !has('accept')) add('Accept', 'application/json');
  return { pairs };
}

function bodyTypeOf(headers: readonly Pair[], isJson: boolean): CurlRequest['bodyType'] {
  const type = headers.find(({ key }) => key.toLowerCase() === 'content-type')?.value.toLowerCase();
  if (type === undefined) return isJson ? 'JSON' : 'FORM';
  if (/[/+]json\b/.test(type)) return 'JSON';
  return type.startsWith('application/x-www-form-urlencoded') ? 'FORM' : 'RAW';
}

/** The scheme is that of the option, without one Basic. Negotiate takes the user of the ticket, whatever `--user` says. */
function loginOf(flags: ReadonlySet<string>, user: string | undefined): CurlRequest['auth'] {
  const noCredentials = { username: '', password: '', domain: '' };
  if (flags.has('negotiate')) return { type: 'NEGOTIATE', ...noCredentials };
  if (user === undefined) return null;
  const at = user.indexOf(':');
  const type = flags.has('ntlm') ? 'NTLM' : flags.has('digest') ? 'DIGEST' : 'BASIC';
  const [username, password] = at === -1 ? [user, ''] : [user.slice(0, at), user.slice(at + 1)];
  return { ...noCredentials, type, username, password };
}

function withQuery(url: string, queries: readonly string[]): string {
  if (queries.length === 0) return url;
  const [base = '', fragment] = url.split('#', 2);
  const joined = `${base}${base.includes('?') ? '&' : '?'}${queries.join('&')}`;
  return fragment === undefined ? joined : `${joined}#${fragment}`;
}

/** Returns notes on the ignored options with their reasons. */
function notesOf({ flags, values }: Given): string[] {
  const names = [...flags, ...values.keys()];
  return names.flatMap((name) => {
    const note = options[name]?.note;
    return note === undefined ? [] : [`--${name} was ignored: ${note}.`];
  });
}
