import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from '../assets.ts';
import { textField } from '../elements/form.ts';
import { html } from '../html.ts';
import { cookieOf, isSecure, setCookie } from '../requests/cookie.ts';
import { publicNotice } from './document.ts';

/** The key that somebody opens a private page with. */
export interface GivenKey {
  readonly key: string | undefined;
  /** Links of the page have to hold it too; a key in a cookie needs none. */
  readonly isKeyInAddress: boolean;
}

interface PrivatePage {
  readonly noun: 'dashboard' | 'status page';
  readonly address: string;
}

/** What a key may look like; the value of a cookie holds nothing else. */
const keyText = /^[\w-]{1,512}$/;
const cookieDays = 30;
const cookieName = ({ noun, address }: PrivatePage) =>
  `picket-${noun === 'dashboard' ? 'dashboard' : 'status'}-${address}`;

/** The key in the address, or else the one of the cookie. */
export function givenKey(request: FastifyRequest, page: PrivatePage): GivenKey {
  const inAddress = new URL(request.url, 'http://own.invalid').searchParams.get('key')?.slice(0, 512);
  return { key: inAddress ?? cookieOf(request, cookieName(page)), isKeyInAddress: inAddress !== undefined };
}

/** The key that was typed into the form; undefined for what is none. */
export function typedKey({ body }: FastifyRequest): string | undefined {
  const key = body instanceof URLSearchParams ? (body.get('key') ?? '').trim() : '';
  return keyText.test(key) ? key : undefined;
}

/** Keeps a key that opened a page, and leads to the page. */
export function keepKey(
  page: PrivatePage & { readonly key: string; readonly goTo: string },
  request: FastifyRequest,
  reply: FastifyReply,
  publicUrl: string | undefined,
): FastifyReply {
  const maxAgeSeconds = cookieDays * 86_400;
  setCookie(reply, cookieName(page), page.key, { maxAgeSeconds, isSecure: isSecure(request, publicUrl) });
  return reply.header('cache-control', 'private, no-store').redirect(page.goTo, 303);
}

/** What somebody without the key sees of a private page. */
export function askForKey(
  reply: FastifyReply,
  assets: Assets,
  { noun, action, isWrong }: { noun: PrivatePage['noun']; action: string; isWrong: boolean },
): FastifyReply {
  const error = isWrong ? `This key is not valid for the ${noun}. It may have been replaced.` : undefined;
  return reply
    .code(isWrong ? 403 : 401)
    .header('cache-control', 'private, no-store')
    .type('text/html; charset=utf-8')
    .send(
      publicNotice(assets, {
        title: `This ${noun} is private`,
        text: 'Enter its key. The person who sent you the link has it.',
        more: html`<form method="post" action="${action}">${textField({
          name: 'key',
          label: 'Key',
          type: 'password',
          isRequired: true,
          autocomplete: 'off',
          error,
        })}<button class="button primary" type="submit">Open</button></form>`,
      }),
    );
}
