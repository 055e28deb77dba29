import { TextDecoder } from 'node:util';

/** Most bytes of a body that are stored with a result; assertions see more. */
export const maxStoredBytes = 256 * 1024;
/** Images up to this size are stored as base64. */
const maxImageBytes = 64 * 1024;

const binaryType =
  /^(application\/(pdf|octet-stream|zip|gzip|x-gzip|x-tar|x-7z-compressed|ogg|x-shockwave-flash|wasm)|audio\/.+|video\/.+|font\/.+)$/;
const imageType = /^image\/(?!svg\+xml$).+$/;

/** A body as a result shows it. */
export interface StoredBody {
  readonly body: string;
  readonly isCut: boolean;
  readonly encoding: 'base64' | undefined;
}

/**
 * Returns the part of a body that goes into a result: text up to a limit, small images as base64, and a short note in
 * place of other binary content.
 *
 * @param isTextWanted true if the check itself inspects the body as text; binary content is then stored as text too.
 */
export function storedBody(bytes: Buffer, contentType: string, isTextWanted: boolean): StoredBody {
  const type = mediaType(contentType);
  if (bytes.length > 0 && !isTextWanted) {
    const isImage = imageType.test(type);
    if (isImage && bytes.length <= maxImageBytes) {
      return { body: bytes.toString('base64'), isCut: false, encoding: 'base64' };
    }
    if (isImage || binaryType.test(type)) {
      return { body: `[${type}: ${bytes.length} bytes, not stored]`, isCut: false, encoding: undefined };
    }
  }
  const isCut = bytes.length > maxStoredBytes;
  const text = decodeText(isCut ? bytes.subarray(0, maxStoredBytes) : bytes, contentType, isCut);
  return { ...cutText(text, isCut), encoding: undefined };
}

/** Truncates text to the limit; its characters may take more bytes here than in the encoding of the response. */
export function cutText(text: string, isCut = false): { readonly body: string; readonly isCut: boolean } {
  // A UTF-16 unit takes at most three bytes of UTF-8: most texts need no count.
  if (text.length * 3 <= maxStoredBytes || Buffer.byteLength(text) <= maxStoredBytes) {
    return { body: text, isCut };
  }
  const bytes = Buffer.from(text).subarray(0, maxStoredBytes);
  return { body: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true }), isCut: true };
}

/** Returns the `type/subtype` of a Content-Type in lower case. */
export function mediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Whether a Content-Type is JSON. */
export function isJsonType(contentType: string): boolean {
  return /^(application|text)\/(.+\+)?json$/.test(mediaType(contentType));
}

/**
 * Decodes a body: a byte order mark decides, then the charset of the Content-Type, then the one that HTML or XML
 * declares, then UTF-8. Invalid bytes become U+FFFD.
 *
 * @param isPart true if the bytes may end in the middle of a character, which is then omitted.
 */
export function decodeText(bytes: Buffer, contentType: string, isPart = false): string {
  if (bytes.length === 0) return '';
  const label =
    byteOrderMark(bytes) ?? charsetOf(contentType) ?? declaredCharset(bytes, contentType) ?? 'utf-8';
  if (label === 'utf-8' && !isPart) return utf8.decode(bytes);
  return decoderFor(label).decode(bytes, { stream: isPart });
}

/** For whole texts, which leave nothing in it. */
const utf8 = new TextDecoder();

function byteOrderMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
}

/** How many bytes of a document browsers search for a declared charset. */
const prescanBytes = 1024;
const xmlDeclaration = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']/i;
const metaCharset = /<meta\s[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)/i;

/** Returns the charset that an HTML or XML document declares (HTML standard, "prescan a byte stream"). */
function declaredCharset(bytes: Buffer, contentType: string): string | undefined {
  const type = mediaType(contentType);
  const isXml = /[/+]xml$/.test(type);
  if (!isXml && type !== 'text/html') return undefined;
  const beginning = bytes.toString('latin1', 0, prescanBytes);
  const withoutComments = beginning.replace(/<!--[\s\S]*?-->/g, '');
  const declared =
    xmlDeclaration.exec(beginning)?.[1] ??
    (isXml && !type.includes('html') ? undefined : metaCharset.exec(withoutComments)?.[1]);
  // A document that has been readable as ASCII so far is not UTF-16, whatever it declares.
  return declared !== undefined && /^utf-?16/i.test(declared) ? undefined : declared;
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch (error) {
    // An unknown charset: UTF-8 is the best guess.
    if (error instanceof RangeError) return new TextDecoder();
    throw error;
  }
}
