import { gzipSync } from 'node:zlib';
import type { WrittenSecret } from './scrub-forms.ts';

/** Widths at which encoders break lines, and some that no encoder uses. */
const lineWidths = [16, 17, 31, 32, 48, 60, 64, 72, 76, 77, 100];

/**
 * Forms that tools, dumps and mistakes produce, written by hand or by Node's encoders: nested encodings, numbers, wrong
 * encodings, mail, doubled quotes.
 */
export function rareForms(secret: string): WrittenSecret[] {
  const text = secret.toWellFormed();
  const utf8 = Buffer.from(text);
  const hex = utf8.toString('hex').match(/../g) ?? [];
  const mistaken = utf8.toString('latin1');
  const windows = new TextDecoder('windows-1252').decode(utf8);
  const base64 = utf8.toString('base64');
  const forms: WrittenSecret[] = [
    one('JSON five deep', nestedJson(text, 5)),
    one('SQL', text.replaceAll("'", "''")),
    one('CSV', text.replaceAll('"', '""')),
    one('YAML in JSON', inJson(text.replaceAll('"', '""'))),
    one('HTML with a zero', escapedHtml(text).replaceAll('&#39;', '&#039;')),
    one('HTML twice', escapedHtml(escapedHtml(text))),
    one('HTML three times', escapedHtml(escapedHtml(escapedHtml(text)))),
    one('UTF-8 read as Latin-1', mistaken),
    one('UTF-8 read as Windows-1252', windows),
    one('UTF-8 read as Latin-1, in JSON', inAscii(mistaken)),
    one('UTF-8 read as Latin-1, in a URL', encodeURIComponent(mistaken)),
    one(
      'bytes of C',
      eachByte(text, /[^\x20-\x7e]/u, (value) => `\\x${two(value)}`),
    ),
    one('bytes of C in JSON', inJson(eachByte(text, /[^\x20-\x7e]/u, (value) => `\\x${two(value)}`))),
    one(
      'octal bytes',
      eachByte(text, /[^\x20-\x7e]/u, (value) => `\\${value.toString(8).padStart(3, '0')}`),
    ),
    one(
      'punctuation in hex',
      eachByte(text, /[^\w ]/u, (value) => `\\x${two(value).toUpperCase()}`),
    ),
    one('quoted-printable', quotedPrintable(utf8, Number.POSITIVE_INFINITY)),
    one('Buffer', hex.join(' ')),
    one('hex with colons', hex.join(':').toUpperCase()),
    one('hex with dashes', hex.join('-')),
    one('array in hex', hex.map((pair) => `0x${pair}`).join(', ')),
    one('Buffer in JSON', [...utf8].join(',')),
    one('array', [...utf8].join(', ')),
    one('Base32', base32(utf8)),
    one('Base32, lower case', base32(utf8).toLowerCase()),
    piece('Base64 of UTF-16', Buffer.from(text, 'utf16le').toString('base64')),
    piece('Base64 of UTF-16 BE', Buffer.from(text, 'utf16le').swap16().toString('base64')),
    ...[0, 1, 2].flatMap((offset) => {
      const once = Buffer.concat([Buffer.alloc(offset, 'x'), utf8]).toString('base64');
      return [piece(`Base64 twice at ${offset}`, Buffer.from(once).toString('base64'))];
    }),
    one('Base64 of gzip', gzipSync(`{"before":1,"secret":${JSON.stringify(text)}}`).toString('base64')),
    ...(/[^\0-\xff]/.test(text) ? [] : [piece('btoa', Buffer.from(text, 'latin1').toString('base64'))]),
    ...[0, 5].map((width) => softBroken(utf8, width)),
    ...lineWidths.flatMap((width) => wrapped(utf8, width)),
    one('Base64 in a URL, twice', encodeURIComponent(encodeURIComponent(base64.replaceAll('=', '')))),
  ];
  return forms.filter(({ leak }) => leak.length >= 8);
}

/** Forms of shells and style sheets, alternative spellings of letters, and secrets with colour codes inside. */
export function otherForms(secret: string): WrittenSecret[] {
  const text = secret.toWellFormed();
  const forms: WrittenSecret[] = [
    one('NFC', text.normalize('NFC')),
    one('NFD', text.normalize('NFD')),
    one('cmd', text.replaceAll(/[&|<>^"%]/g, '^$&')),
    one('PowerShell', text.replaceAll(/[`"$']/g, '`$&').replaceAll('\n', '`n')),
    one('a style sheet', text.replaceAll(/[^\w]/gu, (character) => `\\${code(character)} `).trimEnd()),
    one(
      'a style sheet, all of it',
      Array.from(text, (character) => `\\${code(character)} `)
        .join('')
        .trimEnd(),
    ),
    one(
      'a style sheet, six digits',
      Array.from(text, (character) => `\\${code(character).padStart(6, '0')}`).join(''),
    ),
    one('all in JSON escapes', allEscaped(text)),
    one('all in JSON escapes in JSON', inJson(allEscaped(text))),
    ...coloured(text),
  ];
  return forms.filter(({ leak }) => leak.length >= 8);
}

/** Remains of a secret where V8 or a tool truncated a text: the text, and the part that must be removed. */
export function cutForms(secret: string): WrittenSecret[] {
  const text = secret.toWellFormed();
  const characters = Array.from(text);
  const half = characters.slice(0, Math.max(8, characters.length >> 1)).join('');
  return [
    cut('a text with an ellipsis', `received ${half}… and more`, half),
    cut('a quoted text with an ellipsis', `received "${half}…"`, half),
    cut('JSON with an ellipsis', `{"received":${JSON.stringify(`${half}…`)}}`, inJson(half)),
    cut('dots behind quotes', `'${half}'... 120 more characters`, half),
    ...jsonErrors(text),
  ];
}

/** Error messages of V8 about invalid JSON with the secret at different positions. */
function jsonErrors(secret: string): WrittenSecret[] {
  const around = 'x'.repeat(60);
  const texts = [
    secret + around,
    `{"a": ${secret}, "b": 1} ${around}`,
    `{"a":"${secret}" ${around}`,
    `{"a":1,${secret}${around}`,
  ];
  return texts.flatMap((text, index) => {
    let message = '';
    try {
      JSON.parse(text);
    } catch (thrown) {
      message = (thrown as Error).message;
    }
    const quoted = /"(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(message)?.[1] ?? '';
    const kept = longestCommon(quoted, secret);
    return kept.length < 4 ? [] : [cut(`error ${index} of JSON`, message, kept)];
  });
}

function longestCommon(text: string, secret: string): string {
  let longest = '';
  for (let start = 0; start < text.length; start += 1) {
    for (let end = start + longest.length + 1; end <= text.length; end += 1) {
      if (secret.includes(text.slice(start, end))) longest = text.slice(start, end);
    }
  }
  return longest;
}

function cut(form: string, written: string, leak: string): WrittenSecret {
  return { form, bytes: Buffer.from(written), leak: Buffer.from(leak) };
}

/** Colour codes around a part of the secret, as comparisons show it; the leak is the text after the colour code. */
function coloured(text: string): WrittenSecret[] {
  const third = Math.max(1, Math.floor(text.length / 3));
  const [before, part, after] = [text.slice(0, third), text.slice(third, -third), text.slice(-third)];
  const forms = [
    ['colours', `\u001b[32m"${before}\u001b[7m${part}\u001b[27m${after}"\u001b[39m`],
    ['colours in JSON', inJson(`${before}\u001b[7m${part}\u001b[27m${after}`)],
    ['colours in JSON in JSON', inJson(inJson(`${before}\u001b[7m${part}\u001b[27m${after}`))],
    ['colours that Node shows', `${before}\\x1B[7m${part}\\x1B[27m${after}`],
    ['colours in HTML', `${before}<span style="color: red">${part}</span>${after}`],
  ] as const;
  return forms
    .map(([form, written]) => cut(form, written, form.includes('JSON in') ? inJson(inJson(part)) : part))
    .filter(({ leak, bytes }) => bytes.includes(leak));
}

function code(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

function allEscaped(text: string): string {
  return Array.from(
    { length: text.length },
    (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

function one(form: string, written: string): WrittenSecret {
  return { form, bytes: Buffer.from(written), leak: Buffer.from(written) };
}

/** The characters at the edges also depend on the text next to the secret. */
function piece(form: string, written: string): WrittenSecret {
  return { form, bytes: Buffer.from(written), leak: Buffer.from(written.slice(3, -5)) };
}

/** Base64 in lines, with the secret at every position of a line; the leak is its longest piece on one line. */
function wrapped(secret: Buffer, width: number): WrittenSecret[] {
  return Array.from({ length: width }, (_, before) => {
    const all = Buffer.concat([Buffer.alloc(before, 'x'), secret, Buffer.alloc(40, 'y')]).toString('base64');
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6)];
    const lines = all.match(new RegExp(`.{1,${width}}`, 'g')) ?? [];
    const pieces = lines.map((line, index) =>
      line.slice(Math.max(0, from - index * width), Math.max(0, to - index * width)),
    );
    const leak = pieces.toSorted((a, b) => b.length - a.length)[0] ?? '';
    return {
      form: `Base64 in lines of ${width} behind ${before}`,
      bytes: Buffer.from(lines.join('\r\n')),
      leak: Buffer.from(leak),
    };
  });
}

/** A line of a mail, broken after the first characters and then every 70. */
function softBroken(secret: Buffer, first: number): WrittenSecret {
  const lines = quotedPrintable(secret, 70, first);
  const leak = lines.split('=\r\n').toSorted((a, b) => b.length - a.length)[0] ?? '';
  return { form: `quoted-printable in lines, ${first}`, bytes: Buffer.from(lines), leak: Buffer.from(leak) };
}

function quotedPrintable(bytes: Buffer, width: number, first = width): string {
  const written = Array.from(bytes, (value) =>
    value >= 0x20 && value <= 0x7e && value !== 0x3d
      ? String.fromCharCode(value)
      : `=${two(value).toUpperCase()}`,
  );
  let room = first;
  return written
    .map((one) => {
      room -= one.length;
      if (room >= 0) return one;
      room = width - one.length;
      return `=\r\n${one}`;
    })
    .join('');
}

function nestedJson(text: string, depth: number): string {
  return depth === 0 ? text : nestedJson(inJson(text), depth - 1);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function inAscii(text: string): string {
  return inJson(text).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function escapedHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

function eachByte(text: string, escaped: RegExp, write: (value: number) => string): string {
  return Array.from(text, (character) =>
    escaped.test(character) ? Array.from(Buffer.from(character), write).join('') : character,
  ).join('');
}

function two(value: number): string {
  return value.toString(16).padStart(2, '0');
}

function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (value) => value.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? [])
    .map((five) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five, 2)])
    .join('');
}
