import type { FastifyReply, FastifyRequest } from 'fastify';
import { cookieOf, isSecure, setCookie } from './requests/cookie.ts';

const name = 'picket-toast';
/** A redirect takes no longer; a message that no page fetched is not shown hours later. */
const maxAgeSeconds = 30;

/** Keeps the message of a form for the page that its redirect leads to. */
export function keepToast(
  text: string,
  to: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly publicUrl: string | undefined;
  },
): void {
  const value = Buffer.from(text.slice(0, 300)).toString('base64url');
  setCookie(to.reply, name, value, { maxAgeSeconds, isSecure: isSecure(to.request, to.publicUrl) });
}

/** Returns the kept message, once. */
export function takeToast(
  request: FastifyRequest,
  reply: FastifyReply,
  publicUrl: string | undefined,
): string | undefined {
  const value = cookieOf(request, name);
  if (!value) return undefined;
  setCookie(reply, name, '', { maxAgeSeconds: 0, isSecure: isSecure(request, publicUrl) });
  return Buffer.from(value.slice(0, 2_000), 'base64url').toString('utf8');
}
