import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Assets } from '../assets.ts';
import { textField } from '../elements/form.ts';
import { html } from '../html.ts';
import { cookieOf, isSecure, setCookie } from '../requests/cookie.ts';
import { publicNotice } from './document.ts';

/** The key of a request for a private page. */
export interface GivenKey {
  readonly key: string | undefined;
  /** Whether links of the page must contain it; a key in a cookie needs none. */
  readonly isKeyInAddress: boolean;
}

interface PrivatePage {
  readonly noun: 'dashboard' | 'status page';
  readonly address: string;
}

/** Format of a key; safe as a cookie value. */
const keyText = /^[\w-]{1,512}$/;
const cookieDays = 30;
const cookieName = ({ noun, address }: PrivatePage) =>
  `picket-${noun === 'dashboard' ? 'dashboard' : 'status'}-${address}`;

/** Returns the key in the address, else the one in the cookie. */
export function givenKey(request: FastifyRequest, page: PrivatePage): GivenKey {
  const inAddress = new URL(request.url, 'http://own.invalid').searchParams.get('key')?.slice(0, 512);
  return { key: inAddress ?? cookieOf(request, cookieName(page)), isKeyInAddress: inAddress !== undefined };
}

/** Returns the key typed into the form; undefined if it is malformed. */
export function typedKey({ body }: FastifyRequest): string | undefined {
  const key = body instanceof URLSearchParams ? (body.get('key') ?? '').trim() : '';
  return keyText.test(key) ? key : undefined;
}

/** Stores a valid key in a cookie, and redirects to the page. */
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

/** Shows the key form of a private page. */
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
