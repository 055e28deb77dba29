import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** One way in which a secret can appear in bytes that leave the agent. */
export interface WrittenSecret {
  readonly form: string;
  /** The written bytes: the form with the text that must surround it. */
  readonly bytes: Buffer;
  /** The part that must be removed. */
  readonly leak: Buffer;
}

/**
 * Every form that the documentation promises, written by Node's own encoders and by hand, never by the code under test.
 */
export function writtenForms(secret: string): WrittenSecret[] {
  const text = secret.toWellFormed();
  const plain = (form: string, written: string, encoding: BufferEncoding = 'utf8') => {
    const bytes = Buffer.from(written, encoding);
    return { form, bytes, leak: bytes };
  };
  const json = JSON.stringify(text).slice(1, -1);
  const component = encodeURIComponent(text);
  const lower = (written: string) => written.replaceAll(/%[0-9A-F]{2}/g, (pair) => pair.toLowerCase());
  const form = new URLSearchParams({ a: text }).toString().slice(2);
  const html = text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const forms = [
    plain('raw', text),
    plain('JSON', json),
    plain('JSON in ASCII', json.replaceAll(/[^\x20-\x7e]/g, escaped)),
    plain('JSON in JSON', JSON.stringify(JSON.stringify(text)).slice(3, -3)),
    plain('JSON with slashes', json.replaceAll('/', '\\/')),
    plain('URL', component),
    plain('URL, lower case', lower(component)),
    plain('URL in URL', encodeURIComponent(component)),
    plain('form', form),
    plain('form, lower case', lower(form)),
    plain('whole URL', encodeURI(text)),
    plain('HTML by number', html),
    plain('HTML', named(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;')),
    plain('XML', named(text).replaceAll('"', '&quot;').replaceAll("'", '&apos;')),
    plain('shell', text.replaceAll("'", "'\\''")),
    plain('hex', Buffer.from(text).toString('hex')),
    plain('hex, upper case', Buffer.from(text).toString('hex').toUpperCase()),
    plain('UTF-16 LE', text, 'utf16le'),
    { ...swapped(text), form: 'UTF-16 BE' },
    ...wide(text),
    ...[0, 1, 2].flatMap((offset) => base64Forms(offset, text)),
    ...base64Forms(0, `user:${text}`).map((written) => ({ ...written, form: `basic ${written.form}` })),
    plain('Base64 in a URL', encodeURIComponent(Buffer.from(text).toString('base64').replaceAll('=', ''))),
  ];
  if (!/[^\0-\xff]/.test(text)) forms.push(plain('Latin-1', text, 'latin1'));
  return forms;
}

/** Bodies that contain the secret compressed; none of the written bytes may remain. */
export function compressedForms(secret: string): WrittenSecret[] {
  const body = Buffer.from(
    JSON.stringify({ before: 'a'.repeat(40), secret: secret.toWellFormed(), after: 1 }),
  );
  return [
    { form: 'gzip', bytes: gzipSync(body) },
    { form: 'deflate', bytes: deflateSync(body) },
    { form: 'brotli', bytes: brotliCompressSync(body) },
    { form: 'zstd', bytes: zstdCompressSync(body) },
  ].map((written) => ({ ...written, leak: written.bytes }));
}

function base64Forms(offset: number, text: string): WrittenSecret[] {
  const bytes = Buffer.concat([Buffer.alloc(offset, 'x'), Buffer.from(text), Buffer.alloc(offset, 'y')]);
  const encoded = bytes.toString('base64');
  const sizeBytes = Buffer.byteLength(text);
  // The characters at the edges also depend on the text next to the secret.
  const inner = (written: string) =>
    written.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + sizeBytes) * 8) / 6));
  const one = (form: string, written: string) => ({
    form: `${form} at ${offset}`,
    bytes: Buffer.from(written),
    leak: Buffer.from(inner(written)),
  });
  const wrapped = encoded.replaceAll(/.{76}/g, '$&\r\n');
  return [
    one('Base64', encoded),
    one('Base64 without padding', encoded.replaceAll('=', '')),
    one('Base64 for URLs', bytes.toString('base64url')),
    ...(wrapped === encoded
      ? []
      : [{ ...one('Base64 in lines', wrapped), leak: Buffer.from(wrapped.slice(80, 150)) }]),
  ];
}

function swapped(text: string) {
  const bytes = Buffer.from(text, 'utf16le').swap16();
  return { bytes, leak: bytes };
}

function wide(text: string) {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const low = Buffer.from(new Uint32Array(points).buffer);
  const high = Buffer.from(low).swap32();
  return [
    { form: 'UTF-32 LE', bytes: low, leak: low },
    { form: 'UTF-32 BE', bytes: high, leak: high },
  ];
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function named(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
