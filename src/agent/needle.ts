/**
 * The forms in which a secret may stand in a result: as it is, escaped for JSON, encoded for URLs, or as part of a
 * Base64 text. All forms are plain strings to be searched for, longest first so that an encoded form is replaced
 * whole before a shorter one matches inside it.
 */
export function secretForms(secret: string): string[] {
  const forms = new Set<string>([secret, ...jsonForms(secret), ...urlForms(secret), ...base64Forms(secret)]);
  // A body that is JSON may hold an encoded form whose slashes or quotes are escaped once more.
  for (const form of [...forms]) for (const escaped of jsonForms(form)) forms.add(escaped);
  return [...forms].sort((a, b) => b.length - a.length);
}

/** The text inside a JSON string: non-ASCII characters as they are or escaped, slashes as they are or escaped. */
function jsonForms(text: string): string[] {
  const escaped = jsonEscaped(text);
  const ascii = escaped.replaceAll(/[^\x20-\x7e]/g, (unit) => unicodeEscape(unit));
  const upper = ascii.replaceAll(/\\u[0-9a-f]{4}/g, (match) => `\\u${match.slice(2).toUpperCase()}`);
  return [escaped, ascii, upper].flatMap((form) => [form, form.replaceAll('/', '\\/')]);
}

/** A text as JSON.stringify writes it between quotes. */
export function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function urlForms(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const component = encodeURIComponent(wellFormed);
  // encodeURIComponent leaves !'()* alone, forms and RFC 3986 encoders do not.
  const strict = component.replaceAll(/[!'()*]/g, percentEncode);
  const whole = encodeURI(wellFormed);
  const form = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  return [component, strict, whole, form].flatMap((encoded) => [
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (match) => match.toLowerCase()),
  ]);
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** The shortest Base64 piece that is searched for; shorter ones would match by chance. */
const minBase64Length = 6;

/**
 * The Base64 of a text that contains the secret depends on where in a group of three bytes the secret begins. For each
 * of the three cases, the characters that depend on the secret alone; in both alphabets.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const forms: string[] = [];
  for (const offset of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    // Bits of a character beside the secret's own first or last one belong to its neighbours: leave it out.
    const start = Math.ceil((offset * 8) / 6);
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    const inner = encoded.slice(start, end);
    if (inner.length >= minBase64Length) {
      forms.push(inner, inner.replaceAll('+', '-').replaceAll('/', '_'));
    }
  }
  return forms;
}
