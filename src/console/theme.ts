import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Theme, themes } from './layout.ts';
import { isFromOwnPage, ownPath } from './requests/addresses.ts';
import { cookieOf, isSecure, setCookie } from './requests/cookie.ts';

const name = 'picket-theme';

/** Returns the theme that a browser has chosen; by default that of its system. */
export function themeOf(request: FastifyRequest): Theme {
  const chosen = cookieOf(request, name);
  return themes.find((theme) => theme === chosen) ?? 'auto';
}

/** The theme switch in the footer: a cookie, so that pages arrive in their colours without a later change by script. */
export function addTheme(app: FastifyInstance, publicUrl: string | undefined): void {
  app.post('/theme', async (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const theme = themes.find((one) => one === form.get('theme'));
    if (theme !== undefined && isFromOwnPage(request)) {
      setCookie(reply, name, theme, { maxAgeSeconds: 400 * 86_400, isSecure: isSecure(request, publicUrl) });
    }
    return reply.redirect(ownPath(form.get('back')), 303);
  });
}
