import type { ReceivedMail } from './alert-receivers.ts';

/** A received mail, decoded: headers by their lower-case names, and the text and the HTML of its alternatives. */
export interface MailParts {
  readonly headers: ReadonlyMap<string, string>;
  readonly contentType: string;
  readonly text: string;
  readonly html: string;
}

/** Decodes a `multipart/alternative` mail by hand (RFC 2045 to 2047), as a mail program would. */
export function mailParts({ source }: Pick<ReceivedMail, 'source'>): MailParts {
  const { headers, body } = entityOf(source);
  const contentType = headers.get('content-type') ?? '';
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1];
  if (boundary === undefined) throw new Error(`not a multipart mail: ${contentType}`);
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => entityOf(part.replace(/^\r?\n/, '')));
  const types = parts.map((part) => part.headers.get('content-type') ?? '');
  if (!types[0]?.startsWith('text/plain') || !types[1]?.startsWith('text/html') || types.length !== 2) {
    throw new Error(`the last alternative is the best one, so text comes first: ${types.join(' | ')}`);
  }
  const [text = '', html = ''] = parts.map(decoded);
  return { headers, contentType, text, html };
}

interface Entity {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function entityOf(source: string): Entity {
  const end = source.indexOf('\r\n\r\n');
  const lines = source
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), words(line.slice(colon + 1).trim())];
  });
  return { headers: new Map(headers), body: source.slice(end + 4) };
}

function decoded({ headers, body }: Entity): string {
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase();
  const text = body.replace(/\r\n$/, '');
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('utf8').replaceAll('\r\n', '\n');
  if (encoding === 'quoted-printable') return quoted(text.replaceAll(/=\r\n/g, '')).replaceAll('\r\n', '\n');
  return text.replaceAll('\r\n', '\n');
}

function quoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/g, (_all, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Decodes the encoded words of a header. */
function words(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_all, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('utf8')
        : quoted(text.replaceAll('_', ' ')),
    );
}
